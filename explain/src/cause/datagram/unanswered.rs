//! UDP requests that are refused or not answered, hosts that stop answering, and hosts that do not answer ARP.

use crate::cause::flow;
use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::reader::Address;
use linerate_capture::traffic::{AbsentHost, Analysis, Requests, Silence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

use super::{MIN_COST_NS, MIN_COST_SHARE};

/// Fewer requests may be lost by chance.
const MIN_REQUESTS: u64 = 3;
/// Where something else is transferred, requests that are fewer than one in so many packets are no part of it: a station that searches
/// for services, say.
const BESIDE_DIVISOR: u64 = 50;
/// DNS has its own rule for queries without an answer.
const DNS: u16 = 53;
/// Searches for services, which whoever has none leaves unanswered (mDNS, RFC 6762 section 6; LLMNR, RFC 4795 section 2.3).
const SEARCHES: [u16; 2] = [5_353, 5_355];

/// The findings. `others` are those about the rest of the capture.
pub(super) fn unanswered(analysis: &Analysis, others: &[PathFinding]) -> Vec<PathFinding> {
    // Where something else is transferred, a request that fails beside it does not slow it down.
    let payload: u64 = analysis
        .flows
        .iter()
        .map(linerate_capture::traffic::Flow::payload_bytes)
        .sum();
    let is_beside = payload > 0
        || !analysis.udp_streams.is_empty()
        || !analysis.other_traffic.transfers.is_empty();
    let costs = |start_ns: u64, end_ns: u64| {
        let waited_ns = end_ns.saturating_sub(start_ns);
        let share = stats::ratio(waited_ns as f64, analysis.duration_ns as f64).min(1.0);
        let is_noticed = waited_ns >= MIN_COST_NS && share >= MIN_COST_SHARE;
        is_noticed.then_some(if is_beside { 0.0 } else { share })
    };
    let all = &analysis.other_traffic.requests;
    let requests = all.iter().filter_map(|it| {
        // One port after the other may be refused between the same hosts.
        let is_same = |other: &&Requests| {
            other.client == it.client && other.server.0 == it.server.0 && is_refused(other)
        };
        let between: Vec<&Requests> = all.iter().filter(is_same).collect();
        let waited_ns = between.iter().map(|it| it.end_ns - it.start_ns).sum();
        let sent: u64 = between.iter().map(|it| it.requests).sum();
        let is_few = sent * BESIDE_DIVISOR < analysis.counts.packets;
        let of_all = costs(0, waited_ns).filter(|_| is_refused(it) && !(is_beside && is_few));
        let refused = of_all.map(|share| refused(it, share));
        refused.or_else(|| no_answer(it, costs(it.start_ns, it.end_ns)?))
    });
    let absent = analysis.other_traffic.absent.iter().filter_map(|it| {
        let share = costs(it.start_ns, it.end_ns)?;
        is_wanted(it, analysis).then(|| absent(it, share))
    });
    let silences = analysis.other_traffic.silences.iter();
    let silent = silences.filter_map(|it| Some(silent(it, costs(it.start_ns, it.end_ns)?)));
    let found = requests.chain(silent).chain(absent);
    // A connection that nothing answers shows the same about this host.
    let is_known = |it: &PathFinding| {
        others.iter().any(|other| {
            other.finding.cause == it.finding.cause
                && other.sender == it.sender
                && (other.receiver == it.receiver
                    || it
                        .receiver
                        .as_ref()
                        .is_some_and(|host| flow::counts_host(other, host)))
        })
    };
    found.filter(|it| !is_known(it)).collect()
}

fn is_refused(it: &Requests) -> bool {
    it.refused >= MIN_REQUESTS && it.is_refused_from_start()
}

fn refused(it: &Requests, share_of_time: f64) -> PathFinding {
    let summary = format!(
        "{} sent {} datagrams to {} port {}: {} were refused (ICMP port unreachable) and none was answered.",
        it.client,
        format::count(it.requests),
        it.server.0,
        it.server.1,
        format::count(it.refused),
    );
    let advice = "No program receives at this port: check that it runs, at this address and port, and that no \
                      firewall rejects it.";
    finding(it, Cause::Refused, share_of_time, (summary, advice))
}

fn no_answer(it: &Requests, share_of_time: f64) -> Option<PathFinding> {
    let is_repeated = it.requests >= MIN_REQUESTS && it.repeated + 1 >= MIN_REQUESTS;
    let has_own_rule = it.server.1 == DNS || SEARCHES.contains(&it.server.1);
    (is_repeated && it.refused == 0 && it.expects_answer() && !has_own_rule).then(|| {
        let summary = format!(
            "{} sent {} UDP requests to {} port {}, the same again and again: none was answered.",
            it.client,
            format::count(it.requests),
            it.server.0,
            it.server.1,
        );
        let advice = "Check that the device is on and has this address, that its program receives at this port, and \
                      that no firewall drops the requests or the answers.";
        finding(it, Cause::NoAnswer, share_of_time, (summary, advice))
    })
}

fn finding(
    it: &Requests,
    cause: Cause,
    share_of_time: f64,
    (summary, advice): (String, &str),
) -> PathFinding {
    PathFinding {
        alternative_to: None,
        sender: Some(it.client.to_string()),
        receiver: Some(it.server.0.to_string()),
        share_of_time,
        finding: Finding {
            cause,
            confidence: 0.85,
            summary,
            evidence: evidence([
                ("requests", it.requests as f64),
                ("refused", it.refused as f64),
                ("waited_ns", it.end_ns.saturating_sub(it.start_ns) as f64),
                ("first_packet", it.first_packet as f64),
                ("last_packet", it.last_packet as f64),
            ]),
            advice: advice.to_owned(),
        },
    }
}

fn silent(it: &Silence, share_of_time: f64) -> PathFinding {
    PathFinding {
        alternative_to: None,
        sender: Some(it.sender.to_string()),
        receiver: Some(it.receiver.to_string()),
        share_of_time,
        finding: Finding {
            cause: Cause::NoAnswer,
            confidence: 0.8,
            summary: format!(
                "{} sent its UDP datagrams to {} {} more, after waits that doubled up to {} (port {}): nothing came back.",
                it.sender,
                it.receiver,
                format::times(it.waits),
                format::time(it.longest_wait_ns),
                it.port,
            ),
            evidence: evidence([
                ("waits", it.waits as f64),
                ("longest_wait_ns", it.longest_wait_ns as f64),
                ("waited_ns", it.end_ns.saturating_sub(it.start_ns) as f64),
                ("first_packet", it.first_packet as f64),
                ("last_packet", it.last_packet as f64),
            ]),
            advice: "Check that the other host is still there and its program runs, and that the path lets these datagrams pass: a \
                     firewall may drop them, or a link whose MTU they exceed."
                .to_owned(),
        },
    }
}

/// True if IP traffic waited for the address: the host exchanged packets with it before, or does nothing else. Where other hosts
/// exchange payload, those who have no part in it are not what the capture is about.
fn is_wanted(it: &AbsentHost, analysis: &Analysis) -> bool {
    let flows = analysis.flows.iter().map(|flow| flow.ends.map(|end| end.0));
    let requests = analysis.other_traffic.requests.iter();
    let streams = analysis
        .udp_streams
        .iter()
        .map(|it| [it.sender.0, it.receiver.0]);
    let talks = analysis.other_traffic.talks.iter().copied();
    let pairs: Vec<[Address; 2]> = flows
        .chain(requests.map(|it| [it.client, it.server.0]))
        .chain(streams)
        .chain(talks)
        .collect();
    let with = |address: Address| pairs.iter().any(|pair| pair.contains(&address));
    (with(it.target) || !it.asker_talks) && !is_bystander(it.asker, analysis)
}

/// True if others exchange payload, and a host has no part in it.
fn is_bystander(host: Address, analysis: &Analysis) -> bool {
    let flows = analysis.flows.iter().filter(|it| it.payload_bytes() > 0);
    let talks = analysis.other_traffic.talks.iter().copied();
    let mut working = flows
        .map(|flow| flow.ends.map(|end| end.0))
        .chain(talks)
        .peekable();
    working.peek().is_some() && !working.any(|pair| pair.contains(&host))
}

fn absent(it: &AbsentHost, share_of_time: f64) -> PathFinding {
    PathFinding {
        alternative_to: None,
        sender: Some(it.asker.to_string()),
        receiver: Some(it.target.to_string()),
        share_of_time,
        finding: Finding {
            cause: Cause::NoAnswer,
            confidence: 0.8,
            summary: format!(
                "{} asked {} for the hardware address of {} (ARP), without an answer: that host is off, or has \
                 another address.",
                it.asker,
                format::times(it.requests),
                it.target,
            ),
            evidence: evidence([
                ("arp_requests", it.requests as f64),
                ("waited_ns", it.end_ns.saturating_sub(it.start_ns) as f64),
                ("first_packet", it.first_packet as f64),
                ("last_packet", it.last_packet as f64),
            ]),
            advice: "Check that the device is on, its cable, its address and the netmask of both (ip addr, arp -n)."
                .to_owned(),
        },
    }
}

//! Connections that are not opened, or open slowly.

mod accepted;
mod cut_off;
#[cfg(test)]
mod cut_off_tests;
mod finding;
#[cfg(test)]
mod hang_tests;
mod many;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cost::MIN_COST_NS;
use super::exchange::server_of;
use crate::cause::busy::{busy_ns, union_ns};
use crate::cause::scored::{self, PathFinding};
use accepted::{Accepted, ByPort};
use cut_off::{CutOff, resets_data};
pub(super) use finding::HANG_NS;
use finding::finding;
use linerate_capture::reader::Address;
use linerate_capture::tcp::{End, LoggedPacket, Segment};
use linerate_capture::traffic::Flow;
use linerate_results::{format, stats};
pub(in crate::cause) use many::counts_host;
use many::{Found, merged};

/// How a connection failed to open, or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Opening {
    /// SYNs, and nothing came back.
    NoAnswer,
    /// The server acknowledged a request, and answered nothing until the client gave up.
    Unanswered,
    /// The same for the last of several requests.
    LastUnanswered,
    /// The server accepted, and did not even acknowledge what the client sent then.
    Unacknowledged,
    /// A reset answered the SYN, or the first data.
    Refused,
    /// It took more than a round trip.
    Slow,
    /// It opened, and the server's host reset it in the middle of a transfer.
    CutOff,
}

/// Attempts of one host to open connections to a port of another.
#[derive(Default)]
struct Attempts {
    client: Address,
    server: (Address, u16),
    connections: u64,
    syns: u64,
    time_ns: u64,
    first_packet: u64,
    last_packet: u64,
    after_accept: u64,
    /// Octets of transfers that passed before their reset.
    acked: u64,
    first_ns: u64,
    last_ns: u64,
    /// Start and end of each.
    times: Vec<(u64, u64)>,
    /// The server's ports.
    ports: BTreeSet<u16>,
}

impl Attempts {
    /// Time in which at least one of them waited. Whoever gives up after one SYN waits until the next attempt, or for less than the stack's
    /// timer.
    fn passed_ns(&self) -> u64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        for at in 1..times.len() {
            let (next_ns, (start_ns, end_ns)) = (times[at].0, &mut times[at - 1]);
            if *end_ns == *start_ns {
                *end_ns = next_ns.min(*start_ns + FIRST_TIMEOUT_NS);
            }
        }
        union_ns(times)
    }
}

/// The first timeout of a SYN (RFC 6298 section 2.1).
const FIRST_TIMEOUT_NS: u64 = 1_000_000_000;
/// A silence after a SYN that is longer is no slow answer (RFC 6298 section 2: the first timeout is 1 s).
const SLOW_NS: u64 = 150_000_000;
/// No program waits so long before its second attempt: somebody started it again.
const STARTED_AGAIN_NS: u64 = 30_000_000_000;
/// A client that is accepted this soon after a refusal is not slowed down (ITU-T G.1010: delays of interactive use).
const RETRY_NS: u64 = 1_000_000_000;
/// A refusal that took a smaller part of the time than this, beside a transfer, does not slow down anything.
const MIN_ASIDE: f64 = 0.04;
/// Segments of a transfer at least.
const TRANSFER_SEGMENTS: u64 = 50;
/// A client whose connections nearly all open, but for an attempt and its repetition, does what it is asked for: the rest is a service
/// that it tries in the background.
const BACKGROUND_ATTEMPTS: u64 = 2;
const BACKGROUND_DIVISOR: u64 = 10;
/// Resets that answer data, and repetitions that nothing answers, at least: fewer may be the end of a connection.
const MIN_REPEATED: usize = 3;
/// Each path carries a segment of this size (RFC 9293 section 3.7.1: the default MSS): what is larger may exceed its MTU.
const ANY_MSS: u32 = 536;
/// A timer waits twice as long each time (RFC 6298 section 5.5); a program that begins again waits for something else.
const MAX_BACKOFF: u64 = 4;
/// A host that refuses at so many ports has no program at any of them, or none for this client.
const MIN_PORTS: usize = 3;
/// Opening for a smaller share of a connection's time is not worth a finding.
const MIN_SHARE: f64 = 0.2;
/// Where opening takes most of a connection's time, a shorter silence counts, too: two ticks of a stack that looks for
/// packets 100 times in a second (the least rate that is common, HZ=100).
const SLOW_TICKS_NS: u64 = 20_000_000;
const MOST: f64 = 0.5;

/// The findings about opening, by pair of hosts and port, or by client.
pub(super) fn openings(flows: &[Flow]) -> Vec<PathFinding> {
    let mut all: BTreeMap<(Opening, String, String), Attempts> = BTreeMap::new();
    let mut total_ns = 0.0_f64;
    let passed_ns = union_ns(flows.iter().map(span).collect());
    let is_transfer = flows.iter().map(segments).sum::<u64>() >= TRANSFER_SEGMENTS;
    let (start, end) = (
        flows.iter().map(|it| span(it).0).min(),
        flows.iter().map(|it| span(it).1).max(),
    );
    let whole_ns = end.unwrap_or(0) - start.unwrap_or(0);
    let kinds: Vec<Option<(Opening, u64)>> = flows.iter().map(opening).collect();
    let refused = refused_ports(flows, &kinds);
    for (flow, kind) in flows.iter().zip(kinds) {
        let connection = &flow.connection;
        total_ns += (connection.end_ns - connection.start_ns) as f64;
        let cut_off = CutOff::among(flows, flow);
        let cut = cut_off.map(|it| (Opening::CutOff, it.lasted_ns));
        let Some((opening, time_ns)) = cut.or(kind) else {
            continue;
        };
        let [client, server] = client_and_server(flow);
        let ports = refused.get(&(client.0, server.0));
        let place = match ports.filter(|_| opening == Opening::Refused) {
            Some(ports) if ports.len() >= MIN_PORTS => {
                format!("{} ({} ports)", server.0, format::count(ports.len() as u64))
            }
            _ => format!("{} port {}", server.0, server.1),
        };
        let attempts = all
            .entry((opening, client.0.to_string(), place))
            .or_default();
        attempts.ports.insert(server.1);
        attempts.client = client.0;
        attempts.server = server;
        attempts.connections += 1;
        attempts.syns += match opening {
            Opening::NoAnswer => unanswered(connection.log().packets()).0,
            _ => syns(flow),
        };
        attempts
            .times
            .push((connection.start_ns, connection.start_ns + time_ns));
        attempts.time_ns += time_ns;
        attempts.acked += cut_off.map_or(0, |it| it.acked);
        attempts.last_packet = connection.last_packet;
        attempts.last_ns = connection.start_ns;
        attempts.after_accept += u64::from(connection.handshake().syn_ack_ns.is_some());
        if attempts.first_packet == 0 {
            attempts.first_packet = connection.first_packet;
            attempts.first_ns = connection.start_ns;
        }
    }
    let by_port = ByPort::of(flows);
    let findings = all
        .into_iter()
        .filter_map(|((opening, client, server), mut attempts)| {
            if opening == Opening::NoAnswer {
                attempts.time_ns = attempts.time_ns.max(attempts.passed_ns());
            }
            let accepted = if attempts.ports.len() == 1 {
                by_port.accepted(&attempts)
            } else {
                Accepted::default()
            };
            let is_soon = accepted.after_ns.is_some_and(|ns| ns < RETRY_NS);
            let is_retried = opening == Opening::Refused && is_soon;
            let is_started_again = opening == Opening::Refused
                && attempts.connections == 1
                && accepted.after_ns.is_some_and(|ns| ns >= STARTED_AGAIN_NS);
            // Whoever waits until it tries again loses that time, too.
            let lost_ns = accepted.after_ns.unwrap_or(attempts.time_ns);
            // A program tries several addresses, or twice, at once.
            let is_aside = opening == Opening::Refused
                && attempts.last_ns - attempts.first_ns < RETRY_NS
                && total_ns.max(whole_ns as f64) * MIN_ASIDE > lost_ns as f64
                && is_transfer;
            let is_background = matches!(opening, Opening::Refused | Opening::NoAnswer)
                && attempts.connections <= BACKGROUND_ATTEMPTS
                && by_port.opened(&attempts) > attempts.connections * BACKGROUND_DIVISOR;
            // A capture that ends just after the first SYN shows nothing, nor does one SYN that was lost.
            let is_unknown = opening == Opening::NoAnswer
                && (attempts.syns < 2
                    || attempts.passed_ns() < SLOW_NS
                    || attempts.syns == attempts.connections && accepted.is_any());
            let is_short = opening == Opening::Slow && attempts.passed_ns() < MIN_COST_NS as u64;
            // One of several connections that opened late, such as the first one, which waits for ARP.
            let opens_others = accepted.is_any();
            let is_first = opening == Opening::Slow
                && attempts.connections == 1
                && opens_others
                && (attempts.time_ns as f64) < (total_ns * MIN_SHARE).min(RETRY_NS as f64);
            let is_other_version =
                opening == Opening::Refused && by_port.opens_other_version(&attempts);
            let is_named = !(is_retried
                || is_started_again
                || is_aside
                || is_background
                || is_first
                || is_other_version);
            // The others may last however long, and wait for nothing, while this one cannot work: it is no minor cause.
            let passed = stats::ratio(attempts.passed_ns() as f64, passed_ns as f64);
            (is_named && !is_unknown && !is_short).then(|| {
                // SYNs that are repeated cost seconds, however long other connections are kept open.
                let is_repeated = opening == Opening::Slow && attempts.syns > attempts.connections;
                let total_ns = if is_repeated {
                    flows.iter().map(busy_ns).sum::<u64>() as f64
                } else {
                    total_ns
                };
                let mut found = finding(opening, client, &server, &attempts, accepted, total_ns);
                if opening == Opening::NoAnswer {
                    found.share_of_time = found.share_of_time.max(passed.min(scored::MIN_SHARE));
                }
                Found {
                    opening,
                    attempts,
                    finding: found,
                }
            })
        });
    merged(findings.collect(), total_ns)
}

/// The ports of each host at which it refuses connections of each client.
fn refused_ports(
    flows: &[Flow],
    kinds: &[Option<(Opening, u64)>],
) -> HashMap<(Address, Address), BTreeSet<u16>> {
    let mut ports: HashMap<(Address, Address), BTreeSet<u16>> = HashMap::new();
    for (flow, kind) in flows.iter().zip(kinds) {
        if matches!(kind, Some((Opening::Refused, _))) {
            let [client, server] = flow.ends;
            let of_host = ports.entry((client.0, server.0)).or_default();
            of_host.insert(server.1);
        }
    }
    ports
}

/// Start and end of a connection.
fn span(flow: &Flow) -> (u64, u64) {
    (flow.connection.start_ns, flow.connection.end_ns)
}

/// Segments with the payload of a connection.
fn segments(flow: &Flow) -> u64 {
    let sender = flow.connection.data_sender();
    flow.connection.stats(sender).segments
}

/// True if nothing was transferred because the server refused or ignored it: the time of the connection is that of the failure.
pub(super) fn has_failed(flow: &Flow) -> bool {
    let packets = flow.connection.log().packets();
    resets_data(packets) || unacknowledged_ns(packets).is_some()
}

/// Time for which a client repeated its first data, although nothing came back after the server had accepted the connection.
fn unacknowledged_ns(packets: &[LoggedPacket]) -> Option<u64> {
    let is_opened = packets.iter().any(|it| it.has_any(Segment::SYN));
    let mut answers = packets.iter().filter(|it| it.from() == End::Second);
    let is_silent = answers.clone().count() > 0 && answers.all(|it| it.has_any(Segment::SYN));
    let sent = packets.iter().filter(|it| it.len > 0);
    let first_ns = sent.clone().map(|it| it.time_ns).next()?;
    let last_ns = packets.iter().map(|it| it.time_ns).max()?;
    let is_small = sent.clone().all(|it| it.len <= ANY_MSS);
    (is_opened && is_silent && is_small && sent.count() > MIN_REPEATED)
        .then_some(last_ns - first_ns)
}

fn is_syn(packet: &LoggedPacket) -> bool {
    packet.from() == End::First && packet.flags & (Segment::SYN | Segment::ACK) == Segment::SYN
}

fn syns(flow: &Flow) -> u64 {
    let packets = flow.connection.log().packets().iter();
    packets.filter(|it| is_syn(it)).count() as u64
}

/// SYNs without an answer, with the time of the last, until nothing more came or the client began again from the same port.
fn unanswered(packets: &[LoggedPacket]) -> (u64, u64) {
    let (mut count, mut last_ns, mut gap_ns) = (0, 0, None);
    for syn in packets.iter().take_while(|it| is_syn(it)) {
        let ns = syn.time_ns - last_ns;
        if gap_ns.is_some_and(|gap_ns: u64| ns > MAX_BACKOFF * gap_ns.max(FIRST_TIMEOUT_NS)) {
            return (count, last_ns);
        }
        gap_ns = (count > 0).then_some(ns);
        (count, last_ns) = (count + 1, syn.time_ns);
    }
    (count, last_ns)
}

/// How the connection failed to open, with the time that it took.
fn opening(flow: &Flow) -> Option<(Opening, u64)> {
    let connection = &flow.connection;
    let handshake = connection.handshake();
    let lasted_ns = connection.end_ns - connection.start_ns;
    let packets = connection.log().packets();
    if resets_data(packets) {
        return Some((Opening::Refused, lasted_ns));
    }
    if handshake.syn_ns.is_none() {
        return request::unanswered(flow);
    }
    let from_server = packets.iter().filter(|it| it.from() == End::Second);
    // A reset that answers a client which closes, or gives up, refuses nothing.
    let ends = packets
        .iter()
        .find(|it| it.has_any(Segment::RST | Segment::FIN));
    let is_reset = ends.is_some_and(|it| it.from() == End::Second && it.has_any(Segment::RST));
    let payload = packets
        .iter()
        .any(|it| it.from() == End::Second && it.len > 0);
    if from_server.count() == 0 {
        return Some((Opening::NoAnswer, lasted_ns));
    }
    let (first_syns, first_ns) = unanswered(packets);
    if first_syns >= 2 && first_syns < syns(flow) {
        return Some((Opening::NoAnswer, first_ns));
    }
    // The stack repeats a SYN that is refused (Windows: 500 ms later).
    let only_opens = packets
        .iter()
        .all(|it| it.has_any(Segment::SYN | Segment::RST));
    if is_reset && !payload && (packets.len() <= 8 || only_opens) {
        return Some((Opening::Refused, lasted_ns));
    }
    if let Some(unanswered) = request::unanswered(flow) {
        return Some(unanswered);
    }
    if let Some(waited_ns) = unacknowledged_ns(packets) {
        return Some((Opening::Unacknowledged, waited_ns));
    }
    // Near the server, the way of its answer to the client and back is part of it.
    let answered_ns = handshake.syn_ack_ns?;
    // A client that does not repeat its SYN has the answer, and nobody waits for what it never acknowledges.
    if handshake.ack_ns.is_none() && syns(flow) < 2 {
        return None;
    }
    let opened_ns = handshake.ack_ns.unwrap_or(answered_ns) - connection.start_ns;
    // A connection that is kept open for later opened no sooner for that.
    let waited_ns = if syns(flow) >= 2 {
        busy_ns(flow).clamp(opened_ns, lasted_ns)
    } else {
        lasted_ns
    };
    let share = opened_ns as f64 / waited_ns.max(1) as f64;
    let is_slower = is_slower_than_data(flow, answered_ns - connection.start_ns);
    // How long a transfer takes whose end is not in the capture is unknown.
    let least = if ends.is_some() { MIN_SHARE } else { MOST };
    let is_long = opened_ns >= SLOW_NS && share >= least && (syns(flow) >= 2 || is_slower);
    let is_most = opened_ns >= SLOW_TICKS_NS && share >= MOST && is_slower;
    (is_long || is_most).then_some((Opening::Slow, opened_ns))
}

/// Time for which the client waited behind its last request, if the server answered all but that.
pub(super) fn hang_ns(flow: &Flow) -> Option<u64> {
    let (_, waited_ns) = opening(flow).filter(|(kind, _)| *kind == Opening::LastUnanswered)?;
    Some(waited_ns)
}

/// Client and server, by ports if the connection was open before the capture.
fn client_and_server(flow: &Flow) -> [(Address, u16); 2] {
    let server = server_of(flow).unwrap_or(End::Second);
    [server.other(), server].map(|end| flow.ends[end as usize])
}

/// True if data is acknowledged much faster than the SYN was answered, after `answered_ns`, or than its answer was.
fn is_slower_than_data(flow: &Flow, answered_ns: u64) -> bool {
    let fastest_ns = |sender: End| flow.connection.stats(sender).rtt.min();
    let acked_ns = flow.connection.handshake().legs_ns().map(|[ns, _]| ns);
    let legs = [
        (Some(answered_ns), fastest_ns(End::First)),
        (acked_ns, fastest_ns(End::Second)),
    ];
    let mut known = legs
        .into_iter()
        .filter_map(|(leg, fastest)| leg.zip(fastest));
    known.any(|(leg_ns, ns)| leg_ns >= SLOW_TICKS_NS && leg_ns > 4 * ns)
}

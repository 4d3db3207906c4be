//! Connections that are not opened, or open slowly.

use std::collections::BTreeMap;

use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::tcp::{End, LoggedPacket, Segment};
use linerate_capture::traffic::Flow;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};

/// How a connection failed to open, or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Opening {
    /// SYNs, and nothing came back.
    NoAnswer,
    /// The server acknowledged a request, and answered nothing until the client gave up.
    Unanswered,
    /// A reset answered the SYN, or the first data.
    Refused,
    /// It took more than a round trip.
    Slow,
}

/// Attempts of one host to open connections to a port of another.
#[derive(Default)]
struct Attempts {
    connections: u64,
    syns: u64,
    time_ns: u64,
    first_packet: u64,
    last_packet: u64,
    after_accept: u64,
    first_ns: u64,
    last_ns: u64,
}

/// Connections to the same port that were accepted.
#[derive(Clone, Copy, Debug, Default)]
struct Accepted {
    before: u64,
    /// Time from the first attempt that failed to the next connection that was accepted.
    after_ns: Option<u64>,
}

/// A silence after a SYN that is longer is no slow answer (RFC 6298 section 2: the first timeout is 1 s).
const SLOW_NS: u64 = 150_000_000;
/// No program waits so long before its second attempt: somebody started it again.
const STARTED_AGAIN_NS: u64 = 30_000_000_000;
/// A client that is accepted this soon after a refusal is not slowed down (ITU-T G.1010: delays of interactive use).
const RETRY_NS: u64 = 1_000_000_000;
/// One refusal that took a smaller part of the time than this, beside a transfer, does not slow down anything.
const MIN_ASIDE: f64 = 0.04;
/// Segments of a transfer at least.
const TRANSFER_SEGMENTS: u64 = 50;
/// Opening for a smaller share of a connection's time is not worth a finding.
const MIN_SHARE: f64 = 0.2;
/// Where opening takes most of a connection's time, a shorter silence counts, too: two ticks of a stack that looks for
/// packets 100 times in a second (the least rate that is common, HZ=100).
const SLOW_TICKS_NS: u64 = 20_000_000;
const MOST: f64 = 0.5;
/// Whoever asks for a page expects an answer within this time (ITU-T G.1010 table I.2, preferred).
const ANSWER_NS: u64 = 2_000_000_000;
/// A request fits into the initial window (RFC 5681 section 3.1).
const REQUEST_BYTES: u64 = 4 * 1_460;

/// The findings about opening, by pair of hosts and port.
pub(super) fn openings(flows: &[Flow]) -> Vec<PathFinding> {
    let mut all: BTreeMap<(Opening, String, String), Attempts> = BTreeMap::new();
    let mut total_ns = 0.0_f64;
    for flow in flows {
        let connection = &flow.connection;
        total_ns += (connection.end_ns - connection.start_ns) as f64;
        let Some((opening, time_ns)) = opening(flow) else {
            continue;
        };
        let (client, server) = (flow.ends[0].0.to_string(), flow.ends[1]);
        let attempts = all
            .entry((opening, client, format!("{} port {}", server.0, server.1)))
            .or_default();
        attempts.connections += 1;
        attempts.syns += syns(flow);
        attempts.time_ns += time_ns;
        attempts.last_packet = connection.last_packet;
        attempts.last_ns = connection.start_ns;
        attempts.after_accept += u64::from(connection.handshake().syn_ack_ns.is_some());
        if attempts.first_packet == 0 {
            attempts.first_packet = connection.first_packet;
            attempts.first_ns = connection.start_ns;
        }
    }
    let findings = all
        .into_iter()
        .filter_map(|((opening, client, server), attempts)| {
            let accepted = accepted(flows, &client, &server, &attempts);
            let is_soon = accepted.after_ns.is_some_and(|ns| ns < RETRY_NS);
            let is_retried = opening == Opening::Refused && is_soon;
            let is_started_again = opening == Opening::Refused
                && attempts.connections == 1
                && accepted.after_ns.is_some_and(|ns| ns >= STARTED_AGAIN_NS);
            let is_aside = opening == Opening::Refused
                && attempts.connections == 1
                && total_ns * MIN_ASIDE > attempts.time_ns as f64
                && flows.iter().any(carries_transfer);
            // One of several connections that opened late, such as the first one, which waits for ARP.
            let opens_others = accepted.before > 0 || accepted.after_ns.is_some();
            let is_first = opening == Opening::Slow
                && attempts.connections == 1
                && opens_others
                && (attempts.time_ns as f64) < (total_ns * MIN_SHARE).min(RETRY_NS as f64);
            (!is_retried && !is_started_again && !is_aside && !is_first)
                .then(|| finding(opening, client, &server, &attempts, accepted, total_ns))
        });
    findings.collect()
}

/// True for a connection that carries more than a few messages.
fn carries_transfer(flow: &Flow) -> bool {
    let sender = flow.connection.data_sender();
    flow.connection.stats(sender).segments >= TRANSFER_SEGMENTS
}

/// Connections of `client` to the same port that were accepted before the first failed attempt, and after the last.
fn accepted(flows: &[Flow], client: &str, server: &str, attempts: &Attempts) -> Accepted {
    let mut accepted = Accepted::default();
    let same = |flow: &&Flow| {
        let (address, port) = flow.ends[1];
        flow.ends[0].0.to_string() == client && format!("{address} port {port}") == server
    };
    for flow in flows.iter().filter(same) {
        let connection = &flow.connection;
        let is_open = connection.handshake().syn_ack_ns.is_some();
        if !is_open || matches!(opening(flow), Some((Opening::Refused, _))) {
            continue;
        }
        if connection.start_ns < attempts.first_ns {
            accepted.before += 1;
        } else if connection.start_ns > attempts.last_ns {
            let ns = connection.start_ns - attempts.first_ns;
            accepted.after_ns = Some(accepted.after_ns.map_or(ns, |before| before.min(ns)));
        }
    }
    accepted
}

/// The connections that were accepted, in a sentence.
fn others(accepted: Accepted) -> String {
    let before = format::counted(accepted.before, "connection");
    match (accepted.before, accepted.after_ns) {
        (0, Some(ns)) => format!("another was accepted {} later", format::time(ns)),
        (1, None) => format!("{before} before was accepted"),
        (_, None) => format!("{before} before were accepted"),
        (_, Some(ns)) => {
            format!(
                "{before} before and one {} later were accepted",
                format::time(ns)
            )
        }
    }
}

fn syns(flow: &Flow) -> u64 {
    let packets = flow.connection.log().packets().iter();
    packets
        .filter(|it| {
            it.from() == End::First && it.flags & (Segment::SYN | Segment::ACK) == Segment::SYN
        })
        .count() as u64
}

/// How the connection failed to open, with the time that it took.
fn opening(flow: &Flow) -> Option<(Opening, u64)> {
    let connection = &flow.connection;
    let handshake = connection.handshake();
    handshake.syn_ns?;
    let lasted_ns = connection.end_ns - connection.start_ns;
    let packets = connection.log().packets();
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
        // A capture that ends just after the first SYN shows nothing.
        let is_repeated = syns(flow) >= 2 && lasted_ns >= SLOW_NS;
        return is_repeated.then_some((Opening::NoAnswer, lasted_ns));
    }
    if is_reset && !payload && packets.len() <= 8 {
        return Some((Opening::Refused, lasted_ns));
    }
    if let Some(waited_ns) = unanswered_ns(packets) {
        return Some((Opening::Unanswered, waited_ns));
    }
    // Near the server, the way of its answer to the client and back is part of it.
    let answered_ns = handshake.syn_ack_ns?;
    let opened_ns = handshake.ack_ns.unwrap_or(answered_ns) - connection.start_ns;
    let share = opened_ns as f64 / lasted_ns.max(1) as f64;
    let is_slower = is_slower_than_data(flow, answered_ns - connection.start_ns);
    // How long a transfer takes whose end is not in the capture is unknown.
    let least = if ends.is_some() { MIN_SHARE } else { MOST };
    let is_long = opened_ns >= SLOW_NS && share >= least && (syns(flow) >= 2 || is_slower);
    let is_most = opened_ns >= SLOW_TICKS_NS && share >= MOST && is_slower;
    (is_long || is_most).then_some((Opening::Slow, opened_ns))
}

/// Time for which a client waited, until it gave up, for the answer to its request, which the server acknowledged.
fn unanswered_ns(packets: &[LoggedPacket]) -> Option<u64> {
    let last = packets
        .iter()
        .find(|it| it.has_any(Segment::RST | Segment::FIN))?;
    let before = || {
        packets
            .iter()
            .filter(|it| it.time_ns < last.time_ns && it.len > 0)
    };
    let asked_ns = before().map(|it| it.time_ns).max()?;
    let bytes: u64 = before().map(|it| u64::from(it.len)).sum();
    let answer = packets
        .iter()
        .rfind(|it| it.from() == End::Second && it.time_ns < last.time_ns)?;
    let is_client = |it: &LoggedPacket| it.from() == End::First;
    let is_acked = |it: &LoggedPacket| answer.acknowledges(it.seq.wrapping_add(it.len));
    let is_asking = before().all(|it| is_client(it) && is_acked(it))
        && is_client(last)
        && bytes <= REQUEST_BYTES;
    let waited_ns = last.time_ns - asked_ns;
    // What sends now and then expects no answer.
    (is_asking && waited_ns >= ANSWER_NS && waited_ns as f64 >= MOST * last.time_ns as f64)
        .then_some(waited_ns)
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

fn finding(
    opening: Opening,
    client: String,
    server: &str,
    attempts: &Attempts,
    accepted: Accepted,
    total_ns: f64,
) -> PathFinding {
    let each = if attempts.syns == 1 {
        "the SYN"
    } else {
        "each SYN"
    };
    let tried = format::times(attempts.connections);
    let connections = format::counted(attempts.connections, "connection");
    let each_one = if attempts.connections == 1 {
        "it"
    } else {
        "each"
    };
    let time = format::time(attempts.time_ns);
    let (cause, confidence, summary, advice) = match opening {
        Opening::NoAnswer => (
            Cause::NoAnswer,
            0.95,
            format!(
                "{client} tried {tried} to open a connection to {server}: none of {} was answered in {time}.",
                format::counted(attempts.syns, "SYN")
            ),
            "Check that the device is on and has this address (arp -n, ping), that the route and the netmask lead to it, \
             and that no firewall drops the port.",
        ),
        Opening::Unanswered => (
            Cause::NoAnswer,
            0.6,
            format!(
                "{client} opened {connections} to {server} and sent what may be a request: all of it was acknowledged and \
                 nothing came back, until {client} closed after {time}."
            ),
            "If nothing was to come back, this is no fault. Otherwise either the server's program does not answer (it hangs, waits for more of the request, or serves one connection at \
             a time), or its answer is lost each time, such as one above the MTU of the path. A capture at the server decides.",
        ),
        Opening::Refused if attempts.after_accept == attempts.connections => (
            Cause::Refused,
            0.85,
            format!(
                "{client} opened {connections} to {server}: {each_one} was reset before anything was answered."
            ),
            "The program at that port accepts and closes at once: look at its log, its limit of connections, and the \
             free memory for connections (lwIP: MEMP_NUM_TCP_PCB).",
        ),
        Opening::Refused if accepted.before > 0 || accepted.after_ns.is_some() => (
            Cause::Refused,
            0.8,
            format!(
                "{client} tried {tried} to open a connection to {server}: a reset answered {each}, although {}.",
                others(accepted)
            ),
            "The program at that port ended, was not ready yet, or takes one connection at a time: look at its log, its \
             start, and its backlog.",
        ),
        Opening::Refused => (
            Cause::Refused,
            0.95,
            format!(
                "{client} tried {tried} to open a connection to {server}: a reset answered {each}."
            ),
            "No program listens at this port: check that it runs, at this address and port, and that its backlog is not \
             full.",
        ),
        Opening::Slow => (
            Cause::SlowHandshake,
            0.85,
            format!(
                "Opening {connections} from {client} to {server} took {time} ({}), much longer than a round trip.",
                format::counted(attempts.syns, "SYN")
            ),
            "If SYNs were repeated, they or their answers were lost: an ARP entry that was missing, a full backlog, a \
             listener with one connection at a time. Otherwise the server was slow to answer. Keep connections open.",
        ),
    };
    let mut figures = evidence([
        ("connections", attempts.connections as f64),
        ("syns", attempts.syns as f64),
        ("opening_ns", attempts.time_ns as f64),
        ("accepted_before", accepted.before as f64),
        ("first_packet", attempts.first_packet as f64),
        ("last_packet", attempts.last_packet as f64),
    ]);
    if let Some(after_ns) = accepted.after_ns {
        figures.insert("accepted_after_ns".to_owned(), after_ns as f64);
    }
    PathFinding {
        alternative_to: None,
        sender: Some(client),
        receiver: server.split(' ').next().map(str::to_owned),
        share_of_time: if total_ns > 0.0 {
            attempts.time_ns as f64 / total_ns
        } else {
            1.0
        },
        finding: Finding {
            cause,
            confidence,
            summary,
            evidence: figures,
            advice: advice.to_owned(),
        },
    }
}

//! How a connection failed to open, or opened.

use super::cut_off::resets_data;
use super::request;
use crate::cause::busy::busy_ns;
use linerate_capture::tcp::{End, LoggedPacket, MIN_SYN_TIMEOUT_NS, Segment};
use linerate_capture::traffic::Flow;

/// How a connection failed to open, or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Opening {
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
    /// It opened, and its server's host ignored what followed until the program accepted it.
    Queued,
    /// It opened, and the server's host reset it in the middle of a transfer.
    CutOff,
}

/// The first timeout of a SYN (RFC 6298 section 2.1).
pub(super) const FIRST_TIMEOUT_NS: u64 = 1_000_000_000;
/// A silence after a SYN that is longer is no slow answer (RFC 6298 section 2: the first timeout is 1 s).
pub(super) const SLOW_NS: u64 = 150_000_000;
/// Where opening takes most of a connection's time, a shorter silence counts, too: two ticks of a stack that looks for
/// packets 100 times in a second (the least rate that is common, HZ=100).
const SLOW_TICKS_NS: u64 = 20_000_000;
/// Opening for a smaller share of a connection's time is not worth a finding.
pub(super) const MIN_SHARE: f64 = 0.2;
pub(super) const MOST: f64 = 0.5;
/// Resets that answer data, and repetitions that nothing answers, at least: fewer may be the end of a connection.
pub(super) const MIN_REPEATED: usize = 3;
/// Each path carries a segment of this size (RFC 9293 section 3.7.1: the default MSS): what is larger may exceed its MTU.
pub(super) const ANY_MSS: u32 = 536;
/// A timer waits twice as long each time (RFC 6298 section 5.5); a program that begins again waits for something else.
const MAX_BACKOFF: u64 = 4;

/// How the connection failed to open, with the time that it took.
pub(super) fn opening(flow: &Flow) -> Option<(Opening, u64)> {
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

/// Time for which a client repeated its first data, although nothing came back after the server had accepted the connection.
pub(super) fn unacknowledged_ns(packets: &[LoggedPacket]) -> Option<u64> {
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

pub(super) fn syns(flow: &Flow) -> u64 {
    let packets = flow.connection.log().packets().iter();
    sent_syns(packets.filter(|it| is_syn(it))).count() as u64
}

/// The SYNs of these that their host sent: a copy that the path made comes sooner than a timer sends one again.
fn sent_syns<'a>(
    syns: impl Iterator<Item = &'a LoggedPacket>,
) -> impl Iterator<Item = &'a LoggedPacket> {
    let mut last_ns = None;
    syns.filter(move |it| {
        let is_copy = last_ns.is_some_and(|ns: u64| it.time_ns - ns < MIN_SYN_TIMEOUT_NS);
        last_ns = last_ns.filter(|_| is_copy).or(Some(it.time_ns));
        !is_copy
    })
}

/// SYNs without an answer, with the time of the last, until nothing more came or the client began again from the same port.
pub(super) fn unanswered(packets: &[LoggedPacket]) -> (u64, u64) {
    let (mut count, mut last_ns, mut gap_ns) = (0, 0, None);
    for syn in sent_syns(packets.iter().take_while(|it| is_syn(it))) {
        let ns = syn.time_ns - last_ns;
        if gap_ns.is_some_and(|gap_ns: u64| ns > MAX_BACKOFF * gap_ns.max(FIRST_TIMEOUT_NS)) {
            return (count, last_ns);
        }
        gap_ns = (count > 0).then_some(ns);
        (count, last_ns) = (count + 1, syn.time_ns);
    }
    (count, last_ns)
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

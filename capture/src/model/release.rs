//! How long the sender takes to react to acknowledgments, as seen at the capture point.

use super::round_trip::{RoundTrips, percentile};
use super::view::{DirectionView, Transmission};

/// Time that a host's stack takes to answer.
const STACK_NS: u64 = 500_000;
/// Common stacks delay an acknowledgment by 40 ms or more.
const DELAYED_ACK_NS: u64 = 25_000_000;
/// An acknowledgment is late if it comes so many times later than the data behind it.
const LATE_FACTOR: u64 = 4;
/// Two full segments are acknowledged at once (RFC 9293 section 3.8.6.3).
const OWED_SEGMENTS: u64 = 2;
/// The interval of acknowledgments is so many times longer than what a host takes to react to one.
const BURSTS_FACTOR: u64 = 6;
/// Fewer acknowledgments that release data show nothing.
const MIN_RELEASES: usize = 8;

/// Time from an acknowledgment at the capture point to the data that it releases. Near the sender it is none: a stack
/// answers a SYN more slowly than an acknowledgment.
pub(super) fn reaction_ns(to_receiver: &RoundTrips, to_sender: &RoundTrips) -> u64 {
    let sender_ns = to_sender.base_ns().unwrap_or(0);
    match to_receiver.base_ns() {
        Some(receiver_ns) if sender_ns < receiver_ns / 4 => 0,
        // Echoed timestamps are exact; a handshake is answered more slowly.
        _ if to_sender.count() >= 8 => sender_ns.saturating_sub(STACK_NS),
        _ => (sender_ns - sender_ns / 8).saturating_sub(STACK_NS),
    }
}

/// The shortest time to the acknowledgment of payload. Those of FIN are left out: to close takes hosts time.
pub(super) fn acknowledged_ns(view: &DirectionView) -> Option<u64> {
    let mut payload = view.clone();
    payload.sent.retain(|it| it.len > 0);
    RoundTrips::to_receiver(&payload, None).base_ns()
}

/// The time to the answer to the receiver's FIN, if that was sent once, in `back`: all that a capture of a receiver that began late
/// shows of the path to the sender. A stack whose program goes on may delay the acknowledgment (RFC 9293 section 3.8.6.3), by
/// [`DELAYED_ACK_NS`] or more; not so one that has closed before, or closes now.
pub(super) fn closed_ns(view: &DirectionView, back: &DirectionView) -> Option<u64> {
    let fin_of = |view: &DirectionView| {
        let first = view.sent.first()?.number;
        // A SYN with payload takes a number more than that, too.
        let is_fin = |it: &&Transmission| it.has_fin() && (it.len == 0 || it.number != first);
        let mut closing = view.sent.iter().filter(is_fin);
        let fin = closing.next().copied()?;
        closing.next().is_none().then_some(fin)
    };
    let fin = fin_of(back)?;
    let mut answers = back.acks.iter();
    let answer = answers.find(|ack| ack.number > fin.number && ack.ack >= fin.end)?;
    let has_closed = fin_of(view).is_some_and(|own| own.number <= answer.number);
    let ns = answer.time_ns.saturating_sub(fin.time_ns);
    (has_closed || !answer.is_bare || ns < DELAYED_ACK_NS).then_some(ns)
}

/// The shortest time from the packet that opens a closed window to the data that it admits: nothing was admitted before, with
/// any scale of the window (RFC 9293 section 3.8.6.1), so the sender had seen it.
pub(super) fn reopened_ns(view: &DirectionView) -> Option<u64> {
    let mut acks = view.acks.iter().peekable();
    let mut closed_at = None;
    let mut opened_ns = None;
    let mut least_ns = None;
    for sent in view.sent.iter().filter(|it| !it.is_retransmission()) {
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            if ack.window == 0 {
                (closed_at, opened_ns) = (Some(ack.ack), None);
            } else if closed_at.is_some() && opened_ns.is_none() {
                opened_ns = Some(ack.time_ns);
            }
        }
        // A probe of one octet is sent into a closed window.
        if sent.len > 1
            && let Some(ns) = opened_ns.filter(|_| closed_at.is_some_and(|at| sent.start >= at))
        {
            let ns = sent.time_ns.saturating_sub(ns);
            least_ns = Some(least_ns.map_or(ns, |least_ns: u64| least_ns.min(ns)));
            (closed_at, opened_ns) = (None, None);
        }
    }
    least_ns
}

/// The time from acknowledgments of all that is in flight to the data behind them, if it is always the same, and the acknowledgments
/// came long after what they acknowledge, although they were owed before (RFC 9293 section 3.8.6.3): they release the data. Where
/// one segment is in flight, a sender may have a clock that is a little slower than the receiver's timer.
pub(super) fn after_late_acks_ns(view: &DirectionView) -> Option<u64> {
    let owed = OWED_SEGMENTS * u64::from(view.full_segment());
    let mut acks = view.acks.iter().peekable();
    let (mut acked, mut acked_ns, mut highest, mut last_ns) = (0, 0, 0, 0);
    let mut delays = Vec::new();
    for sent in view.sent.iter().filter(|it| it.len > 0) {
        let acked_before = acked;
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            if ack.ack > acked {
                (acked, acked_ns) = (ack.ack, ack.time_ns);
            }
        }
        if acked >= highest && acked_before > 0 && sent.start >= highest {
            let ns = sent.time_ns.saturating_sub(acked_ns);
            let late_ns = acked_ns.saturating_sub(last_ns);
            let is_late = late_ns >= DELAYED_ACK_NS.max(LATE_FACTOR * ns);
            delays.extend((is_late && acked - acked_before >= owed).then_some(ns));
        }
        (highest, last_ns) = (highest.max(sent.end), sent.time_ns);
    }
    let [least_ns, most_ns] = [10, 90].map(|percent| percentile(delays.clone(), percent));
    let (least_ns, most_ns) = (least_ns?, most_ns?);
    let is_constant = most_ns <= least_ns + least_ns / 4 + STACK_NS;
    (delays.len() >= MIN_RELEASES && is_constant).then_some(least_ns)
}

/// True if the sender's bursts are many times farther apart than this: a program that writes at intervals of its own follows
/// some acknowledgment within one of them, by chance.
pub(super) fn is_far_below_bursts(view: &DirectionView, ns: u64) -> bool {
    let gaps = view
        .sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let between = gaps.filter(|gap_ns| *gap_ns > 2 * ns).collect();
    percentile(between, 50).is_some_and(|gap_ns| gap_ns >= BURSTS_FACTOR * ns)
}

/// Median time from an acknowledgment of new data to the data that follows it, if most follow within an eighth of the
/// round trip to the receiver. Where the path to the sender is longer than that, they come at any time.
pub(super) fn release_ns(view: &DirectionView, to_receiver: &RoundTrips) -> Option<u64> {
    let near_ns = to_receiver.percentile(50)? / 8;
    let mut delays = Vec::new();
    let mut acks = view.acks.iter().peekable();
    let mut acked = 0;
    for sent in view.sent.iter().filter(|it| !it.is_retransmission()) {
        let mut released_ns = None;
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            if ack.ack > acked {
                released_ns = Some(ack.time_ns);
                acked = ack.ack;
            }
        }
        delays.extend(released_ns.map(|ns| sent.time_ns.saturating_sub(ns)));
    }
    let is_near = delays.len() >= MIN_RELEASES
        && percentile(delays.clone(), 75).is_some_and(|ns| ns <= near_ns);
    percentile(delays, 50).filter(|_| is_near)
}

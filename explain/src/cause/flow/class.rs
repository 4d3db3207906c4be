//! What kind of connection it is: a transfer, requests and answers, or too little.

use linerate_capture::model::FlowModel;

/// Kind of a connection, by what passed over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowClass {
    /// A transfer of many segments.
    Bulk,
    /// Requests and answers of few segments each.
    Exchange,
    /// Too little passed to judge its rate.
    Short,
}

/// A longer turn is a transfer.
const BULK_SEGMENTS: u64 = 12;
/// Fewer changes of direction are a transfer with its request.
pub(super) const EXCHANGE_TURNS: usize = 4;

/// Segments of a transfer are larger on average, unless they are sent close together.
const SMALL_BYTES: u64 = 400;

/// Segments of fewer octets on average are signals, and carry no data.
const SIGNAL_BYTES: u64 = 4;

/// Fewer segments than one in so many that end a write are those of a sender that always has more.
pub(super) const HARDLY_ANY: usize = 8;

/// A stack sends within this time what it has ready.
const PROMPT_NS: u64 = 2_000_000;
/// A stack's times differ by less than this from one packet to the next.
const STACK_NS: u64 = 100_000;
/// Of the payload, and of the time, a transfer in one direction has at least so much: the rest is its greetings, its request and its farewell.
const ONE_WAY_PAYLOAD: f64 = 0.9;
const ONE_WAY_TIME: f64 = 0.8;

pub(super) fn classify(model: &FlowModel, full: u64) -> FlowClass {
    let longest = model.turns.longest_turn(model.data_sender);
    if longest >= BULK_SEGMENTS * full.max(SMALL_BYTES) && !is_trickle(model) {
        FlowClass::Bulk
    } else if model.turns.changes() >= EXCHANGE_TURNS {
        FlowClass::Exchange
    } else if model.view.sent.len() as u64 >= 4 * BULK_SEGMENTS && !is_trickle(model) {
        FlowClass::Bulk
    } else if model.view.sent.len() as u64 >= BULK_SEGMENTS {
        FlowClass::Exchange
    } else {
        FlowClass::Short
    }
}

/// True if the ends take turns all the time: requests, and answers that may wait for them.
pub(super) fn takes_turns(model: &FlowModel) -> bool {
    model.turns.changes() >= EXCHANGE_TURNS && !is_mostly_one_turn(model)
}

/// True if one turn of the sender has nearly all of the payload, and most of the time.
fn is_mostly_one_turn(model: &FlowModel) -> bool {
    let turns = &model.turns;
    let sent = &model.view.sent;
    let (Some(first), Some(last)) = (sent.first(), sent.last()) else {
        return false;
    };
    let payload: u64 = turns.turn_bytes[model.data_sender as usize].iter().sum();
    let waits = turns.waits.iter().flatten();
    let mut changes: Vec<u64> = waits.map(|wait| wait.start_ns + wait.ns).collect();
    changes.extend([first.time_ns, last.time_ns]);
    changes.sort_unstable();
    let turns_ns = changes.windows(2).map(|pair| pair[1] - pair[0]);
    let all_ns = last.time_ns - first.time_ns;
    turns.longest_turn(model.data_sender) as f64 >= ONE_WAY_PAYLOAD * payload as f64
        && turns_ns.max().unwrap_or(0) as f64 >= ONE_WAY_TIME * all_ns as f64
}

/// True for small segments, each sent when nothing is in flight: a program that has little to send.
pub(super) fn is_trickle(model: &FlowModel) -> bool {
    let sent = &model.view.sent;
    let bytes: u64 = sent.iter().map(|it| u64::from(it.len)).sum();
    if bytes < SIGNAL_BYTES * sent.len() as u64 {
        return true;
    }
    if bytes / sent.len().max(1) as u64 >= SMALL_BYTES || is_in_step(model) {
        return false;
    }
    // A program's write ends with PSH (RFC 9293 section 3.9.1); a sender that has more to send does not set it.
    let pushed = sent.iter().filter(|it| it.is_pushed).count();
    if pushed * HARDLY_ANY < sent.len() {
        return false;
    }
    let flights = model.flights();
    let new = sent.iter().filter(|it| !it.is_retransmission());
    let alone = new
        .zip(&flights)
        .filter(|(it, flight)| **flight <= u64::from(it.len) + 1)
        .count();
    alone * 2 >= flights.len()
}

/// The least time between an acknowledgment that passes the capture point and the segment which it releases, ns, if the sender is
/// `to_sender_ns` away at the least. What comes sooner left before.
pub(super) fn earliest_reaction_ns(to_sender_ns: u64) -> u64 {
    to_sender_ns.saturating_sub(STACK_NS.max(to_sender_ns / 8))
}

/// True if nearly all segments have one size, and each follows the acknowledgment of the one before at once: there is always more to
/// send. A stack with one buffer sets PSH on each (uIP).
fn is_in_step(model: &FlowModel) -> bool {
    // What follows an acknowledgment arrives after it has reached the sender and the segment has come from there.
    let Some(to_sender_ns) = model.to_sender.base_ns() else {
        return false;
    };
    let sent = &model.view.sent;
    let full = sent.iter().map(|it| it.len).max().unwrap_or(0);
    let mut acks = model.view.acks.iter().peekable();
    let mut in_step = 0;
    for pair in sent.windows(2) {
        let (before, next) = (pair[0], pair[1]);
        while acks.next_if(|ack| ack.ack < before.end).is_some() {}
        let Some(ack) = acks.peek().filter(|ack| ack.time_ns <= next.time_ns) else {
            continue;
        };
        let reaction_ns = next.time_ns - ack.time_ns;
        let at_once = earliest_reaction_ns(to_sender_ns)..=to_sender_ns + PROMPT_NS;
        in_step += usize::from(before.len == full && at_once.contains(&reaction_ns));
    }
    in_step * 10 >= sent.len() * 8
}

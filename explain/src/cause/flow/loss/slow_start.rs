//! Queues that slow start overflows.

use super::Losses;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::repeats::episodes;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::{Limit, Transmission};
use linerate_capture::tcp::PacketClass;
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::{BTreeMap, HashMap};

/// Losses by chance are all in the first of so many parts of a connection once in as many connections, and the first of them is so
/// early.
const OPENING_DIVISOR: usize = 20;
/// Losses by chance that are rare are alone in their round trip.
const MIN_TOGETHER: usize = 2;

/// True if all losses are within the first of [`OPENING_DIVISOR`] parts of a connection that was captured from its start, or
/// of twice as long a part if they are repaired together.
pub(super) fn has_all(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let last = sent.iter().rposition(Transmission::is_retransmission);
    let divisor = if episodes(facts) <= 1 {
        OPENING_DIVISOR / 2
    } else {
        OPENING_DIVISOR
    };
    facts.connection().handshake().syn_ns.is_some()
        && last.is_some_and(|last| (last + 1) * divisor <= sent.len())
}

/// The first losses of a connection that was captured from its start, if they come together, and sooner than losses as rare as these
/// by chance. Slow start sends in bursts (two segments for each that left the queue), which a short queue loses however little is in
/// flight; later, acknowledgments space the same flight and larger ones.
pub(super) fn first_losses(facts: &FlowFacts<'_>) -> Option<FirstLosses> {
    let rtt_ns = facts.model.base_rtt_ns()?;
    let lost = lost(facts);
    let first = *lost.first()?;
    let mut events = 0;
    let mut until_ns = None;
    for it in &lost {
        if until_ns.is_none_or(|ns| it.time_ns > ns) {
            events += 1;
        }
        until_ns = Some(it.time_ns + rtt_ns);
    }
    let together = lost.iter();
    let together = together.take_while(|it| it.time_ns <= first.time_ns + rtt_ns);
    let found = FirstLosses {
        before: first.place,
        together: together.count(),
    };
    let is_soon = events * (first.place + 1) * OPENING_DIVISOR <= facts.model.view.sent.len();
    let is_opened = facts.connection().handshake().syn_ns.is_some();
    (is_opened && is_soon && found.together >= MIN_TOGETHER).then_some(found)
}

/// The first losses of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstLosses {
    /// Segments before them.
    before: usize,
    /// Those of one round trip.
    together: usize,
}

/// A lost segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    /// New segments before it.
    place: usize,
    /// Time at which it was sent or, near the receiver, was found missing.
    time_ns: u64,
}

/// Segments that were lost, in the order of their octets.
fn lost(facts: &FlowFacts<'_>) -> Vec<Lost> {
    let is_near_receiver = facts.model.is_near_receiver();
    let view = &facts.model.view;
    let mut new: HashMap<u64, Lost> = HashMap::new();
    let mut highest = view.sent.first().map_or(0, |it| it.start);
    let mut place = 0;
    let mut lost = Vec::new();
    for it in view.sent.iter().filter(|it| it.len > 0) {
        let time_ns = it.time_ns;
        if is_near_receiver {
            let missing = it.start.saturating_sub(highest).div_ceil(facts.full.max(1));
            for _ in 0..missing {
                lost.push(Lost { place, time_ns });
                place += 1;
            }
        } else if it.is_retransmission() && it.class != PacketClass::SpuriousRetransmission {
            lost.extend(new.remove(&it.start));
        }
        if it.start >= highest {
            new.insert(it.start, Lost { place, time_ns });
            place += 1;
        }
        highest = highest.max(it.end);
    }
    lost.sort_unstable_by_key(|it| it.place);
    lost
}

/// Slow start doubles what is in flight until a queue overflows, and after that the window grows slowly.
pub(super) fn overflow(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    first: Option<FirstLosses>,
    waits: &str,
    mut figures: BTreeMap<String, f64>,
) -> Rule {
    let when = match first {
        Some(FirstLosses { before, together }) => {
            figures.insert("segments_before_losses".to_owned(), before as f64);
            figures.insert("first_lost_together".to_owned(), together as f64);
            format!(
                "the first {} of them together after {} segments, in a burst of slow start",
                format::count(together as u64),
                format::count(before as u64),
            )
        }
        None => "all at the end of slow start, and none of those that followed in smaller flights"
            .to_owned(),
    };
    Rule {
        share: losses.cost(),
        cause: Cause::ShallowQueue,
        confidence: 0.6,
        summary: format!(
            "{} of {} segments were lost, {when}: the queue before the slowest link holds no more. {waits}",
            format::count(losses.lost),
            format::count(losses.segments),
        ),
        evidence: figures,
        advice: format!(
            "Give the queue before the slowest link room for the rate times the round trip (switch port, tc limit, transmit \
             ring), or let {} leave slow start earlier (HyStart, pacing).",
            facts.sender
        ),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight],
        has_gain: true,
    }
}

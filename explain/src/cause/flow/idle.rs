//! A sender that has nothing to send, although it could.

use super::class::{FlowClass, takes_turns};
use super::clock::is_clocked;
use super::cost::MIN_COST_IN_PAGE_NS;
use super::facts::FlowFacts;
use super::media::{is_media, is_timed_media};
use super::pacing::{IDLE_NS, LEAST_MTU_PAYLOAD, OPTIONS, is_own_stream};
use super::rate;
use super::rule::Rule;
use super::sender::{MIN_ROUND_TRIPS, TICK_NS};
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span, Transmission};
use linerate_results::format;
use linerate_results::record::Cause;

/// Idle for a smaller share of the time is normal.
const MIN_IDLE: f64 = 0.25;
/// One or two silences may be the end of a task.
const MIN_IDLE_SPANS: usize = 3;
/// Two are none if they are this long, with data between them and behind: a truncated capture shows no more.
const LONG_SILENCE_NS: u64 = 200_000_000;
/// Any window admits so many segments at once (RFC 6928 section 2).
const INITIAL_SEGMENTS: u64 = 10;
/// Several such silences are worth a finding if they take this share of the time.
pub(super) const MIN_STOPPED: f64 = 0.15;
/// The evidence with their number.
pub(super) const LONG_SILENCES: &str = "long_silences";
/// With one of this many segments lost, TCP keeps about twelve segments in flight (RFC 5348 section 3.1, solved for the
/// window): such a sender is held back by its congestion control, whatever its program does.
const LOSSES_DIVISOR: u64 = 100;

/// Silences of a sender that could send.
pub(super) fn idle(facts: &FlowFacts<'_>) -> Option<Rule> {
    // Shorter silences are the sending host's work.
    let least_ns = IDLE_NS.max(2 * facts.model.base_rtt_ns().unwrap_or(0));
    let silences = silences(facts);
    let long: Vec<&Span> = silences.iter().filter(|it| it.ns() >= least_ns).collect();
    let share = |spans: &[&Span]| facts.share_of(spans.iter().map(|span| span.ns()).sum());
    // Where the long ones suffice, the others do not matter.
    let stops = long_silences(&long);
    let (long, are_stops) = if stops.len() >= 2 && share(&stops) >= MIN_STOPPED {
        (stops, true)
    } else {
        (long, false)
    };
    // A program that ends its writes with a part of a segment, and all of it is acknowledged, had nothing more, however short
    // the silence: the sending host's work takes less than a millisecond.
    let is_of_program = |span: &&&Span| span.ns() >= TICK_NS && ends_write(facts, span);
    let short: Vec<&Span> = silences.iter().filter(|it| it.ns() >= TICK_NS).collect();
    let written = short.iter().filter(is_of_program).count();
    let long = if !are_stops && share(&long) < MIN_IDLE && written * 5 >= short.len() * 4 {
        short
    } else {
        long
    };
    let are_long = long.len() == 2 && long.iter().all(|span| span.ns() >= LONG_SILENCE_NS);
    if long.len() < MIN_IDLE_SPANS && !are_long || !shows_idling(facts, &long) {
        return None;
    }
    let idle_ns: u64 = long.iter().map(|span| span.ns()).sum();
    let share = share(&long);
    let is_exchange = facts.class != FlowClass::Bulk || takes_turns(&facts.model);
    let is_held_back = facts.stats().delayed_acks >= 3 && facts.share(Limit::LateAck) >= share;
    if share < MIN_IDLE && !are_stops
        || (idle_ns as f64) < MIN_COST_IN_PAGE_NS
        || facts.is_beside_full
        || is_exchange
        || is_media(facts)
        || is_timed_media(facts)
        || is_own_stream(facts)
        || is_clocked(facts)
        || is_held_back
        || are_behind_messages(facts, &long, &silences)
        || rate::is_steady(facts)
    {
        return None;
    }
    let mut figures = evidence([("sender_share", share)]);
    if are_stops {
        figures.insert(LONG_SILENCES.to_owned(), long.len() as f64);
    }
    Some(Rule {
        share,
        cause: Cause::SenderIdle,
        confidence: 0.75,
        summary: format!(
            "For {} of the time {} could send but has no data ready.",
            format::percent(share),
            facts.sender,
        ),
        evidence: figures,
        advice: "Prepare the next block while one is in flight, and write larger blocks. If the program has no more to \
                 send, nothing is wrong."
            .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: true,
    })
}

/// True if most of `silences` come after nothing but pushed segments that have room for more, or nearly all are long and come
/// after a write that leaves at once: a source that has no more at a time.
fn are_behind_messages(facts: &FlowFacts<'_>, silences: &[&Span], all: &[Span]) -> bool {
    let sent = &facts.model.view.sent;
    let room = facts.mss().unwrap_or(LEAST_MTU_PAYLOAD);
    let is_message = |it: &Transmission| it.is_pushed && u64::from(it.len) + OPTIONS <= room;
    let mut from_ns = 0;
    let (mut messages, mut news) = (0, 0);
    // Of an answer, somebody awaits all.
    let is_asked = facts.model.turns.changes() > 0;
    let shorter = all.iter().filter(|it| !is_asked && it.ns() >= IDLE_NS);
    let mut before = shorter.peekable();
    for silence in silences {
        // A shorter silence ends a write, too.
        while let Some(shorter) = before.next_if(|it| it.end_ns <= silence.start_ns) {
            from_ns = shorter.end_ns.max(from_ns);
        }
        let block = sent.partition_point(|it| it.time_ns < from_ns)
            ..sent.partition_point(|it| it.time_ns <= silence.start_ns);
        let block = sent.get(block).unwrap_or_default();
        let bytes: u64 = block.iter().map(|it| u64::from(it.len)).sum();
        let is_news = silence.ns() >= LONG_SILENCE_NS
            && bytes <= INITIAL_SEGMENTS * facts.full
            && ends_write(facts, silence);
        let is_message = block.iter().all(is_message);
        messages += usize::from(is_message);
        news += usize::from(is_news || is_message);
        from_ns = silence.end_ns;
    }
    messages * 2 >= silences.len() || news * 5 >= silences.len() * 4
}

/// Share of the time in long silences of the sender, if there are several.
pub(super) fn stopped_share(facts: &FlowFacts<'_>) -> f64 {
    let silences = silences(facts);
    let stops = long_silences(&silences.iter().collect::<Vec<_>>());
    if stops.len() < 2 {
        return 0.0;
    }
    facts.share_of(stops.iter().map(|span| span.ns()).sum())
}

fn long_silences<'a>(spans: &[&'a Span]) -> Vec<&'a Span> {
    let long = spans.iter().copied();
    long.filter(|span| span.ns() >= LONG_SILENCE_NS).collect()
}

/// Times in which the sender could send, and sent nothing: with nothing in flight, as far as that shows. Behind a small segment,
/// Nagle's algorithm may hold back the next one (RFC 9293 section 3.7.4).
pub(super) fn silences(facts: &FlowFacts<'_>) -> Vec<Span> {
    let view = &facts.model.view;
    let knows_flight = !facts.model.is_near_receiver();
    let spans = facts.model.spans.iter();
    let idle = spans.filter(|span| span.limit == Limit::SenderIdle);
    let mut acks = view.acks.iter().peekable();
    let (mut sent, mut highest) = (0, 0);
    let mut acked = (0, 0);
    let mut silences: Vec<Span> = Vec::new();
    for span in idle {
        let mut start_ns = span.start_ns;
        while start_ns < span.end_ns {
            while let Some(it) = view.sent.get(sent).filter(|it| it.time_ns <= start_ns) {
                highest = highest.max(it.end);
                sent += 1;
            }
            let next_ns = view.sent.get(sent).map_or(span.end_ns, |it| it.time_ns);
            let end_ns = next_ns.min(span.end_ns);
            while acked.0 < highest
                && let Some(ack) = acks.next_if(|ack| ack.time_ns <= end_ns)
            {
                acked = if ack.ack > acked.0 {
                    (ack.ack, ack.time_ns)
                } else {
                    acked
                };
            }
            let from_ns = match knows_flight {
                true if acked.0 < highest => end_ns,
                true => start_ns.max(acked.1),
                false => start_ns,
            };
            if from_ns < end_ns {
                silences.push(Span {
                    start_ns: from_ns,
                    end_ns,
                    ..*span
                });
            }
            start_ns = end_ns;
        }
    }
    silences
}

/// True if the last segment before `span` is the end of a write that does not fill it.
pub(super) fn ends_write(facts: &FlowFacts<'_>, span: &Span) -> bool {
    let sent = &facts.model.view.sent;
    let before = sent.partition_point(|it| it.time_ns <= span.start_ns);
    let last = before.checked_sub(1).map(|at| sent[at]);
    last.is_some_and(|it| it.is_pushed && u64::from(it.len) < facts.full)
}

/// True if the packet behind `span` is the one that its sender numbered after that before it: nothing was lost that a timer had to
/// repeat.
fn is_unbroken(facts: &FlowFacts<'_>, span: &Span) -> bool {
    let sent = &facts.model.view.sent;
    let next = sent.partition_point(|it| it.time_ns <= span.start_ns);
    let pair = next.checked_sub(1).map(|at| sent[at]).zip(sent.get(next));
    pair.is_some_and(|(last, next)| {
        last.identification != 0 && next.identification.wrapping_sub(last.identification) == 1
    })
}

/// True if the capture shows when acknowledgments reach the sender, or else that its program had written all it had: most
/// of `silences` follow the end of a write that does not fill a segment.
fn shows_idling(facts: &FlowFacts<'_>, silences: &[&Span]) -> bool {
    let model = &facts.model;
    // The handshake's round trip is that of an empty path: behind a queue, acknowledgments reach the sender later.
    let sees_sender = if model.is_near_receiver() {
        model.to_sender.count() >= MIN_ROUND_TRIPS
            || model.to_sender.base_ns().is_some() && model.train.is_some()
    } else {
        model.to_sender.base_ns().is_some() || model.release_ns.is_some()
    };
    let is_after_write = |span: &&&Span| ends_write(facts, span);
    // No congestion control holds back new data for so long, after losses or not, where all was acknowledged.
    let least_ns = silences.iter().map(|span| span.ns()).min().unwrap_or(0);
    let is_unbroken = || silences.iter().all(|span| is_unbroken(facts, span));
    if least_ns >= LONG_SILENCE_NS && (sees_sender || is_unbroken()) {
        return true;
    }
    // After losses, congestion control may hold data back, too.
    let stats = facts.stats();
    let lost = stats
        .retransmitted_segments
        .saturating_sub(stats.spurious_retransmissions);
    let is_reduced = lost * LOSSES_DIVISOR >= stats.segments;
    sees_sender && !is_reduced
        || silences.iter().filter(is_after_write).count() * 5 >= silences.len() * 4
}

//! A link on the way, or the receiver, that takes one segment after the other and is never idle.

use super::facts::FlowFacts;
use super::sender::MIN_SEGMENTS;
use linerate_capture::model::{Acknowledgment, Transmission, percentile};
use std::collections::VecDeque;

/// Round trips that are longer by this factor than that of the handshake wait in a queue, or for the receiver.
const MIN_DELAY: u64 = 2;
/// A receiver acknowledges two segments at once, or a few more; with more, the pace is that of its acknowledgments.
const MOST_AT_ONCE: u64 = 4;
/// So many segments pass the link in one round trip.
const MIN_SERVED: u64 = 3;
/// Two suffice, within 1/16, if each is acknowledged alone: whatever delays the acknowledgment of one would take both.
const SERVED_ALONE: f64 = 2.0 * 15.0 / 16.0;
/// Segments that leave together are closer by this factor than they are acknowledged.
pub(super) const CLOSE_DIVISOR: u64 = 4;
/// Acknowledgments come at one rate for this share of the time at least.
const MIN_CONTINUOUS: f64 = 0.9;
/// So many segments that arrive behind a missing one show that as many are in flight: no round trip, window or timer spaces them.
const MIN_BEHIND: usize = 8;

/// True if segments that leave together are acknowledged at one rate, continuously: a link on the way, or the receiver, takes one
/// after the other, and is never idle.
pub(super) fn spaces_bursts(facts: &FlowFacts<'_>) -> bool {
    let Some(service) = continuous_service(facts) else {
        return false;
    };
    let sent = &facts.model.view.sent;
    let pairs = sent.windows(2).filter(|pair| pair[1].len > 0);
    let is_close =
        |pair: &&[Transmission]| pair[1].time_ns - pair[0].time_ns < service.ns / CLOSE_DIVISOR;
    pairs.filter(is_close).count() * 3 >= sent.len()
}

/// Time that a link, or the receiver, takes for a full segment, if it is never idle: acknowledgments come at one rate while more is in
/// flight, much later than on an empty path, as far as that is known. A window or a buffer that is always full leaves the path idle instead.
pub(super) fn service_ns(facts: &FlowFacts<'_>) -> Option<u64> {
    let usual_ns = facts.model.to_receiver.percentile(50)?;
    let service = continuous_service(facts)?;
    // Without the round trip of an empty path, a few acknowledgments in each round trip may be even by chance.
    let is_late = match facts.connection().handshake().rtt_ns() {
        Some(base_ns) => usual_ns / MIN_DELAY >= base_ns,
        None if service.step_bytes <= facts.full => {
            usual_ns as f64 >= SERVED_ALONE * service.ns as f64
        }
        None => usual_ns / MIN_SERVED >= service.ns,
    };
    is_late.then_some(service.ns)
}

/// A link, or the receiver, that takes one segment after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Service {
    /// Time for a full segment.
    ns: u64,
    /// Octets that an acknowledgment adds (median).
    step_bytes: u64,
}

/// Time from one acknowledgment of a full segment to the next one, if it is the same nearly all the time, and more is in flight
/// then. `None` near the receiver, where nothing seems to be.
fn continuous_service(facts: &FlowFacts<'_>) -> Option<Service> {
    let view = &facts.model.view;
    let mut sent = view.sent.iter().peekable();
    let (mut acked, mut last_ns, mut highest) = (0, None, 0);
    // Of a full segment, with the whole gap.
    let mut gaps: Vec<(u64, u64)> = Vec::new();
    let (mut emptied, mut steps) = (0, Vec::new());
    let mut repeated = VecDeque::new();
    for ack in view.acks.iter().filter(|it| it.is_bare) {
        while let Some(it) = sent.next_if(|it| it.number < ack.number) {
            highest = highest.max(it.end);
            if it.is_retransmission() {
                repeated.push_back(it);
            }
        }
        // A segment that arrives again takes its time, too, and is acknowledged with the same number.
        let octets = if ack.ack > acked {
            ack.ack - acked
        } else if let Some(it) = repeated.pop_front_if(|it| it.end <= acked) {
            u64::from(it.len)
        } else {
            continue;
        };
        let gap_ns = last_ns.map(|ns| ack.time_ns - ns);
        gaps.extend(gap_ns.map(|ns: u64| (ns.saturating_mul(facts.full) / octets.max(1), ns)));
        steps.push(octets);
        emptied += usize::from(highest > 0 && ack.ack >= highest);
        (acked, last_ns) = (acked.max(ack.ack), Some(ack.time_ns));
    }
    let usual_ns = percentile(gaps.iter().map(|(each_ns, _)| *each_ns).collect(), 50);
    let usual_ns = usual_ns.filter(|ns| *ns > 0)?;
    // Pauses are few, and take long.
    let is_usual = |(each_ns, _): &&(u64, u64)| each_ns.abs_diff(usual_ns) <= usual_ns / 8;
    let usual: u64 = gaps.iter().filter(is_usual).map(|(_, ns)| ns).sum();
    let all: u64 = gaps.iter().map(|(_, ns)| ns).sum();
    // What is acknowledged rarely may come together.
    let step_bytes = percentile(steps, 50)?;
    let is_continuous = step_bytes <= MOST_AT_ONCE * facts.full
        && gaps.len() >= MIN_SEGMENTS
        && usual as f64 >= MIN_CONTINUOUS * all as f64
        && emptied * 10 <= gaps.len();
    (is_continuous && !facts.model.is_near_receiver()).then_some(Service {
        ns: usual_ns,
        step_bytes,
    })
}

/// Time that a link takes for a full segment, if it is never idle although segments are lost: what arrives, behind missing segments,
/// too, comes at one rate nearly all the time. A queue that holds more than the path keeps its link busy while the sender repairs.
pub(super) fn ns_despite_losses(facts: &FlowFacts<'_>) -> Option<u64> {
    let passed = if facts.model.is_near_receiver() {
        let sent = facts.model.view.sent.iter().filter(|it| it.len > 0);
        sent.map(|it| (it.time_ns, u64::from(it.len))).collect()
    } else {
        reported(facts)
    };
    let gaps = passed.windows(2).map(|pair| {
        let ns = pair[1].0.saturating_sub(pair[0].0);
        (ns.saturating_mul(facts.full) / pair[1].1.max(1), ns)
    });
    let gaps: Vec<(u64, u64)> = gaps.collect();
    let usual_ns = percentile(gaps.iter().map(|(each_ns, _)| *each_ns).collect(), 50);
    let usual_ns = usual_ns.filter(|ns| *ns > 0)?;
    let is_usual = |(each_ns, _): &&(u64, u64)| each_ns.abs_diff(usual_ns) <= usual_ns / 4;
    let usual: u64 = gaps.iter().filter(is_usual).map(|(_, ns)| ns).sum();
    let all: u64 = gaps.iter().map(|(_, ns)| ns).sum();
    let is_continuous = passed.len() >= MIN_SEGMENTS
        && usual as f64 >= MIN_CONTINUOUS * all as f64
        && longest_behind(facts, usual_ns) >= MIN_BEHIND;
    is_continuous.then_some(usual_ns)
}

/// Times and octets of what the receiver reports to have arrived: in order, or one segment by each duplicate acknowledgment.
fn reported(facts: &FlowFacts<'_>) -> Vec<(u64, u64)> {
    let (mut acked, mut behind) = (None, 0);
    let mut passed = Vec::new();
    for ack in facts.model.view.acks.iter().filter(|it| it.is_bare) {
        let before = acked.unwrap_or(ack.ack);
        let octets = if ack.ack > before {
            // What arrived behind the gap was reported before.
            let octets = (ack.ack - before).saturating_sub(behind);
            let octets = octets.max(facts.full.min(ack.ack - before));
            behind = behind.saturating_sub(ack.ack - before - octets);
            octets
        } else {
            behind += facts.full;
            facts.full
        };
        passed.push((ack.time_ns, octets));
        acked = Some(before.max(ack.ack));
    }
    passed
}

/// The most duplicate acknowledgments in a row, not counting those that come in less than half of this time.
fn longest_behind(facts: &FlowFacts<'_>, usual_ns: u64) -> usize {
    let acks = &facts.model.view.acks;
    let runs = acks.chunk_by(|one, other| one.ack == other.ack);
    let spaced = runs.map(|run| {
        let pairs = run.windows(2);
        let is_spaced =
            |pair: &&[Acknowledgment]| pair[1].time_ns - pair[0].time_ns >= usual_ns / 2;
        pairs.filter(is_spaced).count()
    });
    spaced.max().unwrap_or(0)
}

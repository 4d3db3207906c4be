//! Whether as much passes in each part of a transfer.
//!
//! A window that losses shrink and round trips let grow again makes the rate vary (by half for Reno, RFC 5681 section 3.1),
//! unless a queue holds what it exceeds the path by. Where the rate does not vary although segments are lost, the path or a
//! policer sets it, and not the window.

use super::facts::FlowFacts;
use super::repeats::episodes;
use linerate_capture::model::{Transmission, percentile};
use linerate_results::stats;
use std::collections::HashMap;

/// Parts of the transfer that are compared at least, less the first and the last one.
const LEAST_PARTS: usize = 20;
/// With fewer segments in a part, one more or less matters.
const MIN_SEGMENTS: usize = 10;
/// Fewer losses shrink no window for long.
const MIN_LOST: u64 = 3;
/// The path stays full if the rate varies by less than this: common congestion control reduces its window to 0.5 to 0.8.
const FULL: f64 = 0.9;
/// So many losses by chance in each part make parts differ by more than a fifth: half a window (RFC 5681 section 3.1) divided
/// by the square root of this, twice in both directions.
const LOSSES_OF_PART: u64 = 8;
/// From this loss rate on, the window has room for fewer than six segments (the square root of 3 / (2 * rate), Mathis et al.
/// 1997), and chance makes it vary by one or two of them.
const MIN_HEAVY_RATE: f64 = 0.05;
/// A link that grants slots has some of a few; a program's pauses are longer than so many usual distances.
const MAX_PAUSE: u64 = 4;
/// A policer lets as much pass all the time, but for the contents of its bucket.
const POLICED: f64 = 0.8;

/// Octets in the second-poorest and the second-richest of `parts` of the time. `None` if too few passed.
fn extremes(facts: &FlowFacts<'_>, parts: usize) -> Option<(u64, u64)> {
    let parts = parts.max(LEAST_PARTS);
    let sent = facts.model.view.sent.iter().filter(|it| it.len > 0);
    // What was lost did not pass: of what comes again, the last copy.
    let mut last: HashMap<u64, u32> = HashMap::new();
    for it in sent.clone().filter(|it| it.is_retransmission()) {
        last.insert(it.start, it.number);
    }
    let has_passed = |it: &&Transmission| last.get(&it.start).is_none_or(|at| *at == it.number);
    let sent: Vec<&Transmission> = sent.filter(has_passed).collect();
    let (first_ns, last_ns) = (sent.first()?.time_ns, sent.last()?.time_ns);
    if sent.len() < parts * MIN_SEGMENTS || last_ns <= first_ns {
        return None;
    }
    let mut bytes = vec![0_u64; parts];
    for it in &sent {
        let at = (it.time_ns - first_ns) as f64 / (last_ns - first_ns) as f64 * parts as f64;
        bytes[(at as usize).min(parts - 1)] += u64::from(it.len);
    }
    let inner = &mut bytes[1..parts - 1];
    inner.sort_unstable();
    Some((inner[1], inner[inner.len() - 2]))
}

/// True if segments are lost, and as much passes all the time nevertheless: the path is full. The parts are shorter than the
/// time from one reduction of the window to the next.
pub(super) fn is_full_despite_losses(facts: &FlowFacts<'_>) -> bool {
    let parts = || 2 * episodes(facts) as usize;
    // A segment ends in this part or in the next one.
    let is_even = |(least, most): (u64, u64)| (least + facts.full) as f64 >= FULL * most as f64;
    facts.model.view.lost() >= MIN_LOST && extremes(facts, parts()).is_some_and(is_even)
}

/// The same where more is lost than by a queue of nine segments, near the receiver: segments also follow each other without the pauses of
/// a program.
pub(super) fn is_full_despite_many_losses(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let gaps = sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let gaps: Vec<u64> = gaps.collect();
    let middle_and_most = percentile(gaps.clone(), 50).zip(percentile(gaps, 95));
    let is_continuous =
        middle_and_most.is_some_and(|(middle_ns, most_ns)| most_ns <= MAX_PAUSE * middle_ns);
    let rate = stats::ratio(
        facts.model.view.lost() as f64,
        facts.stats().segments as f64,
    );
    facts.model.is_near_receiver()
        && rate < MIN_HEAVY_RATE
        && is_continuous
        && is_full_despite_losses(facts)
}

/// True if many segments are lost, and as much passes all the time: what exceeds a rate is dropped.
pub(super) fn is_even_despite_many_losses(facts: &FlowFacts<'_>) -> bool {
    let lost = facts.model.view.lost();
    let rate = stats::ratio(lost as f64, facts.stats().segments as f64);
    let parts = (lost / LOSSES_OF_PART) as usize;
    let is_even = |(least, most)| stats::ratio(least as f64, most as f64) >= POLICED;
    rate >= MIN_HEAVY_RATE && extremes(facts, parts).is_some_and(is_even)
}

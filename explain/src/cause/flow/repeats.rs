//! When segments come again.

use super::facts::FlowFacts;

/// Half of the usual least retransmission timeout: what is repeated sooner belongs to the same recovery.
const EPISODE_NS: u64 = 100_000_000;
/// Parts of the time in which losses are looked for.
const TIME_PARTS: usize = 8;

/// Groups of retransmissions with longer pauses between them than most recoveries take.
pub(super) fn episodes(facts: &FlowFacts<'_>) -> u64 {
    let sent = facts.model.view.sent.iter();
    let times: Vec<u64> = sent
        .filter(|it| it.is_retransmission())
        .map(|it| it.time_ns)
        .collect();
    let pauses = times
        .windows(2)
        .filter(|pair| pair[1] - pair[0] >= EPISODE_NS);
    pauses.count() as u64 + u64::from(!times.is_empty())
}

/// True if segments are repeated in at least half of the parts of the time.
pub(super) fn is_spread(facts: &FlowFacts<'_>) -> bool {
    let sent = facts.model.view.sent.iter();
    let mut parts = [false; TIME_PARTS];
    for it in sent.filter(|it| it.is_retransmission()) {
        let at = it.time_ns as f64 / facts.model.span_ns.max(1) as f64 * TIME_PARTS as f64;
        parts[(at as usize).min(TIME_PARTS - 1)] = true;
    }
    parts.into_iter().filter(|is_lossy| *is_lossy).count() * 2 >= TIME_PARTS
}

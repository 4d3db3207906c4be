//! Idle round trips that are spread over a period: the device sleeps, and its network interrupt does not wake it.

use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, Latency};
use linerate_results::stats;

/// Fewer round trips show no distribution.
const MIN_COUNT: u64 = 10;
/// A smaller spread may have many causes.
const MIN_SPREAD_NS: u64 = 1_000_000;
/// The longest round trip is at least this multiple of the shortest.
const MIN_FACTOR: f64 = 5.0;
/// The median is this far into the spread: a few late answers are no period.
const MIDDLE: std::ops::RangeInclusive<f64> = 0.2..=0.8;

/// Finds idle round trips that are spread over a period.
pub(super) fn evaluate(all: &[&Latency]) -> Option<ScoredFinding> {
    let idle = all.iter().filter(|it| it.params.load.is_none());
    let spread = idle.filter_map(|it| finding(it));
    spread.max_by(|one, other| one.weight.total_cmp(&other.weight))
}

fn finding(idle: &Latency) -> Option<ScoredFinding> {
    let rtt = idle.metrics.rtt.as_ref()?;
    let spread_ns = rtt.max_ns - rtt.min_ns;
    let floor = idle.limits.noise_floor.as_ref().map_or(0, |it| it.max_ns);
    let factor = stats::ratio(rtt.max_ns as f64, rtt.min_ns as f64);
    let middle = stats::ratio((rtt.p50_ns - rtt.min_ns) as f64, spread_ns as f64);
    let is_spread = spread_ns >= MIN_SPREAD_NS.max(2 * floor) && factor >= MIN_FACTOR;
    if rtt.count < MIN_COUNT || !is_spread || !MIDDLE.contains(&middle) {
        return None;
    }
    Some(ScoredFinding {
        weight: 1.0 - 1.0 / factor,
        finding: Finding {
            cause: Cause::WakeUpLatency,
            confidence: 0.7,
            summary: format!(
                "Without load, round trips take {} to {}, spread over {}: the device sleeps when idle, and answers when \
                 a timer wakes it.",
                format::time(rtt.min_ns),
                format::time(rtt.max_ns),
                format::time(spread_ns),
            ),
            evidence: evidence([
                ("idle_rtt_ns_min", rtt.min_ns as f64),
                ("idle_rtt_ns_p50", rtt.p50_ns as f64),
                ("idle_rtt_ns_max", rtt.max_ns as f64),
            ]),
            advice: "Switch the sleep state off for a test (on an i.MX 6: enable_wait_mode=off, or a cpuidle state's \
                     `disable`), or let the network interrupt end it."
                .into(),
        },
    })
}

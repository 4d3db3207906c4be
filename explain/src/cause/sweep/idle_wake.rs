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

#[cfg(test)]
mod tests {
    use super::evaluate;
    use linerate_results::record::{
        Cause, Distribution, Latency, LatencyLimits, LatencyMetrics, LatencyParams, Ledger, Load,
    };

    /// Round trips: least, median and greatest in us.
    fn round_trips(count: u64, [min, p50, max]: [u64; 3]) -> Latency {
        Latency {
            params: LatencyParams::default(),
            metrics: LatencyMetrics {
                rtt: Some(Distribution {
                    count,
                    min_ns: 1_000 * min,
                    p50_ns: 1_000 * p50,
                    max_ns: 1_000 * max,
                    ..Distribution::default()
                }),
                ..LatencyMetrics::default()
            },
            limits: LatencyLimits::default(),
            ledger: Ledger::default(),
        }
    }

    fn is_found(latency: &Latency) -> bool {
        evaluate(&[latency]).is_some()
    }

    #[test]
    fn round_trips_spread_over_a_tick_are_a_sleep_that_a_timer_ends() {
        let fast = round_trips(40, [120, 125, 250]);
        let slow = round_trips(40, [270, 5_470, 10_180]);
        let found = evaluate(&[&fast, &slow]).expect("a finding");
        assert_eq!(found.finding.cause, Cause::WakeUpLatency);
        assert!(
            found
                .finding
                .summary
                .contains("take 270 µs to 10.18 ms, spread over 9.91 ms"),
            "{}",
            found.finding.summary
        );
        assert!((found.weight - (1.0 - 270.0 / 10_180.0)).abs() < 1e-9);
    }

    #[test]
    fn a_few_late_answers_are_no_period() {
        assert!(!is_found(&round_trips(40, [270, 290, 10_180])));
        assert!(!is_found(&round_trips(40, [270, 9_900, 10_180])));
    }

    #[test]
    fn a_small_or_relative_spread_and_few_round_trips_give_nothing() {
        assert!(!is_found(&round_trips(40, [100, 550, 1_050])));
        assert!(!is_found(&round_trips(40, [5_000, 10_000, 20_000])));
        assert!(!is_found(&round_trips(9, [270, 5_470, 10_180])));
    }

    #[test]
    fn round_trips_under_load_and_below_this_machines_noise_do_not_count() {
        let mut latency = round_trips(40, [270, 5_470, 10_180]);
        latency.params.load = Some(Load::default());
        assert!(!is_found(&latency));
        let mut latency = round_trips(40, [270, 5_470, 10_180]);
        latency.limits.noise_floor = Some(Distribution {
            max_ns: 6_000_000,
            ..Distribution::default()
        });
        assert!(!is_found(&latency));
    }
}

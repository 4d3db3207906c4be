//! Delays of packets by the clock of the host that stamped them (RFC 7323).

use super::round_trip::percentile;
use std::ops::Range;

/// Ticks of a clock between the first and the last stamp, at least.
const MIN_TICKS: u32 = 20;
/// Measured ticks for each true one. A clock of 5 ms is no slow one of 4 ms.
const MEASURED: Range<f64> = 0.85..1.2;
/// Parts of the time, whose shortest delays are compared.
const PARTS: u64 = 4;
/// Largest drift: crystals deviate by 100 ppm at most, like those of PHYs (IEEE 802.3 clause 22.2.2.1), in both hosts. A
/// larger one is a queue that grows.
const MAX_DRIFT: f64 = 200e-6;

/// Median delay of packets, with their times and stamps, beyond the shortest of all, of those whose time is counted. `None` without
/// stamps in ticks of 10 ms or less.
pub(super) fn delay_ns(stamped: &[(u64, u32)], is_counted: impl Fn(u64) -> bool) -> Option<u64> {
    let delays = stamped.iter().zip(stamp_delays_ns(stamped)?);
    let counted = delays.filter(|((time_ns, _), _)| is_counted(*time_ns));
    percentile(counted.map(|(_, delay_ns)| delay_ns).collect(), 50)
}

/// Delay of each packet of a host, with its time in nanoseconds and its stamp, beyond the shortest of them. `None` without stamps in ticks
/// of 10 ms or less.
pub fn stamp_delays_ns(stamped: &[(u64, u32)]) -> Option<Vec<u64>> {
    let (first, last) = (stamped.first()?, stamped.last()?);
    let ticks = last.1.wrapping_sub(first.1);
    let span_ns = last.0.saturating_sub(first.0);
    if stamped.iter().any(|(_, stamp)| *stamp == 0) || !(MIN_TICKS..=1 << 31).contains(&ticks) {
        return None;
    }
    let measured_ns = span_ns as f64 / f64::from(ticks);
    // Clocks tick at 1 ms, 4 ms or 10 ms; a queue that grows or drains falsifies the quotient.
    let tick_ns = [1e6, 4e6, 1e7]
        .into_iter()
        .find(|tick| MEASURED.contains(&(measured_ns / tick)))?;
    let delay = |(time_ns, stamp): &(u64, u32)| {
        let since = stamp.wrapping_sub(first.1) as i32;
        *time_ns as f64 - first.0 as f64 - f64::from(since) * tick_ns
    };
    let delays: Vec<(u64, f64)> = stamped
        .iter()
        .map(|it| (it.0.saturating_sub(first.0), delay(it)))
        .collect();
    let per_ns = drift(&delays, span_ns);
    let level = |(at_ns, delay): &(u64, f64)| delay - per_ns * *at_ns as f64;
    let least = delays.iter().map(level).min_by(f64::total_cmp)?;
    let beyond = delays.iter().map(|it| (level(it) - least) as u64);
    Some(beyond.collect())
}

/// Drift between the two clocks, in nanoseconds per nanosecond: the median of the slopes between the shortest delays of
/// successive parts. A queue that builds up once changes one of the slopes only.
fn drift(delays: &[(u64, f64)], span_ns: u64) -> f64 {
    let part_ns = span_ns / PARTS + 1;
    let least = |part: u64| {
        let of_part = delays.iter().filter(|(at_ns, _)| at_ns / part_ns == part);
        of_part.min_by(|a, b| a.1.total_cmp(&b.1)).copied()
    };
    let minima: Vec<(u64, f64)> = (0..PARTS).filter_map(least).collect();
    let pairs = minima.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    let slope = |pair: &[(u64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0) as f64;
    let mut slopes: Vec<f64> = pairs.map(slope).collect();
    slopes.sort_unstable_by(f64::total_cmp);
    let median = slopes.get(slopes.len().saturating_sub(1) / 2);
    median.map_or(0.0, |slope| slope.clamp(-MAX_DRIFT, MAX_DRIFT))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Packets each 10 ms over 100 s, stamped in milliseconds of a clock that is fast by `drift`, and delayed.
    fn stamped(drift: f64, delay_ns: impl Fn(u64) -> u64) -> Vec<(u64, u32)> {
        (0..10_000)
            .map(|number| {
                let sent_ns = number * 10 * MS;
                let stamp = (sent_ns as f64 * (1.0 + drift) / MS as f64) as u32 + 1;
                (sent_ns + delay_ns(number), stamp)
            })
            .collect()
    }

    #[test]
    fn a_fast_clock_is_no_queue() {
        for drift in [100e-6, -100e-6] {
            let delay_ns = delay_ns(&stamped(drift, |_| 5 * MS), |_| true).expect("stamps");
            assert!(delay_ns <= 3 * MS / 2, "{delay_ns}");
        }
    }

    #[test]
    fn a_queue_is_measured_beside_a_fast_clock() {
        // It builds up in the first second, and stays.
        let queued = |number: u64| 5 * MS + number.min(100) * MS * 8 / 10;
        let delay_ns = delay_ns(&stamped(100e-6, queued), |_| true).expect("stamps");
        assert!(delay_ns.abs_diff(80 * MS) <= 2 * MS, "{delay_ns}");
    }

    #[test]
    fn a_queue_that_grows_all_the_time_is_no_slower_clock() {
        // 180 ms more in 1.2 s; a clock of 5 ms would lose 300 ms.
        let grows = |per_number_ns: u64| {
            let all = stamped(0.0, |number| number * per_number_ns);
            delay_ns(&all[..120], |_| true)
        };
        let delay_ns = grows(1_750_000).expect("stamps");
        assert!(delay_ns.abs_diff(105 * MS) <= 3 * MS, "{delay_ns}");
        assert_eq!(grows(2_500_000), None);
    }

    #[test]
    fn packets_without_stamps_show_no_delay() {
        assert_eq!(delay_ns(&[(0, 0), (MS, 0)], |_| true), None);
        assert_eq!(delay_ns(&[], |_| true), None);
    }
}

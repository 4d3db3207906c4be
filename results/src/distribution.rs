//! Recording of times, and their distribution.

use crate::record::{Bucket, Distribution};
use hdrhistogram::Histogram;

/// Significant digits of percentiles, and of the histogram stored in a result.
const FINE: u8 = 3;
const COARSE: u8 = 2;
/// Longer times are recorded as this: ten minutes.
const LONGEST_NS: u64 = 600_000_000_000;

/// Records times in memory that does not grow with their number.
#[derive(Clone, Debug)]
pub struct TimeRecorder {
    fine: Histogram<u64>,
    coarse: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
}

impl Default for TimeRecorder {
    fn default() -> Self {
        // Bounds and digits are in range; nothing else can fail.
        let histogram =
            |digits| Histogram::new_with_bounds(1, LONGEST_NS, digits).expect("bounds in range");
        Self {
            fine: histogram(FINE),
            coarse: histogram(COARSE),
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl TimeRecorder {
    /// Records one time, nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.fine.saturating_record(ns);
        self.coarse.saturating_record(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Their distribution; `None` if empty.
    pub fn distribution(&self) -> Option<Distribution> {
        if self.fine.is_empty() {
            return None;
        }
        let at = |share| {
            let value = self.fine.value_at_quantile(share);
            value.clamp(self.min_ns, self.max_ns)
        };
        let bucket = |step: hdrhistogram::iterators::IterationValue<u64>| Bucket {
            up_to_ns: self.coarse.highest_equivalent(step.value_iterated_to()),
            count: step.count_since_last_iteration(),
        };
        Some(Distribution {
            count: self.fine.len(),
            min_ns: self.min_ns,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.max_ns,
            histogram: self.coarse.iter_recorded().map(bucket).collect(),
        })
    }
}

/// The distribution of a histogram of nanoseconds, without buckets; `None` if empty.
pub fn from_histogram(times: &Histogram<u64>) -> Option<Distribution> {
    (!times.is_empty()).then(|| Distribution {
        count: times.len(),
        min_ns: times.min(),
        p50_ns: times.value_at_quantile(0.5),
        p90_ns: times.value_at_quantile(0.9),
        p99_ns: times.value_at_quantile(0.99),
        p999_ns: times.value_at_quantile(0.999),
        max_ns: times.max(),
        histogram: Vec::new(),
    })
}

/// The distribution of `times_ns`; `None` if empty.
pub fn of(times_ns: impl IntoIterator<Item = u64>) -> Option<Distribution> {
    let mut times = TimeRecorder::default();
    for ns in times_ns {
        times.record(ns);
    }
    times.distribution()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_match_the_samples() {
        let distribution = of((1..=1_000).map(|at| at * 1_000)).expect("samples");
        assert_eq!((distribution.count, distribution.min_ns), (1_000, 1_000));
        assert_eq!(distribution.max_ns, 1_000_000);
        let near = |found: u64, expected: u64| found.abs_diff(expected) * 1_000 <= expected;
        assert!(near(distribution.p50_ns, 500_000), "{distribution:?}");
        assert!(near(distribution.p99_ns, 990_000), "{distribution:?}");
        assert!(near(distribution.p999_ns, 999_000), "{distribution:?}");
        let all: u64 = distribution.histogram.iter().map(|it| it.count).sum();
        assert_eq!(all, 1_000);
        assert!(distribution.histogram.len() < 600, "steps of a per cent");
    }

    #[test]
    fn one_sample_is_every_percentile_and_no_samples_are_none() {
        let one = of([12_345]).expect("a sample");
        assert_eq!(
            [one.min_ns, one.p50_ns, one.p999_ns, one.max_ns],
            [12_345; 4]
        );
        assert_eq!(of([]), None);
        assert_eq!(of([u64::MAX]).expect("a sample").max_ns, u64::MAX);
    }
}

//! Times as they come in, and how they are distributed in the end.

use crate::record::{Bucket, Distribution};
use hdrhistogram::Histogram;

/// Significant digits of percentiles, and of the histogram that is kept in a result.
const FINE: u8 = 3;
const COARSE: u8 = 2;
/// The longest time that is told from a longer one: ten minutes.
const LONGEST_NS: u64 = 600_000_000_000;

/// Times as they come in. What is kept of them does not grow with their number.
#[derive(Clone, Debug)]
pub struct Times {
    fine: Histogram<u64>,
    coarse: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        // Bounds and digits are in range, which is all that can be wrong.
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

impl Times {
    /// One more, nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.fine.saturating_record(ns);
        self.coarse.saturating_record(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How they are distributed; `None` of nothing.
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

/// The figures of a histogram of nanoseconds; `None` of nothing.
pub fn figures(times: &Histogram<u64>) -> Option<Distribution> {
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

/// How `times_ns` are distributed; `None` of nothing.
pub fn of(times_ns: impl IntoIterator<Item = u64>) -> Option<Distribution> {
    let mut times = Times::default();
    for ns in times_ns {
        times.record(ns);
    }
    times.distribution()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_samples() {
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
    fn one_sample_is_all_of_its_percentiles_and_none_is_nothing() {
        let one = of([12_345]).expect("a sample");
        assert_eq!(
            [one.min_ns, one.p50_ns, one.p999_ns, one.max_ns],
            [12_345; 4]
        );
        assert_eq!(of([]), None);
        assert_eq!(of([u64::MAX]).expect("a sample").max_ns, u64::MAX);
    }
}

//! Distributions of times: part of several results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of times. Percentiles are within a thousandth; the shortest and longest are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile; the longest if there are fewer than 1000 samples.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All samples, in steps of about one per cent; empty where only the figures matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Bucket>,
}

/// A step of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// Upper bound of the step, inclusive; the lower bound is that of the previous step, exclusive.
    pub up_to_ns: u64,
    /// Number of samples in it.
    pub count: u64,
}

impl Distribution {
    /// Packet delay variation (RFC 8219 section 7.3.1): from the shortest to the 99.9th percentile.
    pub const fn pdv_ns(&self) -> u64 {
        self.p999_ns.saturating_sub(self.min_ns)
    }

    /// The cumulative share of samples up to each step, from 0 to 1.
    pub fn cumulative(&self) -> Vec<(u64, f64)> {
        let all: u64 = self.histogram.iter().map(|it| it.count).sum();
        let mut sum = 0;
        let share = |bucket: &Bucket| {
            sum += bucket.count;
            (bucket.up_to_ns, sum as f64 / all.max(1) as f64)
        };
        self.histogram.iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_one() {
        let bucket = |up_to_ns, count| Bucket { up_to_ns, count };
        let distribution = Distribution {
            histogram: vec![bucket(10, 1), bucket(20, 3)],
            ..Distribution::default()
        };
        assert_eq!(distribution.cumulative(), [(10, 0.25), (20, 1.0)]);
        assert_eq!(Distribution::default().cumulative(), []);
    }
}

//! Gaps between packets: accuracy of a constant rate.

use hdrhistogram::Histogram;
use linerate_results::distribution;
use linerate_results::record::Distribution;
use serde::Serialize;

/// Upper bound of the histograms, nanoseconds: longer gaps count as this one.
const MAX_GAP_NS: u64 = 60_000_000_000;

/// Gaps between packets and their deviations from the ideal gap.
#[derive(Debug, Clone)]
pub struct Gaps {
    last_ns: Option<u64>,
    ideal_ns: Option<f64>,
    all: Histogram<u64>,
    deviations: Histogram<u64>,
}

/// A histogram of times up to a minute, nanoseconds, with three significant digits.
pub fn histogram() -> Histogram<u64> {
    // The only error is an argument out of range.
    Histogram::new_with_bounds(1, MAX_GAP_NS, 3).expect("bounds of a histogram")
}

/// Summary of [`Gaps`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GapSummary {
    /// Ideal gap at the requested rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_ns: Option<f64>,
    /// The gaps.
    pub gap: Distribution,
    /// Absolute deviation from the ideal gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Distribution>,
}

impl Gaps {
    /// Creates an empty record; `per_s` is the requested rate, packets/s, if any.
    pub fn new(per_s: Option<u64>) -> Self {
        Self {
            last_ns: None,
            ideal_ns: per_s.filter(|it| *it > 0).map(|it| 1e9 / it as f64),
            all: histogram(),
            deviations: histogram(),
        }
    }

    /// Records a packet at `at_ns`, on any clock.
    pub fn record(&mut self, at_ns: u64) {
        let Some(last) = self.last_ns.replace(at_ns) else {
            return;
        };
        // A clock set back counts as a gap of 0.
        let gap = at_ns.saturating_sub(last);
        self.all.saturating_record(gap);
        if let Some(ideal) = self.ideal_ns {
            let deviation = (gap as f64 - ideal).abs().round();
            self.deviations.saturating_record(deviation as u64);
        }
    }

    /// Returns the summary; `None` with fewer than two packets.
    pub fn summary(&self) -> Option<GapSummary> {
        Some(GapSummary {
            ideal_ns: self.ideal_ns,
            gap: distribution::from_histogram(&self.all)?,
            deviation: distribution::from_histogram(&self.deviations),
        })
    }

    /// Histogram of the gaps, nanoseconds.
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.all
    }

    /// Histogram of the deviations, nanoseconds; empty without a rate.
    pub const fn deviations(&self) -> &Histogram<u64> {
        &self.deviations
    }
}

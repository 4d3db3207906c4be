//! Gaps between packets: what was achieved of a constant rate.

use hdrhistogram::Histogram;
use linerate_results::distribution;
use linerate_results::record::Distribution;
use serde::Serialize;

/// The longest gap that is told from a longer one, nanoseconds.
const LONGEST_NS: u64 = 60_000_000_000;

/// Gaps from packet to packet, and how far each is from the ideal one.
#[derive(Debug, Clone)]
pub struct Gaps {
    last_ns: Option<u64>,
    ideal_ns: Option<f64>,
    all: Histogram<u64>,
    deviations: Histogram<u64>,
}

/// A histogram of times up to a minute, nanoseconds, with three significant digits.
pub fn histogram() -> Histogram<u64> {
    // The arguments are in range, which is all that can be wrong.
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds of a histogram")
}

/// What [`Gaps`] come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The gap that the rate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_ns: Option<f64>,
    /// The gaps.
    pub gap: Distribution,
    /// How far they are from the ideal one, longer or shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Distribution>,
}

impl Gaps {
    /// None yet; a rate of `per_s` packets/s is aimed at, if any is.
    pub fn new(per_s: Option<u64>) -> Self {
        Self {
            last_ns: None,
            ideal_ns: per_s.filter(|it| *it > 0).map(|it| 1e9 / it as f64),
            all: histogram(),
            deviations: histogram(),
        }
    }

    /// A packet was there at `at_ns`, on any clock.
    pub fn at(&mut self, at_ns: u64) {
        let Some(last) = self.last_ns.replace(at_ns) else {
            return;
        };
        // A clock that was set back shows as no gap at all.
        let gap = at_ns.saturating_sub(last);
        self.all.saturating_record(gap);
        if let Some(ideal) = self.ideal_ns {
            let deviation = (gap as f64 - ideal).abs().round();
            self.deviations.saturating_record(deviation as u64);
        }
    }

    /// What they come to; `None`: there were less than two packets.
    pub fn summary(&self) -> Option<Summary> {
        Some(Summary {
            ideal_ns: self.ideal_ns,
            gap: distribution::from_histogram(&self.all)?,
            deviation: distribution::from_histogram(&self.deviations),
        })
    }

    /// All of the gaps, nanoseconds.
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.all
    }

    /// All of the deviations, nanoseconds; empty without a rate.
    pub const fn deviations(&self) -> &Histogram<u64> {
        &self.deviations
    }
}

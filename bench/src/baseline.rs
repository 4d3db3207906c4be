//! Earlier results to compare a run with.

use linerate_explain::summary;
use linerate_results::compare::{Comparison, Thresholds, compare};
use linerate_results::record::Run;

/// Earlier results, and how much worse than they a figure may be.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The results.
    pub run: Run,
    /// Allowed degradation.
    pub thresholds: Thresholds,
}

impl Baseline {
    /// The differences between these results and those of `run`.
    pub fn compare(&self, run: &Run) -> Comparison {
        compare(&self.run, run, summary::figures, &self.thresholds)
    }
}

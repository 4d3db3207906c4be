//! A finding with its weight: what every rule returns.

use std::collections::BTreeMap;

use linerate_results::record::Finding;
use serde::Serialize;

/// A part of the time smaller than this is not worth a finding.
pub(crate) const WORTH_NAMING: f64 = 0.05;

/// A finding and the share of the time (0 to 1) that it explains.
pub(crate) struct Weighed {
    pub(crate) weight: f64,
    pub(crate) finding: Finding,
}

/// A finding about what one host sends another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFinding {
    /// Who sends the payload; none if it is about the whole capture.
    pub sender: Option<String>,
    /// Who receives it.
    pub receiver: Option<String>,
    /// The part of the time that it cost, 0 to 1.
    pub share_of_time: f64,
    /// What it is.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Evidence of a finding from names and values.
pub(crate) fn evidence<const N: usize>(figures: [(&str, f64); N]) -> BTreeMap<String, f64> {
    figures
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

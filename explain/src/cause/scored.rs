//! A finding with its weight: the result of every rule.

use std::collections::BTreeMap;

use linerate_results::record::{Cause, Finding};
use serde::Serialize;

/// A smaller share of the time is not worth a finding.
pub(crate) const MIN_SHARE: f64 = 0.05;

/// Confidence of a second explanation of the same time.
pub(crate) const ALTERNATIVE: f64 = 0.2;

/// A finding and the share of the time (0 to 1) that it explains.
pub(crate) struct ScoredFinding {
    pub(crate) weight: f64,
    pub(crate) finding: Finding,
}

/// A finding about the traffic from one host to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFinding {
    /// Sender of the payload; none if the finding is about several, or about the whole capture.
    pub sender: Option<String>,
    /// Receiver of the payload; none if the finding is about several, or about the whole capture.
    pub receiver: Option<String>,
    /// Share of the time that the cause explains, 0 to 1.
    pub share_of_time: f64,
    /// Cause of the finding before it that may explain the same time instead; none if this one is not an alternative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative_to: Option<Cause>,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

impl PathFinding {
    /// The hosts that the finding is about, in words; `None` if it is about the whole capture.
    pub(crate) fn between(&self) -> Option<String> {
        match (&self.sender, &self.receiver) {
            (Some(sender), Some(receiver)) => Some(format!("{sender} to {receiver}")),
            (Some(sender), None) => Some(format!("from {sender}")),
            (None, Some(receiver)) => Some(format!("to {receiver}")),
            (None, None) => None,
        }
    }

    /// First packet of the TCP connection that the finding describes; `None` if it is about something else.
    pub(crate) fn connection_packet(&self) -> Option<u64> {
        let packet = self.finding.evidence.get("connection_packet")?;
        Some(*packet as u64)
    }
}

/// Evidence of a finding from names and values.
pub(crate) fn evidence<const N: usize>(figures: [(&str, f64); N]) -> BTreeMap<String, f64> {
    figures
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

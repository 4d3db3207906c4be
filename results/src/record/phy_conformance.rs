//! The `phy_conformance` measurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, Setting};

/// Frames of one conformance case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhyConformance {
    /// Parameters of the request.
    pub params: PhyConformanceParams,
    /// Results.
    pub metrics: PhyConformanceMetrics,
    /// Fate of each frame.
    pub ledger: Ledger,
}

/// Parameters of a conformance case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhyConformanceParams {
    /// Run and conditions; the case's own impairments are among them.
    #[serde(flatten)]
    pub setting: Setting,
    /// The case.
    pub case: String,
    /// Short description.
    pub about: String,
    /// The clauses that require it.
    pub source: String,
    /// Frames at the start that may be lost while the device adapts.
    pub settling_frames: u64,
    /// Why this case may lose frames, if the scenario allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excuse: Option<String>,
}

/// Metrics of a conformance case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhyConformanceMetrics {
    /// Frames sent that the device must receive, without the settling frames.
    pub frames_sent: u64,
    /// Of these, those that the device's stack accepted.
    pub frames_received: u64,
    /// Share of these frames that the device's stack did not accept.
    #[serde(default)]
    pub frame_loss_rate: f64,
    /// Frames that were accepted but must be rejected, or that were corrupted.
    pub frames_wrong: u64,
    /// Frames sent that the device must reject.
    pub frames_to_refuse: u64,
    /// Of these, those that it rejected and counted for the right cause.
    pub frames_refused: u64,
    /// Of these, those that it rejected for another cause: cause, frames.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames_refused_otherwise: BTreeMap<String, u64>,
    /// No loss, no corruption, every rejection with the right cause.
    pub passed: bool,
}

impl PhyConformance {
    /// True if the scenario excuses what failed: lost frames, and neither a wrong one nor one that was not rejected for
    /// the right cause. The scenario bounds the loss.
    fn is_excused(&self) -> bool {
        let metrics = &self.metrics;
        self.params.excuse.is_some()
            && metrics.frames_sent > 0
            && metrics.frames_received > 0
            && metrics.frames_wrong == 0
            && metrics.frames_refused == metrics.frames_to_refuse
    }
}

impl Describe for PhyConformance {
    fn detail(&self) -> String {
        self.params.case.clone()
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "{:<26} {}: {} of {} received, {} wrong, {} of {} rejected",
            self.params.case,
            match (metrics.passed, self.is_excused()) {
                (true, _) => "passed",
                (false, true) => "failed, as expected",
                (false, false) => "FAILED",
            },
            metrics.frames_received,
            metrics.frames_sent,
            metrics.frames_wrong,
            metrics.frames_refused,
            metrics.frames_to_refuse,
        )
    }

    fn failures(&self) -> Vec<String> {
        let metrics = &self.metrics;
        if metrics.passed || self.is_excused() {
            return Vec::new();
        }
        vec![format!(
            "{} of {} frames received, {} wrong, {} of {} rejected for the right cause",
            metrics.frames_received,
            metrics.frames_sent,
            metrics.frames_wrong,
            metrics.frames_refused,
            metrics.frames_to_refuse,
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excuse_is_for_lost_frames_only() {
        let lost = PhyConformanceMetrics {
            frames_sent: 100,
            frames_received: 60,
            frames_to_refuse: 10,
            frames_refused: 10,
            ..PhyConformanceMetrics::default()
        };
        let is_met = |excuse: bool, metrics: PhyConformanceMetrics| {
            let case = PhyConformance {
                params: PhyConformanceParams {
                    excuse: excuse.then(|| "the queue fills".to_owned()),
                    ..PhyConformanceParams::default()
                },
                metrics,
                ledger: Ledger::default(),
            };
            case.failures().is_empty()
        };
        assert!(is_met(true, lost.clone()));
        assert!(!is_met(false, lost.clone()));
        let frames_wrong = 1;
        assert!(!is_met(
            true,
            PhyConformanceMetrics {
                frames_wrong,
                ..lost.clone()
            }
        ));
        let frames_refused = 9;
        assert!(!is_met(
            true,
            PhyConformanceMetrics {
                frames_refused,
                ..lost.clone()
            }
        ));
        let frames_received = 0;
        assert!(!is_met(
            true,
            PhyConformanceMetrics {
                frames_received,
                ..lost
            }
        ));
    }
}

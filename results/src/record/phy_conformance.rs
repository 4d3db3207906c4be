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
    /// Variant of the firmware.
    pub variant: String,
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
    /// Why this case may fail, if the scenario allows it.
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

impl Describe for PhyConformance {
    fn detail(&self) -> String {
        self.params.case.clone()
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "{:<26} {}: {} of {} received, {} wrong, {} of {} rejected",
            self.params.case,
            match (metrics.passed, &self.params.excuse) {
                (true, _) => "passed",
                (false, Some(_)) => "failed, as expected",
                (false, None) => "FAILED",
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
        if metrics.passed || self.params.excuse.is_some() {
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

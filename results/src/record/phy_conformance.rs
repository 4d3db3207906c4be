//! The `phy_conformance` measurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ledger, Setting, Told};

/// Frames of one conformance case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhyConformance {
    /// What was asked for.
    pub params: PhyConformanceParams,
    /// What came out.
    pub metrics: PhyConformanceMetrics,
    /// Where each frame went.
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
    /// What it tries, in a few words.
    pub about: String,
    /// The clauses that ask for it.
    pub source: String,
    /// Frames at the start that may be lost: the device has to notice something first.
    pub settling_frames: u64,
    /// Why this case may fail, if the scenario says that it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excuse: Option<String>,
}

/// Metrics of a conformance case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhyConformanceMetrics {
    /// Frames sent that the device has to receive, without those that settle it.
    pub frames_sent: u64,
    /// Of these, those that the device's stack accepted.
    pub frames_received: u64,
    /// Frames that were accepted and must not be, or whose content was not what had been sent.
    pub frames_wrong: u64,
    /// Frames sent that the device has to refuse.
    pub frames_to_refuse: u64,
    /// Of these, those that it refused and counted for the right cause.
    pub frames_refused: u64,
    /// Of these, those that it refused for another cause: cause, frames.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames_refused_otherwise: BTreeMap<String, u64>,
    /// Nothing was lost, nothing was wrong, every refusal had the right cause.
    pub passed: bool,
}

impl Told for PhyConformance {
    fn detail(&self) -> String {
        self.params.case.clone()
    }

    fn line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "{:<26} {}: {} of {} received, {} wrong, {} of {} refused",
            self.params.case,
            match (metrics.passed, &self.params.excuse) {
                (true, _) => "passed",
                (false, Some(_)) => "failed, as is known",
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
            "{} of {} frames received, {} wrong, {} of {} refused for the right cause",
            metrics.frames_received,
            metrics.frames_sent,
            metrics.frames_wrong,
            metrics.frames_refused,
            metrics.frames_to_refuse,
        )]
    }
}

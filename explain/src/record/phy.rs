//! The measurements of the physical layer: `phy_conformance` and `loss_surface`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ledger, Setting};

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

/// One point of the loss surface: full frames at one clock offset and one jitter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSurface {
    /// The point.
    pub params: LossSurfaceParams,
    /// What came out.
    pub metrics: LossSurfaceMetrics,
    /// Where each frame went.
    pub ledger: Ledger,
}

/// Parameters of a point of the loss surface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSurfaceParams {
    /// Variant of the firmware.
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// How much faster than the device's the peer's clock runs.
    pub clock_ppm: f64,
    /// How far each edge lies from its place at most, to either side, uniformly.
    pub jitter_ns: f64,
    /// Octets of each frame with FCS.
    pub frame_octets: u64,
}

/// Metrics of a point of the loss surface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSurfaceMetrics {
    /// Frames sent.
    pub frames_sent: u64,
    /// Frames that the device's stack accepted.
    pub frames_received: u64,
    /// Of these, those whose content was not what had been sent.
    pub frames_wrong: u64,
    /// (`frames_sent` - `frames_received`) / `frames_sent`.
    pub frame_loss_rate: f64,
}

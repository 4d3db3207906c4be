//! The `loss_surface` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ledger, Setting, Told};

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

impl Told for LossSurface {
    fn detail(&self) -> String {
        let params = &self.params;
        format!("{:+} ppm, {} ns", params.clock_ppm, params.jitter_ns)
    }

    fn line(&self) -> String {
        format!(
            "{}: {} of {} received, {} wrong",
            self.detail(),
            self.metrics.frames_received,
            self.metrics.frames_sent,
            self.metrics.frames_wrong,
        )
    }
}

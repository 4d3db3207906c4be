//! The `loss_surface` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, Setting};

/// One point of the loss surface: full frames at one clock offset and one jitter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSurface {
    /// The point.
    pub params: LossSurfaceParams,
    /// Results.
    pub metrics: LossSurfaceMetrics,
    /// Fate of each frame.
    pub ledger: Ledger,
}

/// Parameters of a point of the loss surface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossSurfaceParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Offset of the peer's clock from the device's; positive if faster.
    pub clock_ppm: f64,
    /// Maximum deviation of each edge from its nominal position, uniform to either side.
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
    /// Of these, corrupted ones.
    pub frames_wrong: u64,
    /// (`frames_sent` - `frames_received`) / `frames_sent`.
    pub frame_loss_rate: f64,
}

impl Describe for LossSurface {
    fn detail(&self) -> String {
        let params = &self.params;
        format!("{:+} ppm, {} ns", params.clock_ppm, params.jitter_ns)
    }

    fn one_line(&self) -> String {
        format!(
            "{}: {} of {} received, {} corrupted",
            self.detail(),
            self.metrics.frames_received,
            self.metrics.frames_sent,
            self.metrics.frames_wrong,
        )
    }
}

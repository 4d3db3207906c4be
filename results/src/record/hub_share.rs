//! The `hub_share` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, ReportRow, Setting};
use crate::format;

/// A device that always has something to send, on a hub with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubShare {
    /// Parameters of the request.
    pub params: HubShareParams,
    /// Results.
    pub metrics: HubShareMetrics,
    /// Fate of each frame toward the device.
    pub ledger: Ledger,
}

/// Parameters of a hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubShareParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Duration of the measurement.
    pub measured_ms: u64,
    /// Stations that send: the device and the others.
    pub stations: u64,
    /// Their total offered load, as a share of the line rate.
    pub offered_load: f64,
    /// Octets of each frame with FCS.
    pub frame_octets: u64,
}

/// Metrics of a hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubShareMetrics {
    /// Each station's share of the delivered octets, the device first.
    pub shares: Vec<f64>,
    /// The device's.
    pub device_share: f64,
    /// 1 / stations.
    pub fair_share: f64,
    /// `device_share` / `fair_share` - 1.
    pub deviation: f64,
    /// Octets of good frames of all stations, over the capacity of the line in that time.
    pub utilisation: f64,
    /// Frames of the device that were delivered.
    pub device_frames: u64,
    /// Transmissions of the device that collided.
    pub device_collisions: u64,
    /// Frames that the device gave up, counted by itself.
    pub device_frames_given_up: u64,
    /// Frames toward the device that it lost without counting a cause.
    pub uncounted_frames: i64,
}

impl Describe for HubShare {
    fn detail(&self) -> String {
        "hub share".to_owned()
    }

    fn one_line(&self) -> String {
        format!(
            "{} stations: {} of the delivered octets, fair share {}; line utilisation {}",
            self.params.stations,
            format::percent(self.metrics.device_share),
            format::percent(self.metrics.fair_share),
            format::percent(self.metrics.utilisation),
        )
    }

    fn row(&self) -> Option<ReportRow> {
        let (params, metrics) = (&self.params, &self.metrics);
        let words = format!(
            "{} stations, {} offered: the device gets {}, fair share {}; medium utilisation \
             {}; {} collisions, {} frames given up",
            params.stations,
            format::percent(params.offered_load),
            format::percent(metrics.device_share),
            format::percent(metrics.fair_share),
            format::percent(metrics.utilisation),
            format::count(metrics.device_collisions),
            format::count(metrics.device_frames_given_up),
        );
        Some(ReportRow::new("hub", words, metrics.uncounted_frames == 0))
    }
}

//! The `storm` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, ReportRow, Setting};
use crate::format;

/// A storm of frames, and the device's behaviour during and after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storm {
    /// Parameters of the request.
    pub params: StormParams,
    /// Results.
    pub metrics: StormMetrics,
    /// Fate of each frame of the peer, including those of the storm.
    pub ledger: Ledger,
}

/// Parameters of a storm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Duration.
    pub storm_ms: u64,
    /// Octets of each frame with FCS.
    pub frame_octets: u64,
    /// Destination of its frames: `device`, `foreign`, `broadcast` or `multicast`.
    pub destination: String,
}

/// Metrics of a storm. Times are counted from its last frame's end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormMetrics {
    /// Frames of the storm.
    pub storm_frames: u64,
    /// Of these, those that the device's stack accepted.
    pub storm_frames_received: u64,
    /// The longest time in the storm in which the stack accepted no frame at all: an upper bound
    /// for the standstill of the main thread. The storm's duration if it accepted none.
    pub longest_standstill_ms: f64,
    /// Share of the storm's time that the receive interrupt left free, seen on the debug pin.
    pub free_share: f64,
    /// Until the reply to a ping was on the wire; none without a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_after_ms: Option<f64>,
    /// Until a download over a new connection, started at the storm's end, was complete; none if
    /// it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_connection_after_ms: Option<f64>,
    /// Until the device sent data on the connection that was open before; none if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_connection_after_ms: Option<f64>,
    /// True if that connection's download was completed in the end.
    pub old_connection_completed: bool,
    /// Frames of the peer that are neither accepted nor counted as lost.
    pub uncounted_frames: i64,
    /// True if wire, peer, capture and device count the same frames, and every loss that the device counts belongs
    /// to a frame in the ledger.
    pub counters_exact: bool,
}

/// Formats a time, or `never`.
fn after(ms: Option<f64>) -> String {
    ms.map_or_else(|| "never".into(), |ms| format!("after {ms:.1} ms"))
}

impl Describe for Storm {
    fn detail(&self) -> String {
        "storm".to_owned()
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "storm of {} frames: {} uncounted; then a ping {}, a connection {}, the old one {}",
            metrics.storm_frames,
            metrics.uncounted_frames,
            after(metrics.ping_after_ms),
            after(metrics.new_connection_after_ms),
            after(metrics.old_connection_after_ms),
        )
    }

    fn row(&self) -> Option<ReportRow> {
        let metrics = &self.metrics;
        let words = format!(
            "{} of {} frames of {} octets ({}): {} accepted, {} of the time free, longest \
             standstill {:.1} ms; then a ping {}, a new connection {}, the old one {}",
            format::time(self.params.storm_ms * 1_000_000),
            format::count(metrics.storm_frames),
            self.params.frame_octets,
            self.params.destination,
            format::count(metrics.storm_frames_received),
            format::percent(metrics.free_share),
            metrics.longest_standstill_ms,
            after(metrics.ping_after_ms),
            after(metrics.new_connection_after_ms),
            after(metrics.old_connection_after_ms),
        );
        Some(ReportRow::new(
            "storm",
            words,
            metrics.uncounted_frames == 0,
        ))
    }
}

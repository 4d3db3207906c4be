//! The `window_sweep` measurement: TCP with socket buffers of one size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Flow, Ledger, Setting};
use crate::format;

/// TCP with socket buffers of one size at this end, in one direction: a point of a sweep over windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSweep {
    /// Parameters of the request.
    pub params: WindowSweepParams,
    /// Results.
    pub metrics: WindowSweepMetrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// Parameters of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSweepParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Direction: never both at once.
    pub direction: Direction,
    /// Requested size of this machine's socket buffers.
    pub window_bytes: u64,
}

/// Metrics of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSweepMetrics {
    /// The count; left out without a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The minimum round trip without load, measured before; left out if the target answers no probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<u64>,
    /// Largest window that the device granted during the transfer; left out if this machine's system does not report
    /// it, or if the device sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_window_bytes: Option<u64>,
    /// Median round trip during the transfer, as this machine's TCP measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_rtt_ns: Option<u64>,
    /// Why there is no count, in a sentence; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Describe for WindowSweep {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "TCP {}, buffers of {}",
            params.direction.label(),
            format::bytes(params.window_bytes)
        )
    }

    fn one_line(&self) -> String {
        let outcome = match &self.metrics.flow {
            None => self.metrics.failure.clone(),
            Some(flow) => format::rate(flow.goodput_bytes_per_s),
        };
        format!("{:<10} {}: {outcome}", "window", self.detail())
    }
}

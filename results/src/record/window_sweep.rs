//! The `window_sweep` measurement: TCP with socket buffers of one size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Finding, Flow, Ledger, Setting, Told};
use crate::format;

/// TCP with socket buffers of one size at this end, one way: a point of a sweep over windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSweep {
    /// What was asked for.
    pub params: WindowSweepParams,
    /// What came out.
    pub metrics: WindowSweepMetrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Parameters of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSweepParams {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Which way: never both at once.
    pub direction: Direction,
    /// What was asked for as this end's socket buffers.
    pub window_bytes: u64,
}

/// Metrics of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSweepMetrics {
    /// The count; left out where nobody told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The shortest round trip without load, measured before; left out where the target has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<u64>,
    /// Why there is no count, in a sentence; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Told for WindowSweep {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "TCP {}, buffers of {}",
            params.direction.words(),
            format::bytes(params.window_bytes)
        )
    }

    fn line(&self) -> String {
        let told = match &self.metrics.flow {
            None => self.metrics.failure.clone(),
            Some(flow) => format::rate(flow.goodput_bytes_per_s),
        };
        format!("{:<10} {}: {told}", "window", self.detail())
    }
}

//! The `size_sweep` measurement: a transfer with sends of one size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Finding, Flow, Ledger, Setting, Told, Transport};
use crate::format;

/// A transfer with sends of one size, one way: a point of a sweep over sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSweep {
    /// What was asked for.
    pub params: SizeSweepParams,
    /// What came out.
    pub metrics: SizeSweepMetrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Parameters of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSweepParams {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// TCP or UDP.
    pub transport: Transport,
    /// Which way: never both at once.
    pub direction: Direction,
    /// Octets of a write, or of a datagram's payload.
    pub payload_bytes: u64,
    /// What was to be sent, payload; 0 for as fast as it goes.
    pub offered_bytes_per_s: f64,
}

/// Metrics of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSweepMetrics {
    /// The count; left out where nobody told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Why there is no count, in a sentence; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Told for SizeSweep {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "{} {}, {} a send",
            params.transport.words(),
            params.direction.words(),
            format::bytes(params.payload_bytes)
        )
    }

    fn line(&self) -> String {
        let told = match &self.metrics.flow {
            None => self.metrics.failure.clone(),
            Some(flow) => {
                let loss = flow.datagrams.map_or_else(String::new, |it| {
                    format!(", {} lost", format::percent(it.loss_ratio()))
                });
                format!("{}{loss}", format::rate(flow.goodput_bytes_per_s))
            }
        };
        format!("{:<10} {}: {told}", "size", self.detail())
    }
}

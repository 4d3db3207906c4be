//! The `size_sweep` measurement: a transfer with sends of one size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Flow, Ledger, Setting, Transport};
use crate::format;

/// A transfer with sends of one size in one direction: a point of a sweep over sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSweep {
    /// Parameters of the request.
    pub params: SizeSweepParams,
    /// Results.
    pub metrics: SizeSweepMetrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// Parameters of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSweepParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// TCP or UDP.
    pub transport: Transport,
    /// Direction: never both at once.
    pub direction: Direction,
    /// Octets of a write, or of a datagram's payload.
    pub payload_bytes: u64,
    /// Offered payload rate; 0 for unlimited.
    pub offered_bytes_per_s: f64,
}

/// Metrics of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSweepMetrics {
    /// The count; left out without a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Why there is no count, in a sentence; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Describe for SizeSweep {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "{} {}, {} per send",
            params.transport.label(),
            params.direction.label(),
            format::bytes(params.payload_bytes)
        )
    }

    fn one_line(&self) -> String {
        let outcome = match &self.metrics.flow {
            None => self.metrics.failure.clone(),
            Some(flow) => {
                let loss = flow.datagrams.map_or_else(String::new, |it| {
                    format!(", {} lost", format::percent(it.loss_ratio()))
                });
                let cut = if flow.is_cut { " (cut)" } else { "" };
                format!("{}{cut}{loss}", format::rate(flow.goodput_bytes_per_s))
            }
        };
        format!("{:<10} {}: {outcome}", "size", self.detail())
    }
}

//! The `packet_gaps` measurement: gaps between datagrams as they arrive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Flow, Ledger, Setting};
use crate::format;

/// Gaps between datagrams of one size in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketGaps {
    /// Parameters of the request.
    pub params: PacketGapsParams,
    /// Results.
    pub metrics: PacketGapsMetrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// Parameters of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketGapsParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Direction: never both at once.
    pub direction: Direction,
    /// Octets of payload of each datagram.
    pub payload_bytes: u64,
    /// Offered payload rate; 0 for unlimited.
    pub offered_bytes_per_s: f64,
    /// The times are those of a simulated wire: exact. Otherwise those at which this machine's program reads.
    #[serde(default)]
    pub is_simulated: bool,
}

impl PacketGapsParams {
    /// From one datagram to the next at an even pace; `None` without a rate.
    pub fn ideal_ns(&self) -> Option<f64> {
        let has_rate = self.offered_bytes_per_s > 0.0 && self.payload_bytes > 0;
        has_rate.then(|| self.payload_bytes as f64 * 1e9 / self.offered_bytes_per_s)
    }
}

/// Metrics of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketGapsMetrics {
    /// The count, with the gaps if the target records each arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Why there is no result, in a sentence; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Describe for PacketGaps {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "gaps of {} {}",
            format::bytes(params.payload_bytes),
            params.direction.label()
        )
    }

    fn one_line(&self) -> String {
        let gaps = self
            .metrics
            .flow
            .as_ref()
            .and_then(|flow| flow.gaps.as_ref());
        let outcome = match gaps {
            None => self.metrics.failure.clone(),
            Some(gaps) => format!(
                "median {}, 99% within {}, longest {}",
                format::time(gaps.p50_ns),
                format::time(gaps.p99_ns),
                format::time(gaps.max_ns)
            ),
        };
        format!("{:<10} {}: {outcome}", "gaps", self.detail())
    }
}

//! The `packet_gaps` measurement: the times between datagrams as they arrive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Finding, Flow, Ledger, Setting, Told};
use crate::format;

/// The times between datagrams of one size, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketGaps {
    /// What was asked for.
    pub params: PacketGapsParams,
    /// What came out.
    pub metrics: PacketGapsMetrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why they are not even.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Parameters of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketGapsParams {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Which way: never both at once.
    pub direction: Direction,
    /// Octets of payload of each datagram.
    pub payload_bytes: u64,
    /// Payload that was to be sent; 0 for as fast as it goes.
    pub offered_bytes_per_s: f64,
    /// The times are those of a simulated wire: exact. Else of this machine, as its program reads them.
    #[serde(default)]
    pub is_simulated: bool,
}

impl PacketGapsParams {
    /// From one datagram to the next at an even pace; `None` without a rate.
    pub fn ideal_ns(&self) -> Option<f64> {
        let is_some = self.offered_bytes_per_s > 0.0 && self.payload_bytes > 0;
        is_some.then(|| self.payload_bytes as f64 * 1e9 / self.offered_bytes_per_s)
    }
}

/// Metrics of datagrams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketGapsMetrics {
    /// The count, with the gaps where the target sees each datagram arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Why there is nothing, in a sentence; empty where there is something.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Told for PacketGaps {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "gaps of {} {}",
            format::bytes(params.payload_bytes),
            params.direction.words()
        )
    }

    fn line(&self) -> String {
        let gaps = self
            .metrics
            .flow
            .as_ref()
            .and_then(|flow| flow.gaps.as_ref());
        let told = match gaps {
            None => self.metrics.failure.clone(),
            Some(gaps) => format!(
                "median {}, 99% within {}, longest {}",
                format::time(gaps.p50_ns),
                format::time(gaps.p99_ns),
                format::time(gaps.max_ns)
            ),
        };
        format!("{:<10} {}: {told}", "gaps", self.detail())
    }
}

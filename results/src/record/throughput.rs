//! The `throughput` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Finding, Flow, Ledger, Observation, Setting, Transport};
use crate::format;

/// A transfer between this machine and the target, TCP or UDP, in one or both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Parameters of the request.
    pub params: ThroughputParams,
    /// Results.
    pub metrics: ThroughputMetrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Observations of this machine during the transfer.
    #[serde(default, skip_serializing_if = "Observation::is_empty")]
    pub observation: Observation,
}

/// Parameters of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// TCP or UDP.
    pub transport: Transport,
    /// Direction.
    pub direction: Direction,
    /// Connections in each direction.
    pub streams: u64,
    /// Octets of a write or of a datagram's payload; 0 for the default of the protocol.
    pub payload_bytes: u64,
    /// Offered payload rate in each direction; 0 for unlimited.
    pub offered_bytes_per_s: f64,
}

/// Metrics of a transfer. A direction that was not requested, or that the target does not report, is
/// left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputMetrics {
    /// The device receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_device: Option<Flow>,
    /// The device sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<Flow>,
}

impl ThroughputMetrics {
    fn flows(&self) -> impl Iterator<Item = (&'static str, &Flow)> {
        let to = self.to_device.as_ref().map(|flow| ("to the device", flow));
        let from = self.from_device.as_ref();
        let from = from.map(|flow| ("from the device", flow));
        to.into_iter().chain(from)
    }
}

/// One direction as text.
fn describe_flow(flow: &Flow) -> String {
    let cut = if flow.is_cut { " (cut)" } else { "" };
    let rate = format!("{}{cut}", format::rate(flow.goodput_bytes_per_s));
    let Some(datagrams) = &flow.datagrams else {
        return rate;
    };
    let duplicates = match datagrams.duplicates {
        Some(0) | None => String::new(),
        Some(duplicates) => format!(", {} duplicates", format::count(duplicates)),
    };
    let out_of_order = datagrams.out_of_order.map_or_else(String::new, |late| {
        format!(", {} out of order", format::count(late))
    });
    let host = match datagrams.lost_by_host {
        Some(0) | None => String::new(),
        Some(lost) => format!(" ({} of them by this machine)", format::count(lost)),
    };
    format!(
        "{rate}, {} of {} datagrams lost ({}){host}{out_of_order}{duplicates}{}",
        format::count(datagrams.lost),
        format::count(datagrams.sent),
        format::percent(datagrams.loss_ratio()),
        datagrams
            .jitter_ns
            .map_or_else(String::new, |jitter| format!(
                ", jitter {}",
                format::time(jitter)
            )),
    )
}

impl Throughput {
    fn label(&self) -> String {
        let flows = self.metrics.flows();
        let words: Vec<String> = flows
            .map(|(direction, flow)| format!("{direction} {}", describe_flow(flow)))
            .collect();
        words.join("; ")
    }
}

impl Describe for Throughput {
    fn detail(&self) -> String {
        let params = &self.params;
        format!("{} {}", params.transport.label(), params.direction.label())
    }

    fn one_line(&self) -> String {
        format!("{:<10} {}", self.params.transport.label(), self.label())
    }
}

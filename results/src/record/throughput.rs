//! The `throughput` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Finding, Flow, Ledger, Setting, Told, Transport};
use crate::format;

/// A transfer between bench and target, TCP or UDP, one way or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// What was asked for.
    pub params: ThroughputParams,
    /// What came out.
    pub metrics: ThroughputMetrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Parameters of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputParams {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// TCP or UDP.
    pub transport: Transport,
    /// Which way.
    pub direction: Direction,
    /// Connections in each direction.
    pub streams: u64,
    /// Octets of a write or of a datagram's payload; 0 for what the protocol has by default.
    pub payload_bytes: u64,
    /// What was to be sent in each direction; 0 for as fast as it goes.
    pub offered_bytes_per_s: f64,
}

/// Metrics of a transfer. A direction that was not asked for, or that the target can't tell of, is
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

/// One direction in words.
fn flow_words(flow: &Flow) -> String {
    let rate = format::rate(flow.goodput_bytes_per_s);
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
        "{rate}, {} of {} datagrams lost ({}){host}{out_of_order}{duplicates}, jitter {}",
        format::count(datagrams.lost),
        format::count(datagrams.sent),
        format::percent(datagrams.loss_ratio()),
        format::time(datagrams.jitter_ns),
    )
}

impl Throughput {
    fn words(&self) -> String {
        let flows = self.metrics.flows();
        let words: Vec<String> = flows
            .map(|(way, flow)| format!("{way} {}", flow_words(flow)))
            .collect();
        words.join("; ")
    }
}

impl Told for Throughput {
    fn detail(&self) -> String {
        let params = &self.params;
        format!("{} {}", params.transport.words(), params.direction.words())
    }

    fn line(&self) -> String {
        format!("{:<10} {}", self.params.transport.words(), self.words())
    }
}

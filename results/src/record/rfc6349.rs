//! The `rfc6349` measurement: the steps of RFC 6349, a framework for testing TCP throughput.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Distribution, Flow, Ledger, Setting};
use crate::format;

/// A step of RFC 6349.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc6349 {
    /// Parameters of the request.
    pub params: Rfc6349Params,
    /// Results.
    pub metrics: Rfc6349Metrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// The steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rfc6349Step {
    /// The path's largest packet (section 3.1).
    #[default]
    PathMtu,
    /// The round trip without load (section 3.2).
    BaselineRtt,
    /// The bottleneck rate (section 3.2), by TCP over several connections.
    Bottleneck,
    /// TCP with one window (section 3.3).
    Transfer,
}

/// Parameters of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc6349Params {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// The step.
    pub step: Rfc6349Step,
    /// Direction of the payload: never both at once.
    pub direction: Direction,
    /// Transfers last 30 s, as in the RFC.
    pub is_full: bool,
    /// TCP connections.
    #[serde(default)]
    pub streams: u64,
    /// For a transfer: its window in per cent of the path's bandwidth-delay product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_percent: Option<u64>,
}

/// Metrics of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc6349Metrics {
    /// The largest IP packet of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_mtu_bytes: Option<u64>,
    /// The path MTU is unknown and assumed to be that of Ethernet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_assumed: bool,
    /// For a transfer: its window, as the requested size of this machine's socket buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// Round trips: without load, or during the transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Distribution>,
    /// The payload received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Octets that were retransmitted; left out if the sender's TCP does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_bytes: Option<u64>,
    /// Why there is no result, in a sentence; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Describe for Rfc6349 {
    fn detail(&self) -> String {
        let params = &self.params;
        let direction = params.direction.label();
        match params.step {
            Rfc6349Step::PathMtu => "path MTU".to_owned(),
            Rfc6349Step::BaselineRtt => "baseline round trip".to_owned(),
            Rfc6349Step::Bottleneck => {
                format!("bottleneck {direction}, {} connections", params.streams)
            }
            Rfc6349Step::Transfer => format!(
                "TCP {direction}, window of {} ({}% of the BDP)",
                format::bytes(self.metrics.window_bytes.unwrap_or(0)),
                params.window_percent.unwrap_or(0)
            ),
        }
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        let mut parts: Vec<String> = Vec::new();
        if let Some(mtu) = metrics.path_mtu_bytes {
            let assumed = if metrics.is_assumed { ", assumed" } else { "" };
            parts.push(format!("{}{assumed}", format::bytes(mtu)));
        }
        if let Some(flow) = &metrics.flow {
            parts.push(format::rate(flow.goodput_bytes_per_s));
        }
        if let Some(rtt) = &metrics.rtt {
            parts.push(format!(
                "round trip {} minimum, {} median",
                format::time(rtt.min_ns),
                format::time(rtt.p50_ns)
            ));
        }
        if !metrics.failure.is_empty() {
            parts.push(metrics.failure.clone());
        }
        format!("{:<10} {}: {}", "RFC 6349", self.detail(), parts.join(", "))
    }

    fn failures(&self) -> Vec<String> {
        match self.metrics.failure.as_str() {
            "" => Vec::new(),
            failure => vec![format!("{}: {failure}", self.detail())],
        }
    }
}

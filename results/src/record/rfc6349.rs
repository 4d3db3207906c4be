//! The `rfc6349` measurement: the steps of RFC 6349, a framework for testing TCP throughput.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Distribution, Finding, Flow, Ledger, Setting, Told};
use crate::format;

/// A step of RFC 6349.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc6349 {
    /// What was asked for.
    pub params: Rfc6349Params,
    /// What came out.
    pub metrics: Rfc6349Metrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Which step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rfc6349Step {
    /// The path's largest packet (section 3.1).
    #[default]
    PathMtu,
    /// The round trip without load (section 3.2).
    BaselineRtt,
    /// The rate of the narrowest place (section 3.2), by TCP over several connections.
    Bottleneck,
    /// TCP with one window (section 3.3).
    Transfer,
}

/// Parameters of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc6349Params {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Which step.
    pub step: Rfc6349Step,
    /// Which way payload goes: never both at once.
    pub direction: Direction,
    /// Whether transfers last 30 s, as the RFC has it.
    pub is_full: bool,
    /// TCP connections.
    #[serde(default)]
    pub streams: u64,
    /// Of a transfer: its window in per cent of the path's bandwidth-delay product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_percent: Option<u64>,
}

/// Metrics of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rfc6349Metrics {
    /// The largest IP packet of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_mtu_bytes: Option<u64>,
    /// It is taken to be Ethernet's: nobody told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_assumed: bool,
    /// Of a transfer: its window, as this end's socket buffers were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// Round trips: without load, or during the transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Distribution>,
    /// What arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Octets that were sent again; left out where the sender's TCP does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_bytes: Option<u64>,
    /// Why there is nothing, in a sentence; empty where there is something.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Told for Rfc6349 {
    fn detail(&self) -> String {
        let params = &self.params;
        let way = params.direction.words();
        match params.step {
            Rfc6349Step::PathMtu => "path MTU".to_owned(),
            Rfc6349Step::BaselineRtt => "baseline round trip".to_owned(),
            Rfc6349Step::Bottleneck => {
                format!("bottleneck {way}, {} connections", params.streams)
            }
            Rfc6349Step::Transfer => format!(
                "TCP {way}, window of {} ({}% of the BDP)",
                format::bytes(self.metrics.window_bytes.unwrap_or(0)),
                params.window_percent.unwrap_or(0)
            ),
        }
    }

    fn line(&self) -> String {
        let metrics = &self.metrics;
        let mut told: Vec<String> = Vec::new();
        if let Some(mtu) = metrics.path_mtu_bytes {
            let assumed = if metrics.is_assumed { ", assumed" } else { "" };
            told.push(format!("{}{assumed}", format::bytes(mtu)));
        }
        if let Some(flow) = &metrics.flow {
            told.push(format::rate(flow.goodput_bytes_per_s));
        }
        if let Some(rtt) = &metrics.rtt {
            told.push(format!(
                "round trip {} at least, {} at the median",
                format::time(rtt.min_ns),
                format::time(rtt.p50_ns)
            ));
        }
        if !metrics.failure.is_empty() {
            told.push(metrics.failure.clone());
        }
        format!("{:<10} {}: {}", "RFC 6349", self.detail(), told.join(", "))
    }
}

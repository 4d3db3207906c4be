//! The `udp_sweep` measurement: one point of a load sweep.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Finding, Flow, Ledger, Setting, Told};
use crate::format;
use crate::stats;

/// Datagrams offered at one rate, one way: a point of a load sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpSweep {
    /// What was asked for.
    pub params: UdpSweepParams,
    /// What came out.
    pub metrics: UdpSweepMetrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not faster.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Parameters of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpSweepParams {
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
    /// Payload that the sender was to send.
    pub offered_bytes_per_s: f64,
    /// For how long.
    pub span_ns: u64,
}

/// Metrics of a point. Rates are payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpSweepMetrics {
    /// What its sender has sent, over the time that it was to send: less than what was offered where
    /// the sender could not send it.
    pub sent_bytes_per_s: f64,
    /// What its receiver has received, over that time, or over its own where that was longer. A receiver
    /// that was busy for a fraction of the test only is not faster for that.
    pub received_bytes_per_s: f64,
    /// The count; left out where the receiver told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Why there is no count, in a sentence; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl UdpSweepMetrics {
    /// Of datagrams that `flow` counts, asked for by `params`.
    pub fn of(params: &UdpSweepParams, flow: Flow) -> Self {
        let datagrams = flow.datagrams.unwrap_or_default();
        let rate = |datagrams: u64, span_ns: u64| {
            let octets = (datagrams * params.payload_bytes) as f64;
            stats::ratio(octets * 1e9, span_ns as f64)
        };
        // A receiver that has died knows nothing of what was sent after that; the sender's intervals do.
        let handed_over: u64 = flow.intervals.iter().map(|it| it.octets).sum();
        let handed_over = handed_over / params.payload_bytes.max(1);
        Self {
            sent_bytes_per_s: rate(datagrams.sent.max(handed_over), params.span_ns),
            received_bytes_per_s: rate(datagrams.received, params.span_ns.max(flow.span_ns)),
            flow: Some(flow),
            failure: String::new(),
        }
    }
}

impl Told for UdpSweep {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "UDP {} at {}",
            params.direction.words(),
            format::bit_rate(params.offered_bytes_per_s)
        )
    }

    fn line(&self) -> String {
        let (params, metrics) = (&self.params, &self.metrics);
        let offered = format!(
            "{:<10} {} offered {}",
            "load",
            format::bit_rate(params.offered_bytes_per_s),
            params.direction.words()
        );
        let Some(flow) = &metrics.flow else {
            return format!("{offered}: {}", metrics.failure);
        };
        let datagrams = flow.datagrams.unwrap_or_default();
        format!(
            "{offered}: {} sent, {} received, {} lost, jitter {}",
            format::bit_rate(metrics.sent_bytes_per_s),
            format::bit_rate(metrics.received_bytes_per_s),
            format::percent(datagrams.loss_ratio()),
            format::time(datagrams.jitter_ns),
        )
    }
}

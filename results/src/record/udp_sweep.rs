//! The `udp_sweep` measurement: one point of a load sweep.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, DeviceCounters, Direction, Flow, Ledger, Setting};
use crate::format;
use crate::stats;

/// Datagrams offered at one rate in one direction: a point of a load sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpSweep {
    /// Parameters of the request.
    pub params: UdpSweepParams,
    /// Results.
    pub metrics: UdpSweepMetrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// Parameters of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpSweepParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Direction: never both at once.
    pub direction: Direction,
    /// Octets of payload of each datagram.
    pub payload_bytes: u64,
    /// Offered payload rate.
    pub offered_bytes_per_s: f64,
    /// Duration.
    pub span_ns: u64,
}

/// Metrics of a point. Rates are payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpSweepMetrics {
    /// Payload sent, over the planned duration: less than offered if
    /// the sender could not keep up.
    pub sent_bytes_per_s: f64,
    /// Payload received, over that duration, or over the receiver's if that was longer. A receiver
    /// that was active for only a fraction of the test is not faster for it.
    pub received_bytes_per_s: f64,
    /// The count; left out without a report of the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Changes of the device's own counters during the point; left out if they were not read.
    #[serde(default, skip_serializing_if = "DeviceCounters::is_empty")]
    pub device_counters: DeviceCounters,
    /// Why there is no count, in a sentence; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl UdpSweepMetrics {
    /// From the datagrams that `flow` counts, requested by `params`.
    pub fn of(params: &UdpSweepParams, flow: Flow) -> Self {
        let datagrams = flow.datagrams.unwrap_or_default();
        let rate = |datagrams: u64, span_ns: u64| {
            let octets = (datagrams * params.payload_bytes) as f64;
            stats::ratio(octets * 1e9, span_ns as f64)
        };
        // A receiver that crashed does not count datagrams sent after that; the sender's intervals do.
        let handed_over: u64 = flow.intervals.iter().map(|it| it.octets).sum();
        let handed_over = handed_over / params.payload_bytes.max(1);
        Self {
            sent_bytes_per_s: rate(datagrams.sent.max(handed_over), params.span_ns),
            received_bytes_per_s: rate(datagrams.received, params.span_ns.max(flow.span_ns)),
            flow: Some(flow),
            device_counters: DeviceCounters::default(),
            failure: String::new(),
        }
    }
}

impl Describe for UdpSweep {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "UDP {} at {}",
            params.direction.label(),
            format::bit_rate(params.offered_bytes_per_s)
        )
    }

    fn one_line(&self) -> String {
        let (params, metrics) = (&self.params, &self.metrics);
        let offered = format!(
            "{:<10} {} offered {}",
            "load",
            format::bit_rate(params.offered_bytes_per_s),
            params.direction.label()
        );
        let Some(flow) = &metrics.flow else {
            return format!("{offered}: {}", metrics.failure);
        };
        let datagrams = flow.datagrams.unwrap_or_default();
        format!(
            "{offered}: {} sent, {} received, {} lost{}",
            format::bit_rate(metrics.sent_bytes_per_s),
            format::rate(metrics.received_bytes_per_s),
            format::percent(datagrams.loss_ratio()),
            datagrams
                .jitter_ns
                .map_or_else(String::new, |jitter| format!(
                    ", jitter {}",
                    format::time(jitter)
                )),
        ) + &counted(&metrics.device_counters)
    }
}

/// The losses and pause frames that the device counted, to follow a line.
fn counted(counters: &DeviceCounters) -> String {
    let named = [
        ("FIFO overruns", counters.rx_fifo_overruns),
        ("dropped", counters.rx_dropped),
        ("wrong FCS", counters.rx_fcs_errors),
        ("pause frames sent", counters.tx_pause_frames),
        ("pause frames received", counters.rx_pause_frames),
    ];
    let named: Vec<String> = named
        .into_iter()
        .filter_map(|(name, count)| Some(format!("{} {name}", format::count(count?))))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        format!("; device: {}", named.join(", "))
    }
}

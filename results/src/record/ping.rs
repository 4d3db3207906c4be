//! The `ping` measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Finding, Ledger, Setting};
use crate::format;
use crate::stats;

/// ICMP echo requests from the device to the peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ping {
    /// Parameters of the request.
    pub params: PingParams,
    /// Results.
    pub metrics: PingMetrics,
    /// Limits of the wire.
    pub limits: PingLimits,
    /// Fate of each frame.
    pub ledger: Ledger,
    /// Samples behind the metrics.
    pub samples: PingSamples,
    /// Why it is not faster.
    pub findings: Vec<Finding>,
}

/// Parameters of a ping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PingParams {
    /// Variant of the firmware.
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Requests asked for.
    pub count: u64,
    /// Octets after the ICMP echo header.
    pub payload_bytes: u64,
}

/// Metrics of a ping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PingMetrics {
    /// Round trip on the device's own clock, as its program prints it.
    pub rtt_ns: RttNs,
    /// Round trip on the virtual clock: request's first bit to reply's last bit on the wire.
    pub wire_rtt_ns: RttNs,
    /// Requests sent.
    pub sent: u64,
    /// Replies received.
    pub received: u64,
}

/// A round trip's distribution in nanoseconds. All zero when nothing came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RttNs {
    /// Shortest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile, nearest rank.
    pub p99: u64,
    /// Longest.
    pub max: u64,
}

impl RttNs {
    /// The distribution of `samples_ns`.
    pub fn of(samples_ns: &[u64]) -> Self {
        let at = |percent| stats::percentile(samples_ns, percent).unwrap_or(0);
        Self {
            min: at(0.0),
            p50: at(50.0),
            p99: at(99.0),
            max: at(100.0),
        }
    }
}

/// Limits of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingLimits {
    /// Request and reply back to back on the wire.
    pub line_rtt_ns: u64,
}

/// Samples of a ping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PingSamples {
    /// One entry per reply, on the device's clock.
    pub rtt_ns: Vec<u64>,
    /// One entry per reply, on the wire.
    pub wire_rtt_ns: Vec<u64>,
}

impl Describe for Ping {
    fn detail(&self) -> String {
        "ping".to_owned()
    }

    fn one_line(&self) -> String {
        format!(
            "ping       {} of {} answered, median {}",
            self.metrics.received,
            self.metrics.sent,
            format::time(self.metrics.rtt_ns.p50),
        )
    }
}

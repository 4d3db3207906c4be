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
    /// Round trip on the device's own clock, as its program prints it; left out if nothing came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<RttNs>,
    /// Round trip on the virtual clock: request's first bit to reply's last bit on the wire. Left out if nothing came
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_rtt_ns: Option<RttNs>,
    /// Requests sent.
    pub sent: u64,
    /// Replies received.
    pub received: u64,
}

/// A round trip's distribution in nanoseconds.
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
    /// The distribution of `samples_ns`; `None` without any.
    pub fn of(samples_ns: &[u64]) -> Option<Self> {
        let at = |percent| stats::percentile(samples_ns, percent);
        Some(Self {
            min: at(0.0)?,
            p50: at(50.0)?,
            p99: at(99.0)?,
            max: at(100.0)?,
        })
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
        let median = self.metrics.rtt_ns.map_or_else(String::new, |rtt| {
            format!(", median {}", format::time(rtt.p50))
        });
        format!(
            "ping       {} of {} answered{median}",
            self.metrics.received, self.metrics.sent
        )
    }

    fn failures(&self) -> Vec<String> {
        if self.metrics.received > 0 || self.metrics.sent == 0 {
            return Vec::new();
        }
        vec![format!(
            "none of {} was answered",
            format::counted(self.metrics.sent, "ping")
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Measurement, Run};

    fn pings() -> Ping {
        let run = Run::from_json(include_str!("../../tests/fixtures/run.json"));
        let run = run.expect("the fixture is valid");
        run.pings().next().expect("a ping").clone()
    }

    #[test]
    fn pings_without_an_answer_fail_and_have_no_round_trip() {
        let mut ping = pings();
        assert_eq!(ping.failures(), [""; 0]);
        ping.metrics.received = 0;
        ping.metrics.rtt_ns = RttNs::of(&[]);
        ping.metrics.wire_rtt_ns = RttNs::of(&[]);
        assert_eq!(ping.one_line(), "ping       0 of 10 answered");
        assert_eq!(ping.failures(), ["none of 10 pings was answered"]);
        // A comparison finds no lower round trip, but a missing one.
        let figures = crate::export::figures(&Measurement::Ping(ping));
        assert!(figures.iter().all(|figure| !figure.metric.contains("rtt")));
    }
}

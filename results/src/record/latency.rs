//! The `latency` measurement: round trips, idle or under a load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Distribution, Flow, Ledger, Setting, Transport};
use crate::format;

/// Round trips, idle or under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Parameters of the request.
    pub params: LatencyParams,
    /// Results.
    pub metrics: LatencyMetrics,
    /// Limits of the measurement.
    pub limits: LatencyLimits,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// Parameters of round trips.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Requests asked for.
    pub count: u64,
    /// Interval between requests.
    pub interval_ns: u64,
    /// Octets of payload of each.
    pub payload_bytes: u64,
    /// Concurrent load; left out if idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// The load while round trips are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// TCP or UDP.
    pub transport: Transport,
    /// Direction.
    pub direction: Direction,
    /// Offered payload rate; 0 for unlimited.
    pub offered_bytes_per_s: f64,
}

impl Load {
    /// Label for sentences.
    pub fn label(&self) -> String {
        let what = format!("{} {}", self.transport.label(), self.direction.label());
        if self.offered_bytes_per_s > 0.0 {
            format!("{what} at {}", format::bit_rate(self.offered_bytes_per_s))
        } else {
            what
        }
    }
}

/// Metrics of round trips.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMetrics {
    /// Requests sent.
    pub sent: u64,
    /// Of these, answered.
    pub answered: u64,
    /// Lost on the way to the device, if known.
    pub lost_to_device: u64,
    /// Lost on the way back, if known.
    pub lost_from_device: u64,
    /// Lost in an unknown direction.
    pub lost_either: u64,
    /// Answers received after one to a later request.
    pub out_of_order: u64,
    /// Duplicate answers.
    pub duplicates: u64,
    /// The round trips; left out if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Distribution>,
    /// Packet delay variation (RFC 8219 section 7.3.1) of the round trip: 99.9th percentile minus the minimum.
    pub pdv_ns: u64,
    /// The load received by the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_device: Option<Flow>,
    /// The load sent by the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<Flow>,
    /// Why there is no result, in a sentence; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl LatencyMetrics {
    /// Requests without an answer, of all.
    pub fn loss_ratio(&self) -> f64 {
        crate::stats::ratio(
            self.sent.saturating_sub(self.answered) as f64,
            self.sent as f64,
        )
    }
}

/// Limits of a latency measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimits {
    /// The times are those of a simulation: exact, without delay of this machine.
    #[serde(default)]
    pub is_simulated: bool,
    /// The same round trip over this machine's loopback: its own delay. Left out if
    /// not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<Distribution>,
}

impl LatencyLimits {
    /// Noise floor, in a sentence.
    pub fn sentence(&self) -> String {
        match &self.noise_floor {
            _ if self.is_simulated => {
                "Times are those of the simulation: exact, with a noise floor of 0.".to_owned()
            }
            None => "The noise floor of this machine is unknown.".to_owned(),
            Some(floor) => format!(
                "Noise floor of this machine, the same round trip over its loopback: median {}, 99th percentile \
                 {}, longest {}; times close to it are not those of the link.",
                format::time(floor.p50_ns),
                format::time(floor.p99_ns),
                format::time(floor.max_ns)
            ),
        }
    }
}

impl Latency {
    /// Label of the load.
    pub fn load_label(&self) -> String {
        self.params
            .load
            .map_or_else(|| "idle".to_owned(), |load| load.label())
    }
}

impl Describe for Latency {
    fn detail(&self) -> String {
        format!("round trips, {}", self.load_label())
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        let outcome = match &metrics.rtt {
            None => metrics.failure.clone(),
            Some(rtt) => format!(
                "median {}, 99% within {}, longest {}, {} of {} lost",
                format::time(rtt.p50_ns),
                format::time(rtt.p99_ns),
                format::time(rtt.max_ns),
                format::count(metrics.sent.saturating_sub(metrics.answered)),
                format::count(metrics.sent),
            ),
        };
        format!("{:<10} {}: {outcome}", "latency", self.load_label())
    }

    fn failures(&self) -> Vec<String> {
        match &self.metrics.rtt {
            Some(_) => Vec::new(),
            None => vec![format!("{}: {}", self.detail(), self.metrics.failure)],
        }
    }
}

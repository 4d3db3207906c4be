//! The `latency` measurement: round trips, with nothing else going on or under a load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Distribution, Finding, Flow, Ledger, Setting, Told, Transport};
use crate::format;

/// Round trips, with nothing else going on or under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// What was asked for.
    pub params: LatencyParams,
    /// What came out.
    pub metrics: LatencyMetrics,
    /// What could be measured here at all.
    pub limits: LatencyLimits,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
    /// Why it is not shorter.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Parameters of round trips.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyParams {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Requests asked for.
    pub count: u64,
    /// From one to the next.
    pub interval_ns: u64,
    /// Octets of payload of each.
    pub payload_bytes: u64,
    /// What went on at the same time; left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// What goes on while round trips are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// TCP or UDP.
    pub transport: Transport,
    /// Which way.
    pub direction: Direction,
    /// Payload that was to be sent; 0 for as fast as it goes.
    pub offered_bytes_per_s: f64,
}

impl Load {
    /// In a few words.
    pub fn words(&self) -> String {
        let what = format!("{} {}", self.transport.words(), self.direction.words());
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
    /// Lost on the way to the device, as far as it is known.
    pub lost_to_device: u64,
    /// Lost on the way back, as far as it is known.
    pub lost_from_device: u64,
    /// Lost one way or the other.
    pub lost_either: u64,
    /// Answers behind one to a later request.
    pub out_of_order: u64,
    /// Answers that came again.
    pub duplicates: u64,
    /// The round trips; left out when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Distribution>,
    /// Packet delay variation (RFC 8219 section 7.3.1) of the round trip: 99.9th percentile less the shortest.
    pub pdv_ns: u64,
    /// What of the load the device received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_device: Option<Flow>,
    /// What of the load came from the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<Flow>,
    /// Why there is nothing, in a sentence; empty where there is something.
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

/// What could be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimits {
    /// The times are those of a simulation: exact, this machine adds nothing.
    #[serde(default)]
    pub is_simulated: bool,
    /// The same round trip over this machine's loopback: what it adds by itself. Left out where it was
    /// not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<Distribution>,
}

impl LatencyLimits {
    /// In a sentence.
    pub fn words(&self) -> String {
        match &self.noise_floor {
            _ if self.is_simulated => {
                "Times are the simulation's: exact, with a noise floor of 0.".to_owned()
            }
            None => "This machine's noise floor is not known.".to_owned(),
            Some(floor) => format!(
                "Noise floor of this machine, the same round trip over its loopback: median {}, 99th percentile \
                 {}, longest {}; what is not well above is not the link's.",
                format::time(floor.p50_ns),
                format::time(floor.p99_ns),
                format::time(floor.max_ns)
            ),
        }
    }
}

impl Latency {
    /// The load in words.
    pub fn load_words(&self) -> String {
        self.params
            .load
            .map_or_else(|| "idle".to_owned(), |load| load.words())
    }
}

impl Told for Latency {
    fn detail(&self) -> String {
        format!("round trips, {}", self.load_words())
    }

    fn line(&self) -> String {
        let metrics = &self.metrics;
        let told = match &metrics.rtt {
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
        format!("{:<10} {}: {told}", "latency", self.load_words())
    }
}

//! Under which conditions a result came about.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duplex;

/// Which run of the scenario, and under which conditions: in the `params` of every result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setting {
    /// Name of the run; the variant where the scenario gives none.
    pub run: String,
    /// What the link came to, at the end of the measurement.
    pub duplex: Duplex,
    /// What the other end and the cable are like.
    pub conditions: Conditions,
}

/// What the other end and the cable are like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    /// The peer's time from a frame received to its first reaction.
    pub turnaround_ns: u64,
    /// Up to this much more, at random.
    pub turnaround_jitter_ns: u64,
    /// From one broadcast of the peer that concerns nobody to the next, milliseconds; 0 for none.
    pub background_arp_ms: u64,
    /// What is wrong with the signal, by the names of `wire` in a scenario; what is not is left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub wire: BTreeMap<String, f64>,
    /// Further stations on a hub; 0 for a cable without one.
    pub hub_stations: u64,
    /// What those offer together, as a share of the line rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_offered_load: Option<f64>,
    /// What the link partner offers in auto-negotiation; nothing when it does not negotiate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partner: Vec<String>,
}

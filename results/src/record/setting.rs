//! The conditions of a result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duplex, MatrixCell};

/// The run of the scenario and its conditions: in the `params` of every result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setting {
    /// Variant of the firmware; left out for a target.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Name of the run; the variant if the scenario gives none; left out for a target.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The cell of the scenario's matrix; left out without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<MatrixCell>,
    /// Duplex of the link at the end of the measurement.
    pub duplex: Duplex,
    /// Properties of the peer and the cable; left out if they are unknown, as those of a target.
    #[serde(skip_serializing_if = "Conditions::is_unknown")]
    pub conditions: Conditions,
    /// Notes on the figures of the result, a sentence each: why a transfer was cut, which count of the device was not
    /// used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Properties of the peer and the cable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    /// The peer's time from a received frame to its first response.
    pub turnaround_ns: u64,
    /// Random additional time, up to this.
    pub turnaround_jitter_ns: u64,
    /// Interval of background broadcasts of the peer that address no station, milliseconds; 0 for none.
    pub background_arp_ms: u64,
    /// True if the peer's TCP ignores SACK blocks, which makes loss more expensive; `None` in results of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disregards_sack_blocks: Option<bool>,
    /// Impairments of the signal, by the names of `wire` in a scenario; zeros are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub wire: BTreeMap<String, f64>,
    /// Further stations on a hub; 0 without a hub.
    pub hub_stations: u64,
    /// Their total offered load, as a share of the line rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_offered_load: Option<f64>,
    /// Abilities that the link partner advertises in auto-negotiation; empty if it does not negotiate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partner: Vec<String>,
}

impl Setting {
    /// The name of a result: that of its run, or the variant if the run has none.
    pub fn name(&self) -> &str {
        if self.run.is_empty() {
            &self.variant
        } else {
            &self.run
        }
    }
}

impl Conditions {
    /// True if none is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

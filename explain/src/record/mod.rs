//! The result format: schema 1.
//!
//! One [`Run`] is one JSON file. It is complete: every finding and the whole report can be made
//! from it again, without the device. Units are in the names. Fields are only ever added; a reader
//! ignores those that it does not know.

mod finding;
mod gap;
mod http_get;
mod ledger;
mod network;
mod phy;
mod ping;
mod profile;
mod provenance;
mod scope;
mod setting;
mod transfer;

pub use finding::{Cause, Finding};
pub use gap::{GapCause, GapPart, GapToLineRate};
pub use http_get::{
    HttpGet, HttpGetLimits, HttpGetMetrics, HttpGetParams, HttpGetSamples, Request, TimeShare,
};
pub use ledger::Ledger;
pub use network::{
    HubShare, HubShareMetrics, HubShareParams, Negotiation, NegotiationMetrics, NegotiationParams,
    Storm, StormMetrics, StormParams,
};
pub use phy::{
    LossSurface, LossSurfaceMetrics, LossSurfaceParams, PhyConformance, PhyConformanceMetrics,
    PhyConformanceParams,
};
pub use ping::{Ping, PingLimits, PingMetrics, PingParams, PingSamples, RttNs};
pub use profile::{Profile, ProfileStack};
pub use provenance::{Duplex, EntryKind, PeerModel, Provenance, TimingEntry};
pub use scope::{Burst, Edges, Mark, Pulse, ScopeTrace};
pub use setting::{Conditions, Setting};
pub use transfer::{HttpBoth, HttpBothMetrics, HttpPut, HttpPutMetrics, TransferSamples};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the format that this code writes.
pub const SCHEMA: u32 = 1;

/// Everything that one command measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "linerate results")]
pub struct Run {
    /// Version of this format.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// One line for people, from the scenario.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What was measured, with what and where.
    pub provenance: Provenance,
    /// One entry a measurement, in the scenario's order.
    pub results: Vec<Measurement>,
    /// Where the processor's cycles went, by `program-variant`, of the runs that ask for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
}

/// One measurement. The kind is in `measurement`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "measurement", rename_all = "snake_case")]
pub enum Measurement {
    /// ICMP echo requests sent by the device.
    Ping(Ping),
    /// Downloads over HTTP by the device, all of one size.
    HttpGet(HttpGet),
    /// Uploads over HTTP by the device, all of one size.
    HttpPut(HttpPut),
    /// A download and an upload at the same time.
    HttpBoth(HttpBoth),
    /// What a receiver of 10BASE-T has to cope with, one case.
    PhyConformance(PhyConformance),
    /// Loss at one clock offset and one jitter.
    LossSurface(LossSurface),
    /// A storm of frames, and what comes after.
    Storm(Storm),
    /// Shares of a medium that several stations want.
    HubShare(HubShare),
    /// What device and link partner come to.
    Negotiation(Negotiation),
}

/// The one field that every kind of measurement has, in an expression.
macro_rules! each {
    ($measurement:expr, $result:ident => $value:expr) => {
        match $measurement {
            Measurement::Ping($result) => $value,
            Measurement::HttpGet($result) => $value,
            Measurement::HttpPut($result) => $value,
            Measurement::HttpBoth($result) => $value,
            Measurement::PhyConformance($result) => $value,
            Measurement::LossSurface($result) => $value,
            Measurement::Storm($result) => $value,
            Measurement::HubShare($result) => $value,
            Measurement::Negotiation($result) => $value,
        }
    };
}

/// Why a result file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not in this format.
    #[error("line {}, column {}: {}", error.line(), error.column(), without_position(error))]
    Json {
        /// What the JSON reader says.
        error: serde_json::Error,
    },
    /// Written by a later version.
    #[error("schema {found} is not known; this linerate reads schema {SCHEMA}")]
    Schema {
        /// The version in the file.
        found: u32,
    },
}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { error }
    }
}

/// The reader's message without the position at its end, which is told before it.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

impl Run {
    /// Reads a result file.
    ///
    /// # Errors
    /// [`ReadError`] says where the text is not in the format.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let Version { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(ReadError::Schema { found: schema });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The file's text, ending in a new line.
    pub fn to_json(&self) -> String {
        // The types hold no map with keys other than strings and no non-finite float survives
        // the constructors, so serialising cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The pings, in order.
    pub fn pings(&self) -> impl Iterator<Item = &Ping> {
        self.results.iter().filter_map(|result| match result {
            Measurement::Ping(result) => Some(result),
            _ => None,
        })
    }

    /// The downloads, in order.
    pub fn http_gets(&self) -> impl Iterator<Item = &HttpGet> {
        self.results.iter().filter_map(|result| match result {
            Measurement::HttpGet(result) => Some(result),
            _ => None,
        })
    }

    /// The uploads, in order.
    pub fn http_puts(&self) -> impl Iterator<Item = &HttpPut> {
        self.results.iter().filter_map(|result| match result {
            Measurement::HttpPut(result) => Some(result),
            _ => None,
        })
    }

    /// The downloads and uploads at once, in order.
    pub fn http_boths(&self) -> impl Iterator<Item = &HttpBoth> {
        self.results.iter().filter_map(|result| match result {
            Measurement::HttpBoth(result) => Some(result),
            _ => None,
        })
    }

    /// The conformance cases, in order.
    pub fn phy_conformances(&self) -> impl Iterator<Item = &PhyConformance> {
        self.results.iter().filter_map(|result| match result {
            Measurement::PhyConformance(result) => Some(result),
            _ => None,
        })
    }

    /// The points of the loss surface, in order.
    pub fn loss_surface(&self) -> impl Iterator<Item = &LossSurface> {
        self.results.iter().filter_map(|result| match result {
            Measurement::LossSurface(result) => Some(result),
            _ => None,
        })
    }

    /// The storms, in order.
    pub fn storms(&self) -> impl Iterator<Item = &Storm> {
        self.results.iter().filter_map(|result| match result {
            Measurement::Storm(result) => Some(result),
            _ => None,
        })
    }

    /// The hubs, in order.
    pub fn hub_shares(&self) -> impl Iterator<Item = &HubShare> {
        self.results.iter().filter_map(|result| match result {
            Measurement::HubShare(result) => Some(result),
            _ => None,
        })
    }

    /// The negotiations, in order.
    pub fn negotiations(&self) -> impl Iterator<Item = &Negotiation> {
        self.results.iter().filter_map(|result| match result {
            Measurement::Negotiation(result) => Some(result),
            _ => None,
        })
    }

    /// The variants that were measured, each once, in order.
    pub fn variants(&self) -> Vec<&str> {
        let mut variants: Vec<&str> = Vec::new();
        for result in &self.results {
            if !variants.contains(&result.variant()) {
                variants.push(result.variant());
            }
        }
        variants
    }
}

impl Measurement {
    /// Its name in results and scenarios.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ping(_) => "ping",
            Self::HttpGet(_) => "http_get",
            Self::HttpPut(_) => "http_put",
            Self::HttpBoth(_) => "http_both",
            Self::PhyConformance(_) => "phy_conformance",
            Self::LossSurface(_) => "loss_surface",
            Self::Storm(_) => "storm",
            Self::HubShare(_) => "hub_share",
            Self::Negotiation(_) => "negotiation",
        }
    }

    /// The variant of the firmware.
    pub fn variant(&self) -> &str {
        each!(self, result => &result.params.variant)
    }

    /// Run and conditions.
    pub fn setting(&self) -> &Setting {
        each!(self, result => &result.params.setting)
    }

    /// Run and conditions, for whoever arranged them.
    pub fn setting_mut(&mut self) -> &mut Setting {
        each!(self, result => &mut result.params.setting)
    }

    /// Where each frame went.
    pub fn ledger(&self) -> &Ledger {
        each!(self, result => &result.ledger)
    }
}

/// The published JSON schema of [`Run`], ending in a new line.
pub fn schema_json() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Run)).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;

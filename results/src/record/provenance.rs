//! Provenance: target, tool and host of a run.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Enough to repeat the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Version of linerate.
    pub version: String,
    /// Commit that linerate was built from, `-dirty` when the tree had changes; `unknown` outside
    /// of a repository.
    pub git: String,
    /// Operating system and architecture of the bench.
    pub host: String,
    /// Processor of the bench.
    pub cpu: String,
    /// The board; left out for a target that is only known by its URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub board: String,
    /// URL of the target, if given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The timing table that the simulated board used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timing_table: String,
    /// Names of the table's entries that are guesses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guesses: Vec<String>,
    /// The table itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timing: Vec<TimingEntry>,
    /// Seed of everything random.
    pub seed: u64,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// Duplex of the link.
    pub duplex: Duplex,
    /// The model of the station at the other end; left out for a target.
    #[serde(default, skip_serializing_if = "PeerModel::is_unknown")]
    pub peer: PeerModel,
    /// SHA-256 of each firmware, by `program-variant`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub elf_sha256: BTreeMap<String, String>,
    /// SHA-256 of the scenario, with the options that change it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario_sha256: String,
    /// Hash over every wire event of each firmware's run, by `program-variant`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trace_hash: BTreeMap<String, String>,
    /// Simulated virtual time, all firmware images together; left out without simulation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub virtual_ns: u64,
    /// Files written next to the results, relative to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

/// Duplex mode of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Duplex {
    /// One at a time: CSMA/CD.
    #[default]
    Half,
    /// Both at once.
    Full,
    /// There is no link.
    None,
    /// Unknown: a target reached through a network.
    Unknown,
}

impl fmt::Display for Duplex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Half => "half",
            Self::Full => "full",
            Self::None => "none",
            Self::Unknown => "unknown",
        })
    }
}

/// The model of the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PeerModel {
    /// Time from a frame received to its answer on the wire.
    pub turnaround_ns: u64,
    /// Random additional time, up to this.
    pub turnaround_jitter_ns: u64,
    /// Its unsolicited traffic, in a few words; empty for none.
    pub background: String,
    /// Its TCP ignores SACK blocks, as if the device sent none.
    pub disregards_sack_blocks: bool,
}

impl PeerModel {
    /// True if nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// One entry of a timing table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingEntry {
    /// Name, the unit in it.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Kind of source.
    pub kind: SourceKind,
    /// Source.
    pub source: String,
    /// The published figure that was known when the value was chosen: a prediction of that
    /// figure is no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted: Option<String>,
}

/// Kind of source of a timing entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// Measured on a chip.
    Measured,
    /// Printed in a datasheet or reference manual.
    Datasheet,
    /// Assumed.
    Guess,
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Datasheet => "datasheet",
            Self::Guess => "guess",
        })
    }
}

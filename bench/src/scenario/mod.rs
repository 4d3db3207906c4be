//! An experiment as a TOML file: the board, the other end of the cable, what is measured, what must
//! come out. `docs/scenarios.md` is the reference of the format.

mod error;
pub(crate) mod expect;
#[cfg(test)]
mod fields;
mod file;
#[cfg(test)]
mod reference;

use std::sync::Arc;

pub use error::ScenarioError;
pub use expect::{Expectation, Limit};

use linerate_sim::peer::generator;
pub use linerate_sim::wire::config::{Ability, Duplex, Partner, Pulses};
use linerate_sim::wire::config::{Hub, Impairments};
use serde::Deserialize;

use crate::board::Board;
use crate::measure::Plan;

/// An experiment.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, which the results carry.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The board, as its own file describes it.
    pub board: Board,
    /// Seed of everything random.
    pub seed: u64,
    /// What the runs have in common.
    pub common: Surroundings,
    /// What is recorded beside the results.
    pub record: Record,
    /// What is measured.
    pub runs: Vec<Run>,
    /// What must come out.
    pub expect: Vec<Expectation>,
}

/// What surrounds a board: a run may replace any field of the scenario's.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// Duplex of the link.
    pub duplex: Duplex,
    /// The other end of the cable.
    pub peer: Peer,
    /// What is wrong with the signal.
    pub wire: Impairments,
    /// How the link partner negotiates.
    pub partner: Partner,
    /// Further stations.
    pub hub: Hub,
    /// What the peer sends beside what it is asked for.
    pub traffic: Option<generator::Config>,
}

impl Default for Surroundings {
    /// Half duplex, a host, nothing wrong, nobody else.
    fn default() -> Self {
        Self {
            duplex: Duplex::Half,
            peer: Peer::default(),
            wire: Impairments::default(),
            partner: Partner::default(),
            hub: Hub::default(),
            traffic: None,
        }
    }
}

/// The other end of the cable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Peer {
    /// What it is, by its name in `linerate_sim::peer::KINDS`.
    pub kind: String,
    /// From a frame received to the first reaction to it, microseconds.
    pub turnaround_us: u64,
    /// At random up to this much more, microseconds: what a busy host adds.
    pub turnaround_jitter_us: u64,
    /// Broadcasts an ARP request for a stranger this often, milliseconds; 0 for never.
    pub background_arp_ms: u64,
    /// Pays no regard to SACK blocks, as if the device had agreed to SACK and never sent any.
    pub disregard_sack_blocks: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            kind: "host".to_owned(),
            turnaround_us: 80,
            turnaround_jitter_us: 0,
            background_arp_ms: 0,
            disregard_sack_blocks: false,
        }
    }
}

/// What is recorded beside the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// A capture of every frame on the wire, one file a firmware.
    pub pcapng: bool,
    /// The pins' waveform over this long from the first frame on, milliseconds; 0 for none. A
    /// full-length frame is 24,000 edges.
    pub vcd_ms: u64,
    /// Cycles by function, one table, flame graph and file of folded stacks a firmware. The
    /// simulation is several times slower then.
    pub profile: bool,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            pcapng: true,
            vcd_ms: 50,
            profile: false,
        }
    }
}

/// One variant of the firmware in its surroundings, and what is measured there.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name; the variant's where the file gives none.
    pub name: String,
    /// The variant.
    pub variant: String,
    /// What surrounds the board.
    pub surroundings: Surroundings,
    /// What is measured, in order.
    pub plans: Vec<Arc<dyn Plan>>,
    /// Count cycles by function.
    pub profile: bool,
}

impl Scenario {
    /// Reads a scenario; `file` is what it is called in messages.
    ///
    /// # Errors
    /// [`ScenarioError`] names the file, the line and what was expected there.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        file::parse(text, file)
    }

    /// Keeps the runs called one of `names` and what is expected of them; the names that are no
    /// run's come back.
    pub fn keep(&mut self, names: &[String]) -> Vec<String> {
        let known = |name: &&String| self.runs.iter().any(|run| run.name == **name);
        let unknown = names.iter().filter(|name| !known(name)).cloned().collect();
        self.runs.retain(|run| names.contains(&run.name));
        let kept = &self.runs;
        self.expect
            .retain(|expected| kept.iter().any(|run| expected.is_about(run)));
        unknown
    }

    /// Makes everything that is counted in frames or seconds shorter or longer by `factor`, as far
    /// as a result still means something. Of a short version only what it can show is expected: the
    /// metrics of which nothing is expected any more are returned.
    pub fn scale(&mut self, factor: f64) -> Vec<String> {
        for plan in self.runs.iter_mut().flat_map(|run| &mut run.plans) {
            if let Some(scaled) = plan.scaled(factor) {
                *plan = scaled;
            }
        }
        let left_out = |expected: &Expectation| factor < 1.0 && expected.whole_version_only;
        let (out, kept) = std::mem::take(&mut self.expect)
            .into_iter()
            .partition(left_out);
        self.expect = kept;
        let out: Vec<Expectation> = out;
        let mut metrics: Vec<String> = out
            .into_iter()
            .flat_map(|expected| expected.limits)
            .map(|limit| limit.metric)
            .collect();
        metrics.dedup();
        metrics
    }
}

#[cfg(test)]
mod tests;

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

pub use linerate_sim::wire::config::{Ability, Duplex, Partner, Pulses};

use crate::board::Board;
pub use crate::machine::{Environment, Peer, Record};
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
    pub common: Environment,
    /// What is recorded beside the results.
    pub record: Record,
    /// What is measured.
    pub runs: Vec<Run>,
    /// What must come out.
    pub expect: Vec<Expectation>,
}

/// One variant of the firmware in its surroundings, and what is measured there.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name; the variant's where the file gives none.
    pub name: String,
    /// The variant.
    pub variant: String,
    /// What surrounds the board.
    pub environment: Environment,
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
            .retain(|expected| kept.iter().any(|run| expected.applies_to_run(run)));
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

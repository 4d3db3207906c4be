//! An experiment as a TOML file: the board, the other end of the cable, the measurements and the
//! expected results. `docs/scenarios.md` is the reference of the format.

mod assign;
mod axes;
mod error;
pub(crate) mod expect;
#[cfg(test)]
mod fields;
mod file;
pub mod matrix;
#[cfg(test)]
mod reference;

use std::sync::Arc;

pub use error::ScenarioError;
pub use expect::{Expectation, Limit};

pub use linerate_sim::wire::config::{Ability, Duplex, Partner, Pulses};

use linerate_results::record::MatrixCell;
use linerate_sim::chip::TimingTable;
use matrix::Matrix;

use crate::board::Board;
pub use crate::machine::{Environment, Peer, Record};
use crate::measure::Plan;

/// An experiment.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, which the results carry.
    pub name: String,
    /// One-line title.
    pub title: String,
    /// The board, as described by its own file.
    pub board: Board,
    /// Seed of everything random.
    pub seed: u64,
    /// The environment common to all runs.
    pub common: Environment,
    /// Recordings made in addition to the results.
    pub record: Record,
    /// The runs.
    pub runs: Vec<Run>,
    /// The expectations.
    pub expect: Vec<Expectation>,
    /// Description of the board's soft SoC in place of its own.
    pub system: Option<Arc<str>>,
    /// Timing table in place of the chip's own.
    pub timing: Option<TimingTable>,
    /// The cells that are measured in place of the scenario itself, if it has a matrix.
    pub matrix: Option<Arc<Matrix>>,
}

/// One variant of the firmware in its environment, with its measurements.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name; the variant's if the file gives none.
    pub name: String,
    /// The variant.
    pub variant: String,
    /// The board's environment.
    pub environment: Environment,
    /// The measurements, in order.
    pub plans: Vec<Arc<dyn Plan>>,
    /// Count cycles by function.
    pub profile: bool,
}

impl Scenario {
    /// Parses a scenario; `file` is its name in messages.
    ///
    /// # Errors
    /// [`ScenarioError`] names the file, the line and what was expected there.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        file::parse(text, file)
    }

    /// The parts to measure: the cells of its matrix, or the scenario itself.
    pub fn parts(&self) -> Vec<(Option<&MatrixCell>, &Self)> {
        match &self.matrix {
            Some(matrix) => {
                let cells = matrix.cells.iter();
                cells.map(|cell| (Some(&cell.id), &cell.scenario)).collect()
            }
            None => vec![(None, self)],
        }
    }

    /// Keeps only the cells with these numbers. Returns those that it does not have.
    pub fn retain_cells(&mut self, numbers: &[u64]) -> Vec<u64> {
        let Some(matrix) = &mut self.matrix else {
            return numbers.to_vec();
        };
        let cells = &mut Arc::make_mut(matrix).cells;
        cells.retain(|cell| numbers.contains(&cell.id.number));
        let has = |number: &u64| cells.iter().any(|cell| cell.id.number == *number);
        numbers.iter().copied().filter(|it| !has(it)).collect()
    }

    /// The cells of its matrix, mutable.
    fn cells_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        let matrix = self.matrix.as_mut().map(Arc::make_mut);
        let cells = matrix.into_iter().flat_map(|matrix| &mut matrix.cells);
        cells.map(|cell| &mut cell.scenario)
    }

    /// Keeps only the runs called one of `names`, and their expectations. Returns the names that
    /// match no run.
    pub fn retain_runs(&mut self, names: &[String]) -> Vec<String> {
        let known = |name: &&String| self.runs.iter().any(|run| run.name == **name);
        let unknown = names.iter().filter(|name| !known(name)).cloned().collect();
        for cell in self.cells_mut() {
            cell.retain_runs(names);
        }
        self.runs.retain(|run| names.contains(&run.name));
        let kept = &self.runs;
        self.expect
            .retain(|expected| kept.iter().any(|run| expected.applies_to_run(run)));
        unknown
    }

    /// Scales everything counted in frames or seconds by `factor`, as far as a result remains
    /// meaningful. A short version drops expectations that need the whole version: returns the
    /// metrics of the dropped ones.
    pub fn scale(&mut self, factor: f64) -> Vec<String> {
        for cell in self.cells_mut() {
            cell.scale(factor);
        }
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

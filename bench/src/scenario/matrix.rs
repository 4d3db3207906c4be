//! The matrix of a scenario: one scenario per combination of values, the *cells*.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use linerate_results::record::{self, AxisValue, MatrixCell};
use linerate_sim::chip::esp32c6;
use linerate_sim::chip::soft_soc;
use toml::{Table, Value};

use super::assign::{Assignment, Documents};
use super::axes::{Axis, FileMatrix};
use super::{Record, Scenario, ScenarioError};

/// The most cells of a matrix.
const MAX_CELLS: usize = 100_000;

/// The cells of a scenario.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Its axes and objective, for the results.
    pub about: record::Matrix,
    /// The cells, in the order of their numbers.
    pub cells: Vec<Cell>,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Number, seed and values.
    pub id: MatrixCell,
    /// The scenario with these values; it has no matrix.
    pub scenario: Scenario,
}

/// Reads the matrix of the scenario `text`, if it has one. `seed` is that of the scenario.
///
/// # Errors
/// [`ScenarioError`] names the line of the axis, value or filter that is wrong.
pub(super) fn parse(
    text: &str,
    file: &str,
    seed: u64,
) -> Result<Option<Arc<Matrix>>, ScenarioError> {
    let Some(matrix) = FileMatrix::parse(text, file)? else {
        return Ok(None);
    };
    let mut base: Table =
        toml::from_str(text).map_err(|error| ScenarioError::syntax(file, text, &error))?;
    base.remove("matrix");
    let reader = Reader { text, file, base };
    let axes = matrix.axes(&|span, message| reader.error(span, message))?;
    reader.expand(&matrix, &axes, seed).map(Some)
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
    /// The scenario without its matrix.
    base: Table,
}

impl Reader<'_> {
    fn error(&self, span: Range<usize>, message: String) -> ScenarioError {
        ScenarioError::at(self.file, self.text, Some(span), message)
    }

    fn expand(
        &self,
        matrix: &FileMatrix,
        axes: &[Axis],
        seed: u64,
    ) -> Result<Arc<Matrix>, ScenarioError> {
        // Each value alone first: its mistakes are those of its line.
        for axis in axes {
            for value in &axis.values {
                self.cell(&value.assignments, seed)
                    .map_err(|message| self.error(value.span.clone(), message))?;
            }
        }
        let wrong = |span: Range<usize>, message| self.error(span, message);
        let filters = matrix.filters(axes, &wrong)?;
        let seeds = matrix.seeds(seed, &wrong)?;
        let whole = matrix.span.clone();
        let combinations = combinations(axes);
        let all = combinations.filter(|one| filters.keeps(one));
        let mut cells = Vec::new();
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for combination in all {
            let chosen = axes.iter().zip(&combination);
            let chosen: Vec<_> = chosen.map(|(axis, at)| (axis, &axis.values[*at])).collect();
            let values: BTreeMap<String, AxisValue> = chosen
                .iter()
                .map(|(axis, value)| (axis.about.name.clone(), value.label.clone()))
                .collect();
            let assignments: Vec<Assignment> = chosen
                .iter()
                .flat_map(|(_, value)| value.assignments.clone())
                .collect();
            for seed in &seeds {
                let id = MatrixCell {
                    number: cells.len() as u64,
                    seed: *seed,
                    values: values.clone(),
                };
                let made = self.cell(&assignments, *seed);
                let (scenario, content) = made.map_err(|message| {
                    self.error(
                        whole.clone(),
                        format!("cell {}: {id}: {message}", id.number),
                    )
                })?;
                if let Some(other) = known.insert(content, id.to_string()) {
                    let message =
                        format!("two cells are the same: {other}, and {id}; exclude one of them");
                    return Err(self.error(whole.clone(), message));
                }
                cells.push(Cell { id, scenario });
                if cells.len() > MAX_CELLS {
                    let message = format!("it has more than {MAX_CELLS} cells");
                    return Err(self.error(whole.clone(), message));
                }
            }
        }
        if cells.is_empty() {
            let message = "the filters leave no cell".to_owned();
            return Err(self.error(whole, message));
        }
        Ok(Arc::new(Matrix {
            about: record::Matrix {
                axes: axes.iter().map(|axis| axis.about.clone()).collect(),
                cells: cells.len() as u64,
                objective: matrix.objective(&wrong)?,
            },
            cells,
        }))
    }

    /// The scenario with these values, and its content as a text.
    fn cell(&self, assignments: &[Assignment], seed: u64) -> Result<(Scenario, String), String> {
        let mut documents = Documents::new(self.base.clone());
        // The board's own file is that of the cell's board.
        let (first, then): (Vec<_>, Vec<_>) =
            assignments.iter().partition(|it| it.field == "board");
        for assignment in first.into_iter().chain(then) {
            documents.assign(assignment)?;
        }
        documents.scenario.insert(
            "seed".to_owned(),
            Value::Integer(i64::try_from(seed).map_err(|_| "the seed is too large".to_owned())?),
        );
        let content = documents.text();
        let text = documents.scenario.to_string();
        let mut scenario = super::file::parse(&text, self.file).map_err(|error| error.message)?;
        if !self.base.contains_key("record") {
            // A capture and a waveform per cell would fill a disk.
            scenario.record = Record::NONE;
        }
        if let Some(system) = documents.system {
            let file = format!("boards/{}/system.toml", scenario.board.name);
            let text = system.to_string();
            soft_soc::file::parse(&text, &file)
                .map_err(|error| format!("{file}: {}: {}", error.field, error.problem))?;
            scenario.system = Some(text.into());
        }
        if let Some(timing) = documents.timing {
            let table = esp32c6::parse_timing_table(&timing.to_string());
            scenario.timing = Some(table.map_err(|error| error.to_string())?);
        }
        Ok((scenario, content))
    }
}

/// Every combination of values, the last axis the fastest.
fn combinations(axes: &[Axis]) -> impl Iterator<Item = Vec<usize>> {
    let lengths: Vec<usize> = axes.iter().map(|axis| axis.values.len()).collect();
    let mut next = Some(vec![0; lengths.len()]);
    std::iter::from_fn(move || {
        let now = next.take()?;
        let mut after = now.clone();
        for (at, length) in after.iter_mut().zip(&lengths).rev() {
            *at += 1;
            if *at < *length {
                next = Some(after);
                break;
            }
            *at = 0;
        }
        Some(now)
    })
}

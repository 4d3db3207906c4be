//! One file a command.

pub mod boards;
pub mod completions;
pub mod fidelity;
pub mod report;
pub mod run;
pub mod sensitivity;
pub mod sim;

use std::path::Path;

use anyhow::Context;
use linerate_bench::timing::{self, TimingTable};
use linerate_explain::record;

use crate::output;

/// Reads a timing table that is to replace the built-in one.
fn timing_table(path: Option<&Path>) -> anyhow::Result<Option<TimingTable>> {
    let Some(path) = path else { return Ok(None) };
    let text = output::read(path)?;
    let table = timing::parse(&text)
        .with_context(|| format!("{} is no timing table of the ESP32-C6", path.display()))?;
    Ok(Some(table))
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads results of a run, finished or not.
fn results(path: &Path) -> anyhow::Result<record::Run> {
    let text = output::read(path)?;
    linerate_bench::store::read(&text)
        .with_context(|| format!("{} holds no results of linerate", path.display()))
}

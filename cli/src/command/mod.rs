//! One file a command.

pub mod boards;
pub mod completions;
pub mod fidelity;
pub mod report;
pub mod run;
pub mod sim;

use std::path::Path;

use anyhow::Context;
use linerate_explain::record;

use crate::output;

/// Reads results of a run, finished or not.
fn results(path: &Path) -> anyhow::Result<record::Run> {
    let text = output::read(path)?;
    linerate_bench::store::read(&text)
        .with_context(|| format!("{} holds no results of linerate", path.display()))
}

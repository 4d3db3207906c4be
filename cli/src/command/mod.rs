//! Commands, one file each.

pub mod blast;
pub mod boards;
pub mod compare;
pub mod completions;
pub mod conformance;
pub mod explain;
pub mod fidelity;
pub mod flood;
pub mod merge;
pub mod profile;
mod progress;
mod record;
pub mod regs;
pub mod relay;
pub mod report;
mod requirement;
pub mod rfc2544;
pub mod run;
pub mod sensitivity;
pub mod serve;
mod serve_link;
pub mod sim;
pub mod sweep;
pub mod test;
pub mod timing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use linerate_bench::store;
use linerate_bench::timing::TimingTable;
use linerate_results::record::Run;

use crate::input::{self, MAX_TEXT};

/// Reads a timing table that replaces the built-in one, and prints its rejected entries.
fn timing_table(path: Option<&Path>) -> anyhow::Result<Option<TimingTable>> {
    let Some(path) = path else { return Ok(None) };
    let read = read_timing(path)?;
    for rejected in &read.rejected {
        message!("{}: {rejected}", path.display());
    }
    Ok(Some(read.table))
}

/// Reads a timing table, or a log that contains one.
fn read_timing(path: &Path) -> anyhow::Result<linerate_bench::timing::ParsedTable> {
    // Binary output of a boot loader is not part of the table.
    let bytes = input::read(path, MAX_TEXT)?;
    linerate_bench::timing::parse(&String::from_utf8_lossy(&bytes))
        .with_context(|| format!("{} is not a timing table of the ESP32-C6", path.display()))
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads results of a complete or incomplete run: a file, or the folder of a run. Prints what they lack.
fn results(path: &Path) -> anyhow::Result<Run> {
    Ok(results_and_file(path)?.0)
}

/// The same, with the file that has them.
fn results_and_file(path: &Path) -> anyhow::Result<(Run, PathBuf)> {
    let store::LoadedRun { file, stored } = store::load(path)?;
    for lack in &stored.lacks {
        message!("{}: {}: {}", file.display(), lack.what, lack.why);
    }
    Ok((stored.into_run(), file))
}

/// Flag set by Ctrl-C; results so far are still written.
fn stop_on_ctrl_c() -> anyhow::Result<Arc<AtomicBool>> {
    let stopped = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stopped);
    ctrlc::set_handler(move || {
        // The second Ctrl-C exits immediately.
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot handle Ctrl-C")?;
    Ok(stopped)
}

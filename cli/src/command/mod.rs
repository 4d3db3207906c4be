//! One file a command.

pub mod blast;
pub mod boards;
pub mod compare;
pub mod completions;
pub mod conformance;
pub mod explain;
pub mod fidelity;
pub mod flood;
mod on_terminal;
pub mod profile;
pub mod regs;
pub mod relay;
pub mod report;
pub mod rfc2544;
pub mod run;
pub mod sensitivity;
pub mod serve;
pub mod sim;
pub mod sweep;
pub mod test;
pub mod timing;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use linerate_bench::timing::TimingTable;
use linerate_results::record;

use crate::output;

/// Reads a timing table that is to replace the built-in one, and says what of it is left out.
fn timing_table(path: Option<&Path>) -> anyhow::Result<Option<TimingTable>> {
    let Some(path) = path else { return Ok(None) };
    let read = read_timing(path)?;
    for rejected in &read.rejected {
        eprintln!("{}: {rejected}", path.display());
    }
    Ok(Some(read.table))
}

/// Reads a timing table, or the log that has one.
fn read_timing(path: &Path) -> anyhow::Result<linerate_bench::timing::ParsedTable> {
    // Bytes of a boot loader that are no text are not the table's.
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    linerate_bench::timing::parse(&String::from_utf8_lossy(&bytes))
        .with_context(|| format!("{} is no timing table of the ESP32-C6", path.display()))
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

/// Set when the user has had enough: what there is by then is still written.
fn stop_on_ctrl_c() -> anyhow::Result<Arc<AtomicBool>> {
    let stopped = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stopped);
    ctrlc::set_handler(move || {
        // The second time it is meant.
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stopped)
}

//! Results on disk, each written as soon as it is available: measured results survive a kill.
//!
//! `trials.ndjson` begins with the run (without results) and gets one line per result, in the order
//! of completion. `run.json` is the complete run in the scenario's order, written at the end
//! together with the reports and exports derived from it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use linerate_explain::report;
use linerate_results::export::{csv, hdr, junit, openmetrics};
use linerate_results::record::{Measurement, ReadError, Run};

use crate::board;

/// Name of the file that results are appended to.
pub const TRIALS: &str = "trials.ndjson";

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct StoreError {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub error: io::Error,
}

/// A folder for results.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    trials: Mutex<File>,
}

impl Store {
    /// Creates the store in `dir`, which is created if it is missing; `header` is the run without
    /// results.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn create(dir: &Path, header: &Run) -> Result<Self, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError { path, error }
        };
        std::fs::create_dir_all(dir).map_err(failed(dir))?;
        let path = dir.join(TRIALS);
        let mut trials = File::create(&path).map_err(failed(&path))?;
        append(&mut trials, header).map_err(failed(&path))?;
        Ok(Self {
            dir: dir.to_owned(),
            trials: Mutex::new(trials),
        })
    }

    /// Appends a result.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn append(&self, result: &Measurement) -> Result<(), StoreError> {
        // A thread that panicked while writing left at worst a truncated line, which a reader
        // skips.
        let mut trials = self
            .trials
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        append(&mut trials, result).map_err(|error| StoreError {
            path: self.dir.join(TRIALS),
            error,
        })
    }

    /// Writes the complete `run` and everything derived from it: exports for programs and reports
    /// for people. `failures`: the expectations that were not met.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn finish(&self, run: &Run, failures: &[String]) -> Result<(), StoreError> {
        self.write("run.json", run.to_json().as_bytes())?;
        let published = board::published(&run.provenance.board);
        self.write("report.html", report::html(run, &published).as_bytes())?;
        self.write("report.md", report::markdown(run, &published).as_bytes())?;
        self.write("results.csv", csv::csv(run).as_bytes())?;
        self.write("junit.xml", junit::junit(run, failures).as_bytes())?;
        self.write("results.prom", openmetrics::openmetrics(run).as_bytes())?;
        match hdr::hdr(run) {
            Some(log) => self.write("results.hdr", log.as_bytes()),
            None => Ok(()),
        }
    }

    /// Writes `content` to the file `name`.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.dir.join(name);
        std::fs::write(&path, content).map_err(|error| StoreError { path, error })
    }
}

fn append(file: &mut File, line: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    // One write, so that a kill leaves whole lines.
    file.write_all(text.as_bytes())
}

/// Reads `run.json` or a `trials.ndjson` that was never finished.
///
/// # Errors
/// [`ReadError`] gives the place where the text is not in the format.
pub fn read(text: &str) -> Result<Run, ReadError> {
    let mut lines = text.lines();
    let whole = Run::from_json(text);
    let Some(Ok(mut run)) = lines.next().map(Run::from_json) else {
        return whole;
    };
    if whole.is_ok() {
        return whole;
    }
    // The last line may be truncated; all lines before it count.
    run.results
        .extend(lines.map_while(|line| serde_json::from_str::<Measurement>(line).ok()));
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> Run {
        Run::from_json(include_str!("../../results/tests/fixtures/run.json"))
            .expect("the fixture is valid")
    }

    #[test]
    fn measured_results_survive_a_kill() {
        let run = fixture();
        let dir = tempfile::tempdir().expect("a folder");
        let header = Run {
            results: Vec::new(),
            ..run.clone()
        };
        let store = Store::create(&dir.path().join("deep/er"), &header).expect("made");
        for result in &run.results[..3] {
            store.append(result).expect("written");
        }
        let path = dir.path().join("deep/er").join(TRIALS);
        let text = std::fs::read_to_string(&path).expect("written");
        assert_eq!(read(&text).expect("readable").results, run.results[..3]);
        let cut = &text[..text.len() - 100];
        assert_eq!(read(cut).expect("readable").results, run.results[..2]);
        assert_eq!(read(&run.to_json()).expect("readable"), run);
        assert_eq!(
            read(text.lines().next().expect("a header")).expect("readable"),
            header
        );
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let blocked = dir.path().join("file");
        std::fs::write(&blocked, b"").expect("written");
        let error = Store::create(&blocked.join("x"), &fixture())
            .expect_err("not a folder")
            .to_string();
        assert!(
            error.starts_with("cannot write ") && error.contains("file"),
            "{error}"
        );
    }
}

//! Results on disk, each written as soon as it is available: measured results survive a kill.
//!
//! `trials.ndjson` begins with the run (without results), gets one line per result, in the order of completion, and
//! ends with their number. `run.json` is the complete run in the scenario's order, written at the end together with the
//! reports and exports derived from it. Each of these is whole or missing. A folder belongs to one run at a time, and
//! the files of an earlier run are moved to [`earlier::EARLIER`].

pub mod earlier;
mod load;
mod read;
pub mod resume;
pub mod whole;

use std::fs::{File, TryLockError};
use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use linerate_explain::report;
use linerate_results::export::{csv, hdr, junit, openmetrics, parquet};
use linerate_results::record::{Measurement, Run};

use crate::board;

pub use load::{LoadError, LoadedRun, load};
pub use read::{StoredRun, read};

/// Name of the file that results are appended to.
pub const TRIALS: &str = "trials.ndjson";

/// Name of the complete run.
pub const RUN: &str = "run.json";
/// Names of the files derived from it.
const DERIVED: [&str; 7] = [
    "report.html",
    "report.md",
    "results.csv",
    PARQUET,
    "junit.xml",
    "results.prom",
    "results.hdr",
];
/// Name of the table with a row per result, of runs with a matrix.
pub const PARQUET: &str = "results.parquet";
/// Name of the file that is locked during a run. It holds the start of the last run that wrote into the folder.
const LOCK: &str = ".linerate-lock";

/// Results cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Another run writes into the folder.
    #[error("another run is writing its results into {}; choose another folder with --out", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder has results that cannot be continued.
    #[error("cannot resume the run in {}: it is of {what}; choose another folder with --out", dir.display())]
    OtherRun {
        /// The folder.
        dir: PathBuf,
        /// The difference.
        what: String,
    },
}

/// A folder for results.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    trials: Mutex<File>,
    /// Locked until this value is dropped or the process ends.
    _lock: File,
    /// Where the results of an earlier run in this folder are now.
    earlier: Option<PathBuf>,
}

impl Store {
    /// Creates the store in `dir`, which is created if it is missing; `header` is the run without results. Results of
    /// an earlier run are moved to [`earlier::EARLIER`].
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written, or the folder in which another run is writing.
    pub fn create(dir: &Path, header: &Run) -> Result<Self, StoreError> {
        std::fs::create_dir_all(dir).map_err(failed(dir))?;
        let mut lock = lock(dir)?;
        // Whatever happens next, results in the folder are known to be of another run.
        write_start(&mut lock, &header.provenance.started).map_err(failed(&dir.join(LOCK)))?;
        whole::remove_parts(dir).map_err(failed(dir))?;
        let earlier = earlier::move_aside(dir).map_err(failed(dir))?;
        let path = dir.join(TRIALS);
        whole::write(&path, &line(header).map_err(failed(&path))?).map_err(failed(&path))?;
        Self::open(dir, lock, earlier)
    }

    /// The store in `dir`, whose results have a beginning.
    fn open(dir: &Path, lock: File, earlier: Option<PathBuf>) -> Result<Self, StoreError> {
        let path = dir.join(TRIALS);
        let trials = File::options().append(true).open(&path);
        Ok(Self {
            dir: dir.to_owned(),
            trials: Mutex::new(trials.map_err(failed(&path))?),
            _lock: lock,
            earlier,
        })
    }

    /// Continues the run in `dir`, or creates the store if there is none. Returns the machines that finished, and the
    /// start of that run. What the others measured is removed.
    ///
    /// # Errors
    /// As [`Store::create`], and [`StoreError::OtherRun`] if scenario, firmware or version differ.
    pub fn resume(
        dir: &Path,
        header: &Run,
    ) -> Result<(Self, Option<(String, resume::Finished)>), StoreError> {
        if !dir.join(TRIALS).exists() {
            return Ok((Self::create(dir, header)?, None));
        }
        let mut lock = lock(dir)?;
        let Some((before, finished)) = resume::read(dir, header)? else {
            drop(lock);
            return Ok((Self::create(dir, header)?, None));
        };
        let started = before.provenance.started.clone();
        write_start(&mut lock, &started).map_err(failed(&dir.join(LOCK)))?;
        whole::remove_parts(dir).map_err(failed(dir))?;
        let path = dir.join(TRIALS);
        let mut text = line(&before).map_err(failed(&path))?;
        for (job, results) in finished.values() {
            text.extend(lines(results, job).map_err(failed(&path))?);
        }
        whole::write(&path, &text).map_err(failed(&path))?;
        // Of the run before it was continued, if that was complete.
        for name in DERIVED.into_iter().chain([RUN]) {
            let path = dir.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&path)(error));
                }
                _ => {}
            }
        }
        let store = Self::open(dir, lock, None)?;
        Ok((store, Some((started, finished))))
    }

    /// Appends the results of a machine that finished, with its record: a kill leaves all of them or none.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn append_finished(
        &self,
        results: &[Measurement],
        job: &resume::FinishedJob,
    ) -> Result<(), StoreError> {
        self.append_text(lines(results, job))
    }

    /// States where the results of an earlier run in this folder are now, if there were any.
    pub fn earlier_note(&self) -> Option<String> {
        let earlier = self.earlier.as_ref()?;
        Some(format!("earlier results are now in {}", earlier.display()))
    }

    /// Appends a result.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn append(&self, result: &Measurement) -> Result<(), StoreError> {
        self.append_text(line(result))
    }

    fn append_text(&self, text: io::Result<Vec<u8>>) -> Result<(), StoreError> {
        // A thread that panicked while writing left at worst a truncated line, which a reader reports.
        let mut trials = self
            .trials
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let appended = text.and_then(|text| append(&mut trials, &text));
        appended.map_err(failed(&self.dir.join(TRIALS)))
    }

    /// Writes the complete `run` and everything derived from it: exports for programs and reports for people.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn finish(&self, run: &Run) -> Result<(), StoreError> {
        self.write(RUN, run.to_json().as_bytes())?;
        // Only the complete run has failures and what was not measured: before it is there, none is finished.
        self.append_text(line(&read::End {
            finished_with_results: run.results.len(),
        }))?;
        let published = board::published(&run.provenance.board);
        self.write("report.html", report::html(run, &published).as_bytes())?;
        self.write("report.md", report::markdown(run, &published).as_bytes())?;
        self.write("results.csv", csv::csv(run).as_bytes())?;
        if run.matrix.is_some() {
            let table = parquet::parquet(run).map_err(io::Error::other);
            let table = table.map_err(failed(&self.dir.join(PARQUET)))?;
            self.write(PARQUET, &table)?;
        }
        self.write("junit.xml", junit::junit(run).as_bytes())?;
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
        whole::write(&path, content).map_err(failed(&path))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |error| StoreError::Write { path, error }
}

fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let opened = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path);
    let locked = opened.map_err(TryLockError::Error).and_then(|file| {
        file.try_lock()?;
        Ok(file)
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => StoreError::Busy {
            dir: dir.to_owned(),
        },
        TryLockError::Error(error) => StoreError::Write { path, error },
    })
}

/// Replaces the start of the last run by one of the same length.
fn write_start(lock: &mut File, started: &str) -> io::Result<()> {
    lock.rewind()?;
    lock.write_all(started.as_bytes())?;
    lock.set_len(started.len() as u64)
}

fn line(content: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(content)?;
    text.push(b'\n');
    Ok(text)
}

/// The lines of a machine that finished.
fn lines(results: &[Measurement], job: &resume::FinishedJob) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for result in results {
        text.extend(line(result)?);
    }
    text.extend(line(job)?);
    Ok(text)
}

fn append(file: &mut File, text: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    // One write, so that a kill leaves whole lines.
    let written = file.write_all(text);
    if written.is_err() {
        // Part of a line, on a full disk, would damage the next.
        let _ = file.set_len(before);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> Run {
        Run::from_json(include_str!("../../../results/tests/fixtures/run.json"))
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
        let so_far = read(&text).expect("readable");
        assert_eq!(so_far.run.results, run.results[..3]);
        assert_eq!(
            lacks(&so_far),
            ["the other results: the run did not finish: it was ended after 3 results"]
        );
        let cut = read(&text[..text.len() - 100]).expect("readable");
        assert_eq!(cut.run.results, run.results[..2]);
        assert_eq!(lacks(&cut).len(), 2, "a truncated line");
        assert_eq!(read(&run.to_json()).expect("readable").into_run(), run);
        let none = read(text.lines().next().expect("a header")).expect("readable");
        assert!(none.run.results.is_empty() && lacks(&none).len() == 1);
    }

    /// What was not read, in words.
    fn lacks(stored: &StoredRun) -> Vec<String> {
        let lacks = stored.lacks.iter();
        lacks.map(|it| format!("{}: {}", it.what, it.why)).collect()
    }

    #[test]
    fn a_damaged_line_costs_no_other_and_is_reported() {
        let run = fixture();
        let dir = tempfile::tempdir().expect("a folder");
        let header = Run {
            results: Vec::new(),
            ..run.clone()
        };
        let store = Store::create(dir.path(), &header).expect("made");
        for result in &run.results[..3] {
            store.append(result).expect("written");
        }
        let three = Run {
            results: run.results[..3].to_vec(),
            ..run.clone()
        };
        store.finish(&three).expect("written");
        let text = std::fs::read_to_string(dir.path().join(TRIALS)).expect("written");
        assert_eq!(read(&text).expect("readable").into_run(), three);
        let mut lines: Vec<&str> = text.lines().collect();
        lines[2] = "{\"measurement\": \"ping\"";
        let damaged = read(&lines.join("\n")).expect("readable");
        assert_eq!(
            damaged.run.results,
            [run.results[0].clone(), run.results[2].clone()]
        );
        let lacks = lacks(&damaged);
        assert!(
            lacks[0].starts_with("line 3 of the file: it is no result: "),
            "{lacks:?}"
        );
        assert_eq!(
            lacks[1],
            "the other results: the run finished with 3 results, 2 can be read"
        );
    }

    #[test]
    fn a_folder_belongs_to_one_run_at_a_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = Store::create(dir.path(), &fixture()).expect("made");
        let second = Store::create(dir.path(), &fixture()).expect_err("busy");
        assert!(matches!(second, StoreError::Busy { .. }), "{second}");
        drop(first);
        let third = Store::create(dir.path(), &fixture()).expect("made");
        assert!(
            third
                .earlier
                .is_some_and(|aside| aside.join(TRIALS).is_file())
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

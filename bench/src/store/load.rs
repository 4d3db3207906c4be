//! Results by their path: a file, or the folder of a run.

use crate::input::{MAX_CONTENT, read_text};
use std::io;
use std::path::{Path, PathBuf};

use linerate_results::record::{NotMeasured, ReadError};

use super::{LOCK, RUN, StoredRun, TRIALS, earlier, read};

/// Results, and the file that has them.
#[derive(Debug)]
pub struct LoadedRun {
    /// The file.
    pub file: PathBuf,
    /// Its content.
    pub stored: StoredRun,
}

/// Why a path has no results.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file is in another format.
    #[error("{} contains no linerate results: {error}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// Its first fault.
        error: ReadError,
    },
    /// The complete run was named, and there is none.
    #[error("cannot read {}: the run did not finish; its results are in {}", file.display(), trials.display())]
    Unfinished {
        /// The named file.
        file: PathBuf,
        /// The file that has results.
        trials: PathBuf,
    },
    /// A folder has neither a complete nor an interrupted run.
    #[error("{} has no results{}", dir.display(), reason(dir, started.as_deref()))]
    Empty {
        /// The folder.
        dir: PathBuf,
        /// Start of the last run in this folder, if there was one.
        started: Option<String>,
    },
}

fn reason(dir: &Path, started: Option<&str>) -> String {
    let ended = started.map_or_else(String::new, |started| {
        format!(": the run started at {started} was ended before its first result")
    });
    match dir.join(earlier::EARLIER) {
        earlier if earlier.is_dir() => format!(
            "{ended}; those of earlier runs are in {}",
            earlier.display()
        ),
        _ => ended,
    }
}

/// Reads the results of a complete or interrupted run: a file, or the folder of a run. If a later run in the same
/// folder left none, the results lack those.
///
/// # Errors
/// [`LoadError`] names the file or folder without results.
pub fn load(path: &Path) -> Result<LoadedRun, LoadError> {
    let file = find(path)?;
    let text = read_text(&file, MAX_CONTENT).map_err(|error| LoadError::Read {
        file: file.clone(),
        error,
    })?;
    let mut stored = read(&text).map_err(|error| LoadError::Format {
        file: file.clone(),
        error,
    })?;
    let is_of_folder = [RUN, TRIALS].iter().any(|name| file.ends_with(name));
    let later = is_of_folder.then(|| last_start(&file.with_file_name(LOCK)));
    let shown = &stored.run.provenance.started;
    if let Some(later) = later.flatten().filter(|later| later > shown) {
        let why = format!(
            "it was ended before its first result; these are results of the run started at {shown}"
        );
        stored.lacks.push(NotMeasured {
            what: format!("the run started at {later}"),
            why,
        });
    }
    Ok(LoadedRun { file, stored })
}

fn find(path: &Path) -> Result<PathBuf, LoadError> {
    if path.is_dir() {
        let files = [RUN, TRIALS].map(|name| path.join(name));
        let file = files.into_iter().find(|file| file.exists());
        return file.ok_or_else(|| LoadError::Empty {
            dir: path.to_owned(),
            started: last_start(&path.join(LOCK)),
        });
    }
    let trials = path.with_file_name(TRIALS);
    if path.ends_with(RUN) && !path.exists() && trials.exists() {
        return Err(LoadError::Unfinished {
            file: path.to_owned(),
            trials,
        });
    }
    Ok(path.to_owned())
}

/// Start of the last run that wrote into a folder.
fn last_start(lock: &Path) -> Option<String> {
    let text = std::fs::read_to_string(lock).ok()?;
    let is_time = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
    Some(text).filter(|text| !text.is_empty() && text.chars().all(is_time))
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;
    use linerate_results::record::Run;

    fn run(started: &str) -> Run {
        let mut run = Run::from_json(include_str!("../../../results/tests/fixtures/run.json"))
            .expect("the fixture is valid");
        started.clone_into(&mut run.provenance.started);
        run
    }

    #[test]
    fn a_run_that_left_no_result_is_not_hidden_by_an_earlier_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = run("2026-01-01T00:00:00Z");
        let store = Store::create(dir.path(), &first).expect("made");
        store.finish(&first).expect("written");
        drop(store);
        let lacks = |path: &Path| load(path).expect("readable").stored.lacks;
        assert_eq!(lacks(dir.path()), []);
        // Killed before it moved the results of the first one.
        std::fs::write(dir.path().join(LOCK), "2026-01-02T00:00:00Z").expect("written");
        for path in [dir.path(), &dir.path().join(RUN)] {
            let lacks = lacks(path);
            assert_eq!(lacks[0].what, "the run started at 2026-01-02T00:00:00Z");
            assert_eq!(
                lacks[0].why,
                "it was ended before its first result; these are results of the run started at 2026-01-01T00:00:00Z"
            );
        }
        // A copy elsewhere is just that run.
        let copy = dir.path().join("copy.json");
        std::fs::copy(dir.path().join(RUN), &copy).expect("copied");
        assert_eq!(lacks(&copy), []);
        // Killed after that.
        earlier::move_aside(dir.path()).expect("moved");
        let error = load(dir.path()).expect_err("empty").to_string();
        assert!(
            error.contains(" has no results: the run started at 2026-01-02T00:00:00Z was ended")
                && error.contains("; those of earlier runs are in "),
            "{error}"
        );
    }
}

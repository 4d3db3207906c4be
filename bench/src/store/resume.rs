//! Finished parts of an interrupted run, which a later one continues.

use std::collections::BTreeMap;
use std::path::Path;

use linerate_results::record::{CountedFrames, Measurement, Profile, Provenance, Run};
use serde::{Deserialize, Serialize};

use super::{StoreError, TRIALS};
use crate::machine::Identity;

/// Record of a machine that finished, without its results: in `trials.ndjson` the line after them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishedJob {
    /// The machine's name.
    pub finished_job: String,
    /// Number of its results, which are the lines before.
    pub results: usize,
    /// Its components, if the run records those of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Its time when it was switched off.
    pub virtual_ns: u64,
    /// Hash over every wire event; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace_hash: String,
    /// Names of its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Its profile, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Its frames, if counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<CountedFrames>,
}

/// Machines that finished, by name, with their results.
pub type Finished = BTreeMap<String, (FinishedJob, Vec<Measurement>)>;

/// Reads the header and the finished machines of `trials.ndjson`; `None` if there is no such file.
///
/// # Errors
/// [`StoreError::OtherRun`] if the file is of another scenario, firmware or version than `header`, or damaged.
pub(super) fn read(dir: &Path, header: &Run) -> Result<Option<(Run, Finished)>, StoreError> {
    let Ok(text) = std::fs::read_to_string(dir.join(TRIALS)) else {
        return Ok(None);
    };
    let other = |what: &str| StoreError::OtherRun {
        dir: dir.to_owned(),
        what: what.to_owned(),
    };
    let mut lines = text.lines();
    let first = lines.next().map(Run::from_json);
    let Some(Ok(before)) = first else {
        return Err(other("its trials.ndjson is damaged"));
    };
    if let Some(what) = difference(&before.provenance, &header.provenance) {
        return Err(other(what));
    }
    let mut finished = Finished::new();
    let mut results: Vec<Measurement> = Vec::new();
    for line in lines {
        if let Ok(result) = serde_json::from_str(line) {
            results.push(result);
        } else if let Ok(job) = serde_json::from_str::<FinishedJob>(line) {
            // A damaged line among its results: it is measured again.
            if results.len() == job.results {
                finished.insert(
                    job.finished_job.clone(),
                    (job, std::mem::take(&mut results)),
                );
            }
            results.clear();
        } else {
            // A damaged line, or the end: nothing around it counts.
            results.clear();
        }
    }
    Ok(Some((before, finished)))
}

/// The first difference that forbids to combine results, in words.
pub fn difference(one: &Provenance, other: &Provenance) -> Option<&'static str> {
    let parts = [
        (
            one.scenario_sha256 != other.scenario_sha256,
            "another scenario, or other options",
        ),
        (
            one.version != other.version || one.git != other.git,
            "another version of linerate",
        ),
        (one.seed != other.seed, "another seed"),
        (
            one.elf_sha256.iter().any(|(name, hash)| {
                other
                    .elf_sha256
                    .get(name)
                    .is_some_and(|other| other != hash)
            }),
            "other firmware",
        ),
    ];
    parts.into_iter().find(|part| part.0).map(|part| part.1)
}

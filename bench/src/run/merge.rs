//! Joins runs of cells of one matrix, made in several folders or on several machines, into one run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use linerate_results::record::{NotMeasured, Provenance, Run};

use crate::recorder::Recorder;
use crate::store::resume::difference;
use crate::store::{self, LoadError, StoreError};

#[cfg(test)]
mod tests;

/// Folder of a run of a matrix with a folder per cell.
pub const CELLS: &str = "cells";

/// Why runs cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder has no results.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The joined run cannot be written, or a file cannot be copied.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder cannot be listed.
    #[error("cannot read {}: {error}", dir.display())]
    List {
        /// The folder.
        dir: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// There is nothing to join.
    #[error("there are no results to merge")]
    Nothing,
    /// Results of a run without a matrix.
    #[error("{} has no cells of a matrix", dir.display())]
    NoMatrix {
        /// The folder.
        dir: PathBuf,
    },
    /// Two folders do not belong together.
    #[error("{} and {} cannot be merged: the second is of {what}", one.display(), other.display())]
    Other {
        /// The first folder.
        one: PathBuf,
        /// The other one.
        other: PathBuf,
        /// The difference.
        what: String,
    },
    /// Two folders have different results of one cell.
    #[error("{} and {} have different results of cell {cell}", one.display(), other.display())]
    Conflict {
        /// The first folder.
        one: PathBuf,
        /// The other one.
        other: PathBuf,
        /// Number of the cell.
        cell: u64,
    },
}

/// A run with its folder and its cells.
struct Part {
    dir: PathBuf,
    run: Run,
    cells: BTreeSet<u64>,
}

/// Joins the runs in `dirs` (each with results, or with a folder per cell in [`CELLS`]), and writes the joined run to
/// `out`. A cell without results is listed as not measured, and so is what a damaged or interrupted part lacks. The joined
/// table is that of a run of the whole matrix.
///
/// # Errors
/// [`MergeError`] names the folders.
pub fn merge(dirs: &[PathBuf], out: &Path, note: &mut dyn FnMut(&str)) -> Result<Run, MergeError> {
    let mut parts = Vec::new();
    for dir in folders(dirs)? {
        match store::load(&dir) {
            Ok(loaded) => {
                let mut stored = loaded.stored;
                for lack in &mut stored.lacks {
                    lack.what = format!("{}: {}", dir.display(), lack.what);
                }
                parts.push(part(dir, stored.into_run())?);
            }
            // A cell that never began.
            Err(LoadError::Empty { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    parts.sort_by_key(|part| part.cells.first().copied());
    let Some(first) = parts.first() else {
        return Err(MergeError::Nothing);
    };
    for other in &parts[1..] {
        let mut what = difference(&first.run.provenance, &other.run.provenance);
        if first.run.matrix != other.run.matrix {
            what = Some("another matrix");
        }
        if let Some(what) = what {
            return Err(MergeError::Other {
                one: first.dir.clone(),
                other: other.dir.clone(),
                what: what.to_owned(),
            });
        }
    }
    let kept = distinct(&parts)?;
    let run = joined(&kept);
    let mut header = Run::new(&run.scenario, run.title.clone(), run.provenance.clone());
    header.matrix.clone_from(&run.matrix);
    let mut recorder = Recorder::begin_run(header, out, note)?;
    for part in &kept {
        for name in &part.run.provenance.artifacts {
            recorder.copy(&part.dir.join(name), name)?;
        }
    }
    for result in &run.results {
        recorder.append(result)?;
    }
    recorder.run = run;
    Ok(recorder.finish(None)?)
}

/// The folders, with those of [`CELLS`] in place of one that has them.
fn folders(dirs: &[PathBuf]) -> Result<Vec<PathBuf>, MergeError> {
    let mut all = Vec::new();
    for dir in dirs {
        let cells = dir.join(CELLS);
        if !cells.is_dir() {
            all.push(dir.clone());
            continue;
        }
        let list = |error| MergeError::List {
            dir: cells.clone(),
            error,
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&cells).map_err(list)? {
            found.push(entry.map_err(list)?.path());
        }
        found.sort();
        all.extend(found);
    }
    Ok(all)
}

fn part(dir: PathBuf, run: Run) -> Result<Part, MergeError> {
    if run.matrix.is_none() {
        return Err(MergeError::NoMatrix { dir });
    }
    let results = run.results.iter();
    let mut cells: BTreeSet<u64> = results
        .filter_map(|result| Some(result.setting().cell.as_ref()?.number))
        .collect();
    // Those that failed.
    let missing = run.not_measured.iter();
    cells.extend(missing.filter_map(|it| it.what.rsplit_once("-c")?.1.parse::<u64>().ok()));
    Ok(Part { dir, run, cells })
}

/// The parts without those that repeat another's cell.
fn distinct(parts: &[Part]) -> Result<Vec<&Part>, MergeError> {
    let mut kept: Vec<&Part> = Vec::new();
    let of = |part: &Part, cell: u64| -> Vec<String> {
        let results = part.run.results.iter();
        let of_cell = results.filter(|it| {
            let own = it.setting().cell.as_ref();
            own.is_some_and(|own| own.number == cell)
        });
        of_cell.map(|it| format!("{it:?}")).collect()
    };
    for part in parts {
        let mut is_new = part.cells.is_empty();
        for cell in &part.cells {
            match kept.iter().find(|other| other.cells.contains(cell)) {
                None => is_new = true,
                Some(other) if of(other, *cell) == of(part, *cell) => {}
                Some(other) => {
                    return Err(MergeError::Conflict {
                        one: other.dir.clone(),
                        other: part.dir.clone(),
                        cell: *cell,
                    });
                }
            }
        }
        if is_new {
            kept.push(part);
        }
    }
    Ok(kept)
}

fn joined(parts: &[&Part]) -> Run {
    let first = &parts[0].run;
    let mut run = Run::new(
        &first.scenario,
        first.title.clone(),
        Provenance {
            artifacts: Vec::new(),
            virtual_ns: 0,
            ..first.provenance.clone()
        },
    );
    run.matrix.clone_from(&first.matrix);
    let mut found: BTreeSet<u64> = BTreeSet::new();
    let mut cells = BTreeMap::new();
    for part in parts {
        let own = &part.run;
        for result in &own.results {
            let number = result.setting().cell.as_ref().map(|cell| cell.number);
            if number.is_some_and(|number| found.contains(&number)) {
                continue;
            }
            cells
                .entry(number)
                .or_insert_with(Vec::new)
                .push(result.clone());
        }
        found.extend(&part.cells);
        run.failures.extend(own.failures.iter().cloned());
        run.not_measured.extend(own.not_measured.iter().cloned());
        let all = own.profiles.iter();
        run.profiles
            .extend(all.map(|(name, it)| (name.clone(), it.clone())));
        let all = own.frame_counts.iter();
        run.frame_counts
            .extend(all.map(|(name, it)| (name.clone(), it.clone())));
        let (to, from) = (&mut run.provenance, &own.provenance);
        to.virtual_ns += from.virtual_ns;
        to.started = from.started.clone().min(to.started.clone());
        to.elf_sha256.extend(from.elf_sha256.clone());
        to.trace_hash.extend(from.trace_hash.clone());
        to.artifacts.extend(from.artifacts.iter().cloned());
    }
    run.results = cells.into_values().flatten().collect();
    let all = run.matrix.as_ref().map_or(0, |matrix| matrix.cells);
    for cell in (0..all).filter(|cell| !found.contains(cell)) {
        run.not_measured.push(NotMeasured {
            what: format!("cell {cell}"),
            why: "the folders have no result of it".to_owned(),
        });
    }
    run
}

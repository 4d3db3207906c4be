//! A matrix as a job array of Slurm: one task per cell, each in a folder of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::merge::CELLS;
use crate::store::whole;

/// Tasks of an array, at most, if Slurm does not state its limit: the default of `MaxArraySize` is 1001.
const DEFAULT_ARRAY: u64 = 1000;

/// Settings of the job array.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// Partition; the default one if `None`.
    pub partition: Option<String>,
    /// Limit of the time of a cell, in a format of `sbatch --time`.
    pub time: Option<String>,
    /// The most cells at one time.
    pub throttle: Option<u32>,
    /// Further options of `sbatch`.
    pub options: Vec<String>,
    /// The program and its arguments for a cell, without `--cell`, `--resume` and `--out`.
    pub command: Vec<String>,
    /// Folder of the run.
    pub out: PathBuf,
    /// Numbers of the cells.
    pub cells: Vec<u64>,
}

/// Why the array was not submitted.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// `sbatch` cannot be run.
    #[error("cannot run sbatch: {0}; it is part of Debian's package slurm-client")]
    Missing(io::Error),
    /// `sbatch` failed.
    #[error("sbatch failed: {0}")]
    Refused(String),
    /// The script or the folder cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Submission {
    /// The script of each task. A task that is requeued continues its cell.
    pub fn script(&self) -> String {
        let command = self.command.iter().map(|word| quoted(word));
        let command: Vec<String> = command.collect();
        let cells = quoted(&self.out.join(CELLS).to_string_lossy());
        format!(
            "#!/bin/sh\n\
             # Written by `linerate run --slurm`; its argument is the number of the first task's cell.\n\
             cell=$((SLURM_ARRAY_TASK_ID + $1))\n\
             exec {} --cell \"$cell\" --resume --out {cells}/\"$cell\"\n",
            command.join(" ")
        )
    }

    /// The arguments of `sbatch` for the tasks of `cells`, which are the numbers less `first`.
    fn arguments(&self, first: u64, cells: &[u64], script: &Path) -> Vec<String> {
        let log = self.out.join("logs").join("%A-%a.log");
        let mut array = ranges(cells.iter().map(|cell| cell - first));
        if let Some(throttle) = self.throttle {
            array = format!("{array}%{throttle}");
        }
        let mut all = vec![
            "--parsable".to_owned(),
            "--requeue".to_owned(),
            format!("--array={array}"),
            format!("--output={}", log.display()),
            "--open-mode=append".to_owned(),
        ];
        all.extend(self.partition.iter().map(|it| format!("--partition={it}")));
        all.extend(self.time.iter().map(|it| format!("--time={it}")));
        all.extend(self.options.iter().cloned());
        all.extend([script.display().to_string(), first.to_string()]);
        all
    }

    /// Submits the array, or several if Slurm permits fewer tasks in one. Returns the ids of the jobs.
    ///
    /// # Errors
    /// [`SlurmError`]; arrays that were submitted before it remain.
    pub fn submit(&self) -> Result<Vec<String>, SlurmError> {
        for folder in [CELLS, "logs"] {
            let path = self.out.join(folder);
            std::fs::create_dir_all(&path).map_err(|error| SlurmError::Write { path, error })?;
        }
        let script = self.out.join("cell.sh");
        whole::write(&script, self.script().as_bytes()).map_err(|error| SlurmError::Write {
            path: script.clone(),
            error,
        })?;
        let limit = array_limit();
        let mut jobs = Vec::new();
        let mut rest = &self.cells[..];
        while let Some(first) = rest.first().copied() {
            let count = rest.partition_point(|cell| cell - first < limit);
            let (now, later) = rest.split_at(count);
            let output = Command::new("sbatch")
                .args(self.arguments(first, now, &script))
                .output()
                .map_err(SlurmError::Missing)?;
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stderr);
                return Err(SlurmError::Refused(text.trim().to_owned()));
            }
            let id = String::from_utf8_lossy(&output.stdout);
            // With several clusters, the name of one is behind a semicolon.
            jobs.push(id.trim().split(';').next().unwrap_or_default().to_owned());
            rest = later;
        }
        Ok(jobs)
    }
}

/// The number of tasks that an array may have.
fn array_limit() -> u64 {
    let output = Command::new("scontrol").args(["show", "config"]).output();
    let text = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let text = text.unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MaxArraySize"));
    let size = line.and_then(|line| line.split('=').nth(1)?.trim().parse::<u64>().ok());
    size.map_or(DEFAULT_ARRAY, |size| size.saturating_sub(1).max(1))
}

/// Ascending numbers as Slurm writes them: `0-3,7`.
fn ranges(numbers: impl Iterator<Item = u64>) -> String {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => all.push((number, number)),
        }
    }
    let text = |(first, last): &(u64, u64)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    all.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_has_the_cells_a_throttle_and_the_options() {
        let submission = Submission {
            partition: Some("short".to_owned()),
            time: Some("10:00".to_owned()),
            throttle: Some(2),
            options: vec!["--mem=1G".to_owned()],
            command: ["linerate", "run", "it's.toml"].map(str::to_owned).into(),
            out: "/results".into(),
            cells: vec![10, 11, 12, 15],
        };
        let arguments = submission.arguments(10, &submission.cells, "cell.sh".as_ref());
        assert_eq!(
            arguments.join(" "),
            "--parsable --requeue --array=0-2,5%2 --output=/results/logs/%A-%a.log --open-mode=append \
             --partition=short --time=10:00 --mem=1G cell.sh 10"
        );
        let script = submission.script();
        assert!(
            script.ends_with(
                "exec 'linerate' 'run' 'it'\\''s.toml' --cell \"$cell\" --resume --out '/results/cells'/\"$cell\"\n"
            ),
            "{script}"
        );
    }
}

//! `linerate compare`, and `--baseline` of the commands that measure.

use std::path::{Path, PathBuf};

use linerate_explain::summary;
use linerate_results::compare::{Comparison, Thresholds, compare};
use linerate_results::record::Run;

use super::results;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Compare) -> Result<(), Failure> {
    let before = results(&args.before)?;
    let after = results(&args.after)?;
    let comparison = compare(&before, &after, summary::figures, &thresholds(&args.limits));
    if args.json {
        let mut text = serde_json::to_string_pretty(&comparison).map_err(anyhow::Error::new)?;
        text.push('\n');
        output::print(&text)?;
    } else {
        output::print(&comparison.markdown())?;
    }
    judge(&comparison)
}

/// Earlier results with their file.
pub struct Baseline {
    file: PathBuf,
    run: Run,
}

impl Baseline {
    /// Reads the results, before a measurement that may overwrite the file.
    pub fn read(file: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let read = |file: &Path| {
            anyhow::Ok(Self {
                file: file.to_owned(),
                run: results(file)?,
            })
        };
        file.map(read).transpose()
    }

    /// Compares `run` with the baseline.
    pub fn judge(&self, limits: &args::Thresholds, run: &Run) -> Result<(), Failure> {
        let comparison = compare(&self.run, run, summary::figures, &thresholds(limits));
        eprintln!(
            "compared with {}:\n{}",
            self.file.display(),
            comparison.markdown()
        );
        judge(&comparison)
    }
}

fn judge(comparison: &Comparison) -> Result<(), Failure> {
    match comparison.failures() {
        failures if failures.is_empty() => Ok(()),
        failures => Err(Failure::Limit(failures)),
    }
}

fn thresholds(limits: &args::Thresholds) -> Thresholds {
    Thresholds {
        share: limits.threshold,
        by_metric: limits.metrics.clone(),
    }
}

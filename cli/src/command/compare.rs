//! `linerate compare`, and `--baseline` of the commands that measure.

use std::path::Path;

use linerate_explain::compare::{Comparison, Thresholds, compare};
use linerate_explain::record::Run;

use super::results;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Compare) -> Result<(), Failure> {
    let before = results(&args.before)?;
    let after = results(&args.after)?;
    let comparison = compare(&before, &after, &thresholds(&args.limits));
    if args.json {
        let mut text = serde_json::to_string_pretty(&comparison).map_err(anyhow::Error::new)?;
        text.push('\n');
        output::print(&text)?;
    } else {
        output::print(&comparison.markdown())?;
    }
    judge(&comparison)
}

/// Holds `run` against the results in the file that the user has named, if any.
pub fn baseline(file: Option<&Path>, limits: &args::Thresholds, run: &Run) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let comparison = compare(&results(file)?, run, &thresholds(limits));
    eprintln!("beside {}:\n{}", file.display(), comparison.markdown());
    judge(&comparison)
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
        of: limits.metrics.clone(),
    }
}

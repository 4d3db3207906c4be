//! `linerate compare`, and `--baseline` of the commands that measure.

use std::path::Path;

use linerate_bench::baseline::Baseline;
use linerate_results::compare::{Comparison, Thresholds};
use linerate_results::record::Run;

use super::results;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Compare) -> Result<(), Failure> {
    let before = results(&args.before)?;
    let after = results(&args.after)?;
    let baseline = Baseline {
        run: before,
        thresholds: thresholds(&args.limits),
    };
    let comparison = baseline.compare(&after);
    if args.json {
        output::json(&comparison)?;
    } else {
        output::print(&comparison.markdown())?;
    }
    judge(&comparison)
}

/// Reads the results to compare with, before a measurement that may move the file.
pub fn baseline(
    file: Option<&Path>,
    limits: &args::Thresholds,
) -> anyhow::Result<Option<Baseline>> {
    let read = |file: &Path| {
        anyhow::Ok(Baseline {
            run: results(file)?,
            thresholds: thresholds(limits),
        })
    };
    file.map(read).transpose()
}

/// Prints the differences between the baseline, if any, and `run`.
pub fn print_differences(baseline: Option<&Baseline>, file: Option<&Path>, run: &Run) {
    if let (Some(baseline), Some(file)) = (baseline, file) {
        let comparison = baseline.compare(run).markdown();
        message!("compared with {}:\n{comparison}", file.display());
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

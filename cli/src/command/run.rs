//! `linerate run`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use linerate_bench::board::published;
use linerate_bench::machine;
use linerate_bench::progress::{self, Cancellable};
use linerate_bench::run::{self, Options};
use linerate_bench::scenario::Scenario;
use linerate_explain::report;

use crate::args;
use crate::failure::Failure;
use crate::input::{self, MAX_TEXT};
use crate::output;

use super::compare::{baseline, print_differences};
use super::{processors, stop_on_ctrl_c, timing_table};

pub fn run(args: &args::Run) -> Result<(), Failure> {
    let text = input::read_text(&args.scenario, MAX_TEXT)?;
    let mut scenario =
        Scenario::parse(&text, &args.scenario.to_string_lossy()).map_err(anyhow::Error::new)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    if !args.runs.is_empty() {
        let all: Vec<String> = scenario.runs.iter().map(|run| run.name.clone()).collect();
        if let Some(unknown) = scenario.retain_runs(&args.runs).first() {
            return Err(anyhow!(
                "{} has no [[run]] named `{unknown}`; runs are {}",
                args.scenario.display(),
                all.join(", ")
            )
            .into());
        }
    }
    if let Some(factor) = args.scale {
        for metric in scenario.scale(factor) {
            message!("limits on {metric} are skipped: they apply to the full version only");
        }
    }
    let options = Options {
        elf_dir: args.elf_dir.clone(),
        out: args
            .out
            .clone()
            .unwrap_or_else(|| PathBuf::from("linerate-out").join(&scenario.name)),
        threads: args.threads.map_or_else(processors, usize::from),
        timing: timing_table(args.timing.as_deref())?,
        baseline: baseline(args.baseline.as_deref(), &args.limits)?,
    };
    let cancelled = stop_on_ctrl_c()?;
    let progress = Cancellable {
        progress: &*progress::on_stderr(),
        cancelled: &cancelled,
    };
    let outcome = run::run(&scenario, &options, &machine::open, &progress)?;

    let json = outcome.run.to_json();
    match &args.json {
        Some(path) if path == Path::new("-") => output::print(&json)?,
        Some(path) => output::write(path, json.as_bytes())?,
        None => {}
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        output::print(&report::markdown(
            &outcome.run,
            &published(&outcome.run.provenance.board),
        ))?;
    }
    message!("report: {}", options.out.join("report.html").display());
    if outcome.is_cancelled {
        return Err(Failure::Cancelled);
    }
    let (baseline, file) = (options.baseline.as_ref(), args.baseline.as_deref());
    print_differences(baseline, file, &outcome.run);
    match outcome.without_failure()?.failures {
        failures if failures.is_empty() => Ok(()),
        failures => Err(Failure::Limit(failures)),
    }
}

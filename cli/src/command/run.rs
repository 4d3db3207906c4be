//! `linerate run`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use linerate_bench::board::published;
use linerate_bench::firmware;
use linerate_bench::machine;
use linerate_bench::progress::{self, Cancellable};
use linerate_bench::run::{self, Options};
use linerate_bench::scenario::Scenario;
use linerate_bench::slurm::Submission;
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
    if let (Some(_), Some(seed)) = (&scenario.matrix, args.seed) {
        let what = "has a matrix, whose cells have their own seeds: give `seeds` there";
        return Err(anyhow!("{} {what}, not --seed {seed}", args.scenario.display()).into());
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    if scenario.matrix.is_none() && (args.resume || args.slurm || !args.cells.is_empty()) {
        let what = "has no [matrix]: --resume, --cell and --slurm are for its cells";
        return Err(anyhow!("{} {what}", args.scenario.display()).into());
    }
    if !args.cells.is_empty()
        && let Some(unknown) = scenario.retain_cells(&args.cells).first()
    {
        return Err(anyhow!("{} has no cell {unknown}", args.scenario.display()).into());
    }
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
    if args.slurm {
        return submit(args, &scenario);
    }
    let options = Options {
        elf_dir: args.elf_dir.clone(),
        out: out(args, &scenario),
        threads: args.threads.map_or_else(processors, usize::from),
        timing: timing_table(args.timing.as_deref())?,
        baseline: baseline(args.baseline.as_deref(), &args.limits)?,
        scenario_sha256: identity(args, &text)?,
        resume: args.resume,
    };
    let cancelled = stop_on_ctrl_c()?;
    let progress = Cancellable {
        progress: &*progress::on_stderr(),
        cancelled: &cancelled,
    };
    let outcome = run::run(&scenario, &options, &machine::open, &progress)?;

    let json = outcome.run.to_json();
    if !output::write_or_print(args.json.as_deref(), &json)? {
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

/// The output folder.
fn out(args: &args::Run, scenario: &Scenario) -> PathBuf {
    let default = || PathBuf::from("linerate-out").join(&scenario.name);
    args.out.clone().unwrap_or_else(default)
}

/// SHA-256 of the scenario and of the options that change it: results with the same one can be combined.
fn identity(args: &args::Run, text: &str) -> anyhow::Result<String> {
    let timing = match &args.timing {
        Some(path) => firmware::sha256(&input::read(path, MAX_TEXT)?),
        None => String::new(),
    };
    let options = format!("{:?} {:?} {timing}", args.runs, args.scale);
    Ok(firmware::sha256(format!("{text}\n{options}").as_bytes()))
}

/// Submits the cells to Slurm.
fn submit(args: &args::Run, scenario: &Scenario) -> Result<(), Failure> {
    let whole = |path: &Path| {
        std::path::absolute(path)
            .map(|path| path.display().to_string())
            .with_context(|| format!("cannot use {}", path.display()))
    };
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = vec![program.display().to_string(), "run".to_owned()];
    command.push(whole(&args.scenario)?);
    command.extend(["--elf-dir".to_owned(), whole(&args.elf_dir)?]);
    command.extend([
        "--threads".to_owned(),
        args.threads.map_or(1, u16::from).to_string(),
    ]);
    for run in &args.runs {
        command.extend(["--run".to_owned(), run.clone()]);
    }
    if let Some(factor) = args.scale {
        command.extend(["--scale".to_owned(), factor.to_string()]);
    }
    if let Some(timing) = &args.timing {
        command.extend(["--timing".to_owned(), whole(timing)?]);
    }
    let parts = scenario.parts().into_iter();
    let submission = Submission {
        partition: args.partition.clone(),
        time: args.time.clone(),
        throttle: args.throttle,
        options: args.slurm_options.clone(),
        command,
        out: PathBuf::from(whole(&out(args, scenario))?),
        cells: parts.filter_map(|(cell, _)| Some(cell?.number)).collect(),
    };
    let jobs = submission.submit().map_err(anyhow::Error::new)?;
    for job in &jobs {
        output::print(&format!("{job}\n"))?;
    }
    message!(
        "{} cells submitted; when they have ended: linerate merge {} --out DIR",
        submission.cells.len(),
        submission.out.display()
    );
    Ok(())
}

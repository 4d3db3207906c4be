//! `linerate run`.

use std::path::{Path, PathBuf};

use linerate_bench::run::{self, Options};
use linerate_bench::scenario::Scenario;
use linerate_bench::{progress, target};
use linerate_explain::report;

use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Run) -> Result<(), Failure> {
    let text = output::read(&args.scenario)?;
    let mut scenario =
        Scenario::parse(&text, &args.scenario.to_string_lossy()).map_err(anyhow::Error::new)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let options = Options {
        elf_dir: args.elf_dir.clone(),
        out: args
            .out
            .clone()
            .unwrap_or_else(|| PathBuf::from("linerate-out").join(&scenario.name)),
        threads: args.threads.map_or_else(processors, usize::from),
    };
    let outcome = run::run(
        &scenario,
        &options,
        &target::open,
        progress::on_stderr().as_ref(),
    )?;

    let json = outcome.run.to_json();
    match &args.json {
        Some(path) if path == Path::new("-") => output::print(&json)?,
        Some(path) => output::write(path, json.as_bytes())?,
        None => {}
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        output::print(&report::markdown(&outcome.run))?;
    }
    eprintln!("report: {}", options.out.join("report.html").display());
    if outcome.failures.is_empty() {
        Ok(())
    } else {
        Err(Failure::Limit(outcome.failures))
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

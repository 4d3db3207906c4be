//! `linerate sensitivity`.

use std::path::PathBuf;

use linerate_bench::run::Options;
use linerate_bench::scenario::Scenario;
use linerate_bench::{machine, sensitivity, timing};

use super::{processors, timing_table};
use crate::args;
use crate::failure::Failure;
use crate::input::{self, MAX_TEXT};
use crate::output;

pub fn run(args: &args::Sensitivity) -> Result<(), Failure> {
    let text = input::read_text(&args.scenario, MAX_TEXT)?;
    let mut scenario =
        Scenario::parse(&text, &args.scenario.to_string_lossy()).map_err(anyhow::Error::new)?;
    if scenario.matrix.is_some() {
        return Err(anyhow::anyhow!(
            "{} has a matrix: sensitivity changes one entry of the timing table at a time",
            args.scenario.display()
        )
        .into());
    }
    if let Some(factor) = args.scale {
        // Expectations are not evaluated.
        let _ = scenario.scale(factor);
    }
    let options = Options {
        elf_dir: args.elf_dir.clone(),
        out: args
            .out
            .clone()
            .unwrap_or_else(|| PathBuf::from("linerate-out").join(&scenario.name)),
        threads: args.threads.map_or_else(processors, usize::from),
        timing: None,
        baseline: None,
        scenario_sha256: String::new(),
        resume: false,
    };
    let table = timing_table(args.timing.as_deref())?.unwrap_or_else(timing::built_in);
    let changes = sensitivity::changes(&table, &args.entries).map_err(anyhow::Error::new)?;
    let effects = sensitivity::run(
        &scenario,
        &options,
        &table,
        &changes,
        &machine::open,
        &mut |line| {
            message!("{line}");
        },
    )?;
    let page = sensitivity::markdown(&effects);
    output::write(&options.out.join("sensitivity.md"), page.as_bytes())?;
    let json = sensitivity::json(&effects);
    output::write(&options.out.join("sensitivity.json"), json.as_bytes())?;
    output::print(&page)
}

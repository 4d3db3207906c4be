//! The scenarios that check the firmware's specified behaviour: short versions in the quick tier, complete with
//! `--long`; and the commands `cargo xtask beat` and `sensitivity`.

use crate::steps::Outcome;
use crate::{board, demo, firmware, sh};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Scenarios, and the factor by which the quick version scales each: some rounds of each conformance case, a
/// second of a storm.
const CHECKED: [(&str, f64); 4] = [
    ("phy-conformance", 0.002),
    ("negotiation", 1.0),
    ("hub", 0.02),
    ("storm", 0.02),
];
/// Scenarios of the long tier only, which are never shortened.
const LONG: [&str; 2] = ["beat-niccle", "loss-surface"];
/// Variant of `beat` and `sensitivity`.
const VARIANT: &str = "line-rate";
const PROGRAMS: [&str; 4] = ["ping", "http_get", "http_put", "http_both"];

/// Runs every scenario; the reports are written to `target/scenarios`.
///
/// # Errors
/// Expectations of a scenario were not met, or it failed; the error names the scenarios.
pub fn run(long: bool, log: &Path) -> Result<Outcome> {
    let linerate = demo::checked(Some(log))?;
    let mut failed = Vec::new();
    let checked = CHECKED.map(|(name, factor)| (name, (!long).then_some(factor)));
    let whole = LONG.map(|name| (name, None));
    let wanted: Vec<_> = checked
        .into_iter()
        .chain(whole.into_iter().filter(|_| long))
        .collect();
    for (name, factor) in &wanted {
        let mut run = scenario(&linerate, name);
        if let Some(factor) = factor {
            run.arg("--scale").arg(factor.to_string());
        }
        if sh::logged(&mut run, log).is_err() {
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        let text = std::fs::read_to_string(log)?;
        let reasons = text
            .lines()
            .filter(|line| line.starts_with("not met: ") || line.starts_with("error: "));
        let reasons: Vec<&str> = reasons.collect();
        bail!("{}\n{}", reasons.join("\n"), failed.join(", "));
    }
    Ok(Outcome::Done(format!("{} scenarios", wanted.len())))
}

fn scenario(linerate: &Path, name: &str) -> std::process::Command {
    let mut run = sh::cmd(linerate);
    run.arg("run")
        .arg(format!("scenarios/{name}.toml"))
        .arg("--out")
        .arg(sh::out("scenarios").join(name));
    run
}

/// `cargo xtask beat`: builds the firmware of `scenarios/beat-niccle.toml` and runs it.
pub fn beat() -> Result<()> {
    let board = board::read(board::DEFAULT)?;
    firmware::build(&board, &PROGRAMS.map(str::to_owned), &variant(), None)?;
    let get = ["http_get".to_owned()];
    firmware::build(&board, &get, &["windowed".to_owned()], None)?;
    let linerate = demo::optimised(None)?;
    let result = sh::run(&mut scenario(&linerate, "beat-niccle"));
    let report = sh::out("scenarios").join("beat-niccle/report.html");
    println!("report: {}", firmware::relative(&report));
    result
}

/// `cargo xtask sensitivity`: measures which results depend on guesses of the timing table.
pub fn sensitivity() -> Result<()> {
    let board = board::read(board::DEFAULT)?;
    let folder: PathBuf = sh::out("sensitivity-firmware");
    let programs = ["http_get", "station"].map(str::to_owned);
    let choices = [("LINERATE_SIZES", "1000000x1")];
    firmware::build_with(&board, &programs, &variant(), &choices, &folder, None)?;
    let linerate = demo::optimised(None)?;
    let mut run = sh::cmd(linerate);
    run.args(["sensitivity", "scenarios/sensitivity.toml", "--elf-dir"])
        .arg(&folder)
        .arg("--out")
        .arg(sh::out("sensitivity"));
    sh::run(&mut run).context("cannot measure the sensitivity")
}

fn variant() -> [String; 1] {
    [VARIANT.to_owned()]
}

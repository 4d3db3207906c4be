//! The scenarios that hold the firmware against its promises: short versions in the quick tier, the
//! whole of them with `--long`; and `cargo xtask beat` and `sensitivity`, which a person runs.

use crate::steps::Outcome;
use crate::{board, demo, firmware, sh};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// A scenario and by how much its quick version is shorter. What that comes to is said there: some
/// rounds of each conformance case, a second of a storm.
const CHECKED: [(&str, f64); 4] = [
    ("phy-conformance", 0.002),
    ("negotiation", 1.0),
    ("hub", 0.02),
    ("storm", 0.02),
];
/// Measured in the long tier only, and never shortened.
const LONG: [&str; 2] = ["beat-niccle", "loss-surface"];
/// What the headline is measured on.
const VARIANT: &str = "line-rate";
const PROGRAMS: [&str; 4] = ["ping", "http_get", "http_put", "http_both"];

/// Runs every scenario in its version; each leaves its report in `target/scenarios`.
///
/// # Errors
/// Names the scenarios whose expectations were not met, or what kept them from being measured.
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
        let told = text
            .lines()
            .filter(|line| line.starts_with("not met: ") || line.starts_with("error: "));
        let told: Vec<&str> = told.collect();
        bail!("{}\n{}", told.join("\n"), failed.join(", "));
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

/// `cargo xtask beat`: builds what the headline needs and measures it.
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

/// `cargo xtask sensitivity`: what rests on guesses.
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
    sh::run(&mut run).context("the sensitivity could not be measured")
}

fn variant() -> [String; 1] {
    [VARIANT.to_owned()]
}

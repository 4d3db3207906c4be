//! `cargo xtask causes`: provokes each cause of a slow link on Linux and on the simulated board, explains each
//! capture with `linerate explain`, and counts how often the right cause comes first.
//!
//! | module | content |
//! |---|---|
//! | `case` | a file of `scenarios/causes`: the cause, its severities and random values |
//! | `linux` | two namespaces connected by a relay, programs at both ends, a capture at the sender |
//! | `board` | runs of the simulated board, with capture and results |
//! | `sweep` | measurements of a target, without a capture |
//! | `programs`, `device` | the programs at the ends |
//! | `matrix` | the causes that were named for each provoked cause |

mod board;
mod case;
mod device;
mod linux;
mod matrix;
pub mod programs;
mod sweep;

use anyhow::{Context, Result, bail};
use case::{Case, Setup, Severity, Trial};
use clap::ValueEnum;
use linerate_results::record::Cause;
use matrix::Row;
use serde::Deserialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xtask::{demo, sh};

/// Seeds of severity a with which rules are written.
const DEVELOPMENT: [u64; 3] = [1, 2, 3];
/// Held-out seeds of severity a. If a rule changes after they were scored, the next two seeds replace them.
const HELD_OUT: [u64; 2] = [8, 9];
/// Seeds of severity b, all held out: they are also replaced after a change of a rule.
const HELD_OUT_B: [u64; 5] = [11, 12, 13, 14, 15];

/// Minimum share of the held-out runs in which the right cause comes first.
const MIN_CORRECT_SHARE: f64 = 0.9;
/// File with the confusion matrices.
const MATRIX: &str = "matrix.txt";

/// A part of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// Three seeds of severity a: what the rules were written with
    Development,
    /// Two more seeds and all of severity b: what the rules were not written with
    HeldOut,
    /// Both
    All,
}

impl Set {
    /// The set to which a run belongs.
    fn of(severity: Severity, seed: u64) -> Self {
        if severity == Severity::A && DEVELOPMENT.contains(&seed) {
            Self::Development
        } else {
            Self::HeldOut
        }
    }

    fn has(self, severity: Severity, seed: u64) -> bool {
        self == Self::All || self == Self::of(severity, seed)
    }
}

/// The five seeds of a case at this severity.
fn seeds(severity: Severity) -> impl Iterator<Item = u64> {
    let (before, held_out): (&[u64], &[u64]) = match severity {
        Severity::A => (&DEVELOPMENT, &HELD_OUT),
        Severity::B => (&[], &HELD_OUT_B),
    };
    before.iter().chain(held_out).copied()
}

/// Folder of captures and results.
pub fn out() -> PathBuf {
    sh::out("causes")
}

/// Runs the command.
///
/// # Errors
/// A case could not be provoked, a cause was named for a control, or the right cause came first in too few held-out
/// runs.
pub fn run(set: Set, words: &[String], built: Option<PathBuf>) -> Result<()> {
    let chosen = |case: &Case| words.is_empty() || words.iter().any(|it| case.name.contains(it));
    let cases: Vec<Case> = case::all()?.into_iter().filter(chosen).collect();
    if cases.is_empty() {
        bail!("no file in {} has such a name", case::FOLDER);
    }
    std::fs::create_dir_all(out())?;
    let linerate = if let Some(built) = built {
        built
    } else {
        board::build(&cases)?;
        linerate()?
    };
    let rows = score(&linerate, &cases, set)?;
    let matrix = matrix::format(&rows);
    print!("\n{matrix}");
    std::fs::write(out().join(MATRIX), &matrix)?;
    println!("captures: {}", out().display());
    if rows.iter().any(|row| row.is_control() && !row.is_right()) {
        bail!("a cause was named for a control");
    }
    let right = matrix::held_out_share(&rows);
    if right < MIN_CORRECT_SHARE {
        bail!(
            "the right cause comes first in only {:.1}% of the held-out runs",
            100.0 * right
        );
    }
    Ok(())
}

/// Builds the command line, with an optimised simulator.
///
/// # Errors
/// If it cannot be built.
pub fn linerate() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--locked", "--package", "linerate"]))?;
    Ok(demo::target()?.join("debug/linerate"))
}

/// Provokes and explains each run of `set`.
pub fn score(linerate: &Path, cases: &[Case], set: Set) -> Result<Vec<Row>> {
    let started = Instant::now();
    let runs: Vec<(&Case, Severity, u64)> = cases
        .iter()
        .flat_map(|case| Severity::BOTH.map(|severity| (case, severity)))
        .flat_map(|(case, severity)| seeds(severity).map(move |seed| (case, severity, seed)))
        .filter(|(_, severity, seed)| set.has(*severity, *seed))
        .collect();
    let mut rows = Vec::new();
    for (number, (case, severity, seed)) in runs.iter().enumerate() {
        let trial = case
            .trial(*severity, *seed)
            .with_context(|| format!("{}/{}.toml", case::FOLDER, case.name))?;
        if rows.last().is_none_or(|row: &Row| row.name != case.name) {
            println!("{}: {}", case.name, case.title);
        }
        let (at, all) = (number + 1, runs.len());
        let passed = started.elapsed().as_secs_f64();
        print!("  [{at}/{all}, {passed:.0} s] {}: ", trial.name);
        std::io::stdout().flush()?;
        let named = provoke(linerate, &trial).with_context(|| trial.name.clone())?;
        let row = Row::new(case, Set::of(*severity, *seed), named);
        println!("{}", row.line());
        rows.push(row);
    }
    Ok(rows)
}

/// Runs a trial; returns the causes that are named, in their order.
fn provoke(linerate: &Path, trial: &Trial) -> Result<Vec<Cause>> {
    match &trial.set_up {
        Setup::Linux(set_up) => {
            let capture = linux::capture(linerate, trial, set_up)?;
            explain(linerate, Some(&capture), None)
        }
        Setup::Board(set_up) => {
            let capture = board::capture(linerate, trial, set_up)?;
            let results = capture.with_file_name("run.json");
            let results = set_up.with_results.then_some(results.as_path());
            explain(linerate, Some(&capture), results)
        }
        Setup::Sweep(set_up) => {
            let results = sweep::results(linerate, trial, set_up)?;
            explain(linerate, None, Some(&results))
        }
    }
}

/// The part of `linerate explain --json` that is used.
#[derive(Deserialize)]
struct Explained {
    findings: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    cause: Cause,
}

/// Causes named by `linerate explain CAPTURE --with RESULTS`.
fn explain(linerate: &Path, capture: Option<&Path>, results: Option<&Path>) -> Result<Vec<Cause>> {
    let mut explain = sh::cmd(linerate);
    explain.arg("explain").args(capture).arg("--json");
    if let Some(results) = results {
        explain.arg("--with").arg(results);
    }
    let explained: Explained = serde_json::from_str(&sh::read(&mut explain)?)
        .with_context(|| format!("unexpected output of `{}`", sh::show(&explain)))?;
    Ok(explained.findings.into_iter().map(|it| it.cause).collect())
}

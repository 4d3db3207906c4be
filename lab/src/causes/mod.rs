//! `cargo xtask causes`: brings about what makes a link slow, on Linux and on the simulated board, has each
//! capture explained, and counts how often the right cause comes first.
//!
//! | module | what a person finds there |
//! |---|---|
//! | `case` | a file of `scenarios/causes`: what is brought about, how bad, what varies |
//! | `linux` | two namespaces with a relay between, programs at both ends, a capture at the sender |
//! | `board` | a run of the simulated board: its capture and its results |
//! | `sweep` | measurements of a target, without a capture |
//! | `talk`, `device` | the programs at the ends |
//! | `matrix` | what was named for what |

mod board;
mod case;
mod device;
mod linux;
mod matrix;
mod sweep;
pub mod talk;

use anyhow::{Context, Result, bail};
use case::{Case, Made, SetUp, Severity};
use clap::ValueEnum;
use linerate_results::record::Cause;
use matrix::Row;
use serde::Deserialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xtask::{demo, sh};

/// Rules are written with these seeds of severity a.
const DEVELOPMENT: [u64; 3] = [1, 2, 3];
/// The others of severity a. Where a rule changes after these were scored, the next two take their place.
const HELD_OUT: [u64; 2] = [8, 9];
/// All of severity b, which is held out: these, too, are new where a rule has changed.
const HELD_OUT_B: [u64; 5] = [11, 12, 13, 14, 15];

/// Of what is held out, the right cause comes first in this part at least.
const LEAST_RIGHT: f64 = 0.9;
/// What was named for what, for people.
const MATRIX: &str = "matrix.txt";

/// Which part of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// Three seeds of severity a: what the rules were written with
    Development,
    /// Two more and all of severity b: what was put by meanwhile
    HeldOut,
    /// Both
    All,
}

impl Set {
    /// Which of the two a run belongs to.
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

/// The seeds of a case at this severity: five.
fn seeds(severity: Severity) -> impl Iterator<Item = u64> {
    let (before, held_out): (&[u64], &[u64]) = match severity {
        Severity::A => (&DEVELOPMENT, &HELD_OUT),
        Severity::B => (&[], &HELD_OUT_B),
    };
    before.iter().chain(held_out).copied()
}

/// Where captures and results go.
pub fn out() -> PathBuf {
    sh::out("causes")
}

/// The command.
///
/// # Errors
/// A case could not be brought about, a control was given a cause, or too few of the held-out ones the right one.
pub fn run(set: Set, words: &[String], built: Option<PathBuf>) -> Result<()> {
    let chosen = |case: &Case| words.is_empty() || words.iter().any(|it| case.name.contains(it));
    let cases: Vec<Case> = case::all()?.into_iter().filter(chosen).collect();
    if cases.is_empty() {
        bail!("no file in {} is called so", case::FOLDER);
    }
    std::fs::create_dir_all(out())?;
    let linerate = if let Some(built) = built {
        built
    } else {
        board::build(&cases)?;
        linerate()?
    };
    let rows = score(&linerate, &cases, set)?;
    let told = matrix::tell(&rows);
    print!("\n{told}");
    std::fs::write(out().join(MATRIX), &told)?;
    println!("captures: {}", out().display());
    if rows.iter().any(|row| row.is_control() && !row.is_right()) {
        bail!("a control with nothing wrong was given a cause");
    }
    let right = matrix::held_out(&rows);
    if right < LEAST_RIGHT {
        bail!(
            "of what was held out the right cause comes first in {:.1}%",
            100.0 * right
        );
    }
    Ok(())
}

/// Builds the command line; the simulator in it is optimised.
fn linerate() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--locked", "--package", "linerate"]))?;
    Ok(demo::target()?.join("debug/linerate"))
}

/// Brings about each run of `set` and has it explained.
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
        let made = case
            .made(*severity, *seed)
            .with_context(|| format!("{}/{}.toml", case::FOLDER, case.name))?;
        if rows.last().is_none_or(|row: &Row| row.name != case.name) {
            println!("{}: {}", case.name, case.title);
        }
        let (at, all) = (number + 1, runs.len());
        let passed = started.elapsed().as_secs_f64();
        print!("  [{at}/{all}, {passed:.0} s] {}: ", made.name);
        std::io::stdout().flush()?;
        let named = provoke(linerate, &made).with_context(|| made.name.clone())?;
        let row = Row::new(case, Set::of(*severity, *seed), named);
        println!("{}", row.line());
        rows.push(row);
    }
    Ok(rows)
}

/// Brings it about; the causes that are named, the first first.
fn provoke(linerate: &Path, made: &Made) -> Result<Vec<Cause>> {
    match &made.set_up {
        SetUp::Linux(set_up) => {
            let capture = linux::capture(linerate, made, set_up)?;
            explain(linerate, Some(&capture), None)
        }
        SetUp::Board(set_up) => {
            let capture = board::capture(linerate, made, set_up)?;
            let results = capture.with_file_name("run.json");
            let results = set_up.with_results.then_some(results.as_path());
            explain(linerate, Some(&capture), results)
        }
        SetUp::Sweep(set_up) => {
            let results = sweep::results(linerate, made, set_up)?;
            explain(linerate, None, Some(&results))
        }
    }
}

/// What is read of `linerate explain --json`.
#[derive(Deserialize)]
struct Explained {
    findings: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    cause: Cause,
}

/// What `linerate explain CAPTURE --with RESULTS` names.
fn explain(linerate: &Path, capture: Option<&Path>, results: Option<&Path>) -> Result<Vec<Cause>> {
    let mut explain = sh::cmd(linerate);
    explain.arg("explain").args(capture).arg("--json");
    if let Some(results) = results {
        explain.arg("--with").arg(results);
    }
    let explained: Explained = serde_json::from_str(&sh::read(&mut explain)?)
        .with_context(|| format!("`{}` says something else", sh::show(&explain)))?;
    Ok(explained.findings.into_iter().map(|it| it.cause).collect())
}

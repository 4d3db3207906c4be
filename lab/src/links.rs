//! `cargo xtask links score DIR`: scores `linerate explain` on the captures that `lab/links/provoke.py` made without
//! linerate's relay, simulator or programs.
//!
//! | module | content |
//! |---|---|
//! | `label` | a line of labels.ndjson |
//! | `tally` | how often the right cause came first, by part, kind of capture and cause |
//! | `table` | the same as text |

mod label;
mod table;
mod tally;

use crate::causes;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use label::{Label, Part};
use linerate_results::record::Cause;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tally::{Named, Outcome, Tally};
use xtask::sh;

/// File with the scores, in the folder of the captures of `cargo xtask causes`.
const SCORES: &str = "scores.json";

/// What to do with the captures.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Explain each labelled capture and count how often the right cause comes first
    Score(Score),
}

/// Options of `score`.
#[derive(Debug, Args)]
pub struct Score {
    /// Folder with the captures and labels.ndjson
    folder: PathBuf,
    /// Only this part
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Only the cases whose name contains one of these words; the scores are not stored
    #[arg(long = "only", value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Use this linerate
    #[arg(long, value_name = "PROGRAM")]
    linerate: Option<PathBuf>,
}

/// The part of `linerate explain --json` that is used.
#[derive(Deserialize)]
struct Explained {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    cause: Cause,
    evidence: BTreeMap<String, f64>,
}

/// Runs the command.
///
/// # Errors
/// There are no such captures, or their labels cannot be read.
pub fn run(action: Action) -> Result<()> {
    match action {
        Action::Score(it) => score(&it),
    }
}

fn score(options: &Score) -> Result<()> {
    let labels: Vec<Label> = label::read(&options.folder)?
        .into_iter()
        .filter(|it| options.part.is_none_or(|part| it.part == part))
        .filter(|it| {
            options.only.is_empty() || options.only.iter().any(|word| it.case.contains(word))
        })
        .collect();
    if labels.is_empty() {
        bail!("no such capture in {}", options.folder.display());
    }
    let linerate = match &options.linerate {
        Some(built) => built.clone(),
        None => causes::linerate()?,
    };
    let mut outcomes = Vec::new();
    for label in labels {
        let named = explain(&linerate, &options.folder.join(&label.file)).unwrap_or_else(|error| {
            eprintln!("{}: {error:#}", label.file);
            Vec::new()
        });
        outcomes.push(Outcome::new(label, named));
    }
    let mut scores = BTreeMap::new();
    for part in Part::ALL {
        let of_part: Vec<&Outcome> = outcomes.iter().filter(|it| it.part() == part).collect();
        if !of_part.is_empty() {
            let tally = Tally::of(&of_part);
            println!("{}", table::format(part.name(), &of_part, &tally));
            scores.insert(part.name(), serde_json::to_value(&tally)?);
        }
    }
    if options.only.is_empty() {
        store(&scores)?;
    }
    Ok(())
}

/// What `linerate explain` names for a capture, in its order.
fn explain(linerate: &Path, capture: &Path) -> Result<Vec<Named>> {
    let mut explain = sh::cmd(linerate);
    explain.arg("explain").arg(capture).arg("--json");
    let explained: Explained = serde_json::from_str(&sh::read(&mut explain)?)
        .with_context(|| format!("unexpected output of `{}`", sh::show(&explain)))?;
    let named = |it: Finding| Named {
        cause: it.cause,
        gain: gain(&it.evidence),
    };
    Ok(explained.findings.into_iter().map(named).collect())
}

/// How many times faster the transfer would be without the cause.
fn gain(evidence: &BTreeMap<String, f64>) -> Option<f64> {
    let (with, without) = (evidence.get("time_ns")?, evidence.get("time_without_ns")?);
    Some(with / without.max(1.0))
}

/// Writes the scores; a part that was not scored this time keeps its own.
fn store(scores: &BTreeMap<&str, serde_json::Value>) -> Result<()> {
    let file = causes::out().join(SCORES);
    fs::create_dir_all(causes::out())?;
    let before = fs::read_to_string(&file).unwrap_or_default();
    let mut all: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&before).unwrap_or_default();
    let date = sh::read(sh::cmd("date").args(["-u", "+%Y-%m-%d"]))?;
    all.insert("date".to_owned(), date.trim().into());
    all.extend(
        scores
            .iter()
            .map(|(part, it)| ((*part).to_owned(), it.clone())),
    );
    fs::write(&file, serde_json::to_string_pretty(&all)? + "\n")?;
    println!("scores: {}", file.display());
    Ok(())
}

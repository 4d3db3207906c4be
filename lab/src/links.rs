//! `cargo xtask links score DIR`: scores `linerate explain` on the captures that `lab/links/provoke.py` made without
//! linerate's relay, simulator or programs.
//!
//! | module | content |
//! |---|---|
//! | `tally` | how often the right cause came first, by part, kind of capture and cause |
//! | `table` | the same as text |

mod table;
mod tally;

use crate::causes;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use linerate_results::record::Cause;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tally::{Named, Outcome, Tally};
use xtask::sh;

/// File with the labels, in the folder of the captures.
const LABELS: &str = "labels.ndjson";
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

/// A part of the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// What the rules were written with
    Development,
    /// What no rule has seen: once scored and looked at, it is spent
    Frozen,
}

impl Part {
    const ALL: [Self; 2] = [Self::Development, Self::Frozen];

    fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Frozen => "frozen",
        }
    }
}

/// A line of labels.ndjson.
#[derive(Clone, Debug, Deserialize)]
pub struct Label {
    file: String,
    case: String,
    part: Part,
    kind: String,
    /// The causes that may come first; empty for a control.
    expected: Vec<Cause>,
    control: bool,
    truth: Truth,
}

/// What was measured while the capture was made.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Truth {
    goodput_bits_per_s: Option<f64>,
    /// The goodput of a run without the cause.
    without_bits_per_s: Option<f64>,
}

impl Truth {
    /// How many times faster it is without the cause.
    fn gain(self) -> Option<f64> {
        Some(self.without_bits_per_s? / self.goodput_bits_per_s?)
    }
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
    let labels: Vec<Label> = read_labels(&options.folder)?
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

fn read_labels(folder: &Path) -> Result<Vec<Label>> {
    let file = folder.join(LABELS);
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).with_context(|| format!("{LABELS}, line {}", at + 1))
        })
        .collect()
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

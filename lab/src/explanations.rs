//! `cargo xtask explanations score DIR`: scores `linerate explain` on the captures that `lab/links/provoke.py` made without
//! linerate's relay, simulator or programs, and on published captures. `cargo xtask explanations calibrate DIR` derives the
//! confidence of answers from the development part.
//!
//! | module | content |
//! |---|---|
//! | `label` | a line of labels.ndjson |
//! | `explained` | the answer for a capture |
//! | `calibrate` | the table of confidence |
//! | `logistic` | logistic regression |
//! | `bands` | right answers by confidence |
//! | `by_kind` | precision and recall by cause and kind of capture |
//! | `tally` | how often the right cause came first, by part, kind of capture and cause |
//! | `table` | the same as text |

mod bands;
mod by_kind;
mod calibrate;
mod explained;
mod label;
mod logistic;
mod table;
mod tally;

use crate::causes;
use anyhow::{Result, bail};
use bands::Bands;
use clap::{Args, Subcommand};
use explained::{Explained, program};
use label::{Label, Part};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use tally::{Outcome, Tally};
use xtask::sh;

/// File with the scores, in the folder of the captures of `cargo xtask causes`.
const SCORES: &str = "scores.json";

/// What to do with the captures.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Explain each labelled capture and count how often the right cause comes first
    Score(Score),
    /// Derive the confidence of answers from the development captures
    Calibrate(calibrate::Calibrate),
}

/// Options of `score`.
#[derive(Debug, Args)]
pub struct Score {
    /// Folders with the captures and labels.ndjson
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Only this part
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Only the cases whose name contains one of these words; the scores are not stored
    #[arg(long = "only", value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Use this linerate
    #[arg(long, value_name = "PROGRAM")]
    linerate: Option<PathBuf>,
    /// Write the tables of confidence and of causes to docs/explain-scores.md
    #[arg(long)]
    page: bool,
}

/// Runs the command.
///
/// # Errors
/// There are no such captures, or their labels cannot be read.
pub fn run(action: Action) -> Result<()> {
    match action {
        Action::Score(it) => score(&it),
        Action::Calibrate(it) => calibrate::run(&it),
    }
}

fn score(options: &Score) -> Result<()> {
    let linerate = program(options.linerate.as_deref())?;
    let mut outcomes = Vec::new();
    for folder in &options.folders {
        for label in label::read(folder)?
            .into_iter()
            .filter(|it| options.selects(it))
        {
            let explained =
                Explained::of(&linerate, &folder.join(&label.file)).unwrap_or_else(|error| {
                    eprintln!("{}: {error:#}", label.file);
                    Explained::default()
                });
            outcomes.push(Outcome::new(label, explained));
        }
    }
    if outcomes.is_empty() {
        bail!("no such capture");
    }
    let mut sets: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for outcome in &outcomes {
        sets.entry(outcome.set()).or_default().push(outcome);
    }
    let mut scores = BTreeMap::new();
    let mut tables = Vec::new();
    let mut together = Bands::default();
    for (set, of_set) in sets {
        let tally = Tally::of(&of_set);
        println!("{}", table::format(&set, &of_set, &tally));
        scores.insert(set.replace(' ', "-"), serde_json::to_value(&tally)?);
        together = together.merged(&tally.confidence);
        tables.push((set, of_set, tally.confidence));
    }
    if tables.len() > 1 {
        println!("all together\n{}", together.lines());
    }
    print_contradictions(&outcomes);
    if options.page {
        by_kind::write(&by_kind::markdown(&tables))?;
    }
    if options.only.is_empty() {
        store(scores)?;
    }
    Ok(())
}

impl Score {
    fn selects(&self, label: &Label) -> bool {
        let is_named = self.only.iter().any(|word| label.case.contains(word));
        self.part.is_none_or(|part| label.part == part) && (self.only.is_empty() || is_named)
    }
}

fn print_contradictions(outcomes: &[Outcome]) {
    let all: usize = outcomes.iter().map(|it| it.contradictions().len()).sum();
    println!("contradictions: {all}");
    for outcome in outcomes {
        for text in outcome.contradictions() {
            println!("  {}: {text}", outcome.file());
        }
    }
}

/// Writes the scores; a part that was not scored this time keeps its own.
fn store(scores: BTreeMap<String, serde_json::Value>) -> Result<()> {
    let file = causes::out().join(SCORES);
    fs::create_dir_all(causes::out())?;
    let before = fs::read_to_string(&file).unwrap_or_default();
    let mut all: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&before).unwrap_or_default();
    let date = sh::read(sh::cmd("date").args(["-u", "+%Y-%m-%d"]))?;
    all.insert("date".to_owned(), date.trim().into());
    all.extend(scores);
    fs::write(&file, serde_json::to_string_pretty(&all)? + "\n")?;
    println!("scores: {}", file.display());
    Ok(())
}

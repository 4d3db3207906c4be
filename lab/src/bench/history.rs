//! Earlier runs of the benchmarks: `lab/bench/runs.ndjson`, one line per run of a section, oldest first.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use xtask::sh;

/// Runs in the table of a section, apart from the last one.
const SHOWN: usize = 5;

/// A run of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The section: `load`, `simulator`, `soft-socs`, `captures`.
    pub section: String,
    /// Day, UTC.
    pub date: String,
    /// The commit that was measured.
    pub commit: String,
    /// State of the machine, in a few words.
    #[serde(default)]
    pub note: String,
    /// What was measured.
    pub figures: Vec<Figure>,
}

/// A measurement, repeated, and its comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The measurement.
    pub what: String,
    /// The unit of all figures.
    pub unit: String,
    /// True if less is better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub less_is_better: bool,
    /// Ours, one per round. Of runs before this file there are median, minimum and maximum only.
    pub ours: Vec<f64>,
    /// The program that ours is compared with; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rival: String,
    /// Its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub theirs: Vec<f64>,
    /// Those of the least code that does the same on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limit: Vec<f64>,
}

/// Median, minimum and maximum.
pub fn spread(figures: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([
        *sorted.get(sorted.len() / 2)?,
        *sorted.first()?,
        *sorted.last()?,
    ])
}

impl Figure {
    /// Ratio by which ours is better than `other`, from the medians.
    fn ratio_to(&self, other: &[f64]) -> Option<f64> {
        let ([ours, ..], [other, ..]) = (spread(&self.ours)?, spread(other)?);
        let [better, than] = if self.less_is_better {
            [other, ours]
        } else {
            [ours, other]
        };
        (than > 0.0).then(|| better / than)
    }

    /// Ratio by which ours is better than the rival's.
    pub fn ratio(&self) -> Option<f64> {
        self.ratio_to(&self.theirs)
    }

    /// Ratio of ours to the limit: 1 if nothing can be gained.
    pub fn ratio_to_limit(&self) -> Option<f64> {
        self.ratio_to(&self.limit)
    }
}

/// Three significant digits or all integer digits, grouped.
pub fn number(value: f64) -> String {
    if value >= 100.0 {
        let digits = format!("{value:.0}");
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at) % 3 == 0 {
                text.push(' ');
            }
            text.push(digit);
        }
        return text;
    }
    format!("{value:.*}", if value >= 10.0 { 1 } else { 2 })
}

/// `5.80 (5.29 to 6.61)`, or a dash.
pub fn cell(figures: &[f64]) -> String {
    spread(figures).map_or_else(
        || "-".to_owned(),
        |[median, least, most]| {
            format!("{} ({} to {})", number(median), number(least), number(most))
        },
    )
}

/// A ratio, or a dash.
pub fn ratio_cell(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"))
}

fn file() -> PathBuf {
    sh::root().join("lab/bench/runs.ndjson")
}

/// Adds a run of `section` and returns its earlier runs, oldest first.
///
/// # Errors
/// The file cannot be read or written, or a line is no run.
pub fn record(section: &str, note: &str, figures: Vec<Figure>) -> Result<Vec<Run>> {
    let commit = sh::read(sh::cmd("git").args(["rev-parse", "--short", "HEAD"]))?;
    let date = sh::read(sh::cmd("date").args(["-u", "+%Y-%m-%d"]))?;
    let run = Run {
        section: section.to_owned(),
        date: date.trim().to_owned(),
        commit: commit.trim().to_owned(),
        note: note.to_owned(),
        figures,
    };
    let mut text = fs::read_to_string(file()).context("lab/bench/runs.ndjson")?;
    let earlier = parse(&text)?;
    writeln!(text, "{}", serde_json::to_string(&run)?)?;
    fs::write(file(), text)?;
    Ok(earlier
        .into_iter()
        .filter(|it| it.section == section)
        .collect())
}

fn parse(text: &str) -> Result<Vec<Run>> {
    let lines = text.lines().enumerate();
    lines
        .map(|(at, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("lab/bench/runs.ndjson: line {}", at + 1))
        })
        .collect()
}

/// The earlier runs of a section as Markdown: medians, and in parentheses ratios; empty without any.
pub fn table(earlier: &[Run]) -> String {
    let shown = &earlier[earlier.len().saturating_sub(SHOWN)..];
    if shown.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\nEarlier runs, median (ratio to the compared program):\n\n| figure |");
    for run in shown {
        // Writing to a string cannot fail.
        let _ = write!(text, " {} {} |", run.date, run.commit);
    }
    text += "\n|---|";
    text += &"---:|".repeat(shown.len());
    text += "\n";
    let mut names: Vec<(&str, &str, &str)> = Vec::new();
    for figure in shown.iter().flat_map(|run| &run.figures) {
        let name = (&*figure.what, &*figure.unit, &*figure.rival);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for (what, unit, rival) in names {
        let than = if rival.is_empty() {
            String::new()
        } else {
            format!(" (to {rival})")
        };
        let _ = write!(text, "| {what}, {unit}{than} |");
        for run in shown {
            let is_it = |it: &&Figure| (&*it.what, &*it.rival) == (what, rival);
            let cell = run.figures.iter().find(is_it).map_or_else(
                || "-".to_owned(),
                |figure| {
                    let median =
                        spread(&figure.ours).map_or_else(|| "-".to_owned(), |it| number(it[0]));
                    figure
                        .ratio()
                        .map_or(median.clone(), |ratio| format!("{median} ({ratio:.2})"))
                },
            );
            let _ = write!(text, " {cell} |");
        }
        text += "\n";
    }
    for run in shown.iter().filter(|run| !run.note.is_empty()) {
        let _ = writeln!(text, "\n{} {}: {}", run.date, run.commit, run.note);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::DOCUMENT;
    use super::*;

    fn figure(ours: &[f64], less_is_better: bool) -> Figure {
        Figure {
            what: "something".to_owned(),
            unit: "packets/s".to_owned(),
            less_is_better,
            ours: ours.to_vec(),
            rival: "iperf3".to_owned(),
            theirs: vec![100.0, 90.0, 5000.0],
            limit: vec![50.0],
        }
    }

    #[test]
    fn ratios_are_of_medians_and_better_is_more_than_one() {
        assert_eq!(figure(&[1.0, 500.0, 400.0], false).ratio(), Some(4.0));
        assert_eq!(figure(&[25.0, 1.0, 500.0], true).ratio(), Some(4.0));
        assert_eq!(figure(&[25.0], true).ratio_to_limit(), Some(2.0));
        assert_eq!(figure(&[], false).ratio(), None);
        assert_eq!(figure(&[0.0], true).ratio(), None);
    }

    #[test]
    fn figures_are_grouped_and_rounded() {
        assert_eq!(number(2_651_234.4), "2 651 234");
        assert_eq!(number(46.26), "46.3");
        assert_eq!(number(3.714), "3.71");
        assert_eq!(cell(&[3.0, 1.0, 20.0]), "3.00 (1.00 to 20.0)");
        assert_eq!(cell(&[]), "-");
    }

    /// The runs in the file can be read, and each section's last ones are in the table.
    #[test]
    fn earlier_runs_are_kept_and_shown_beside() {
        let runs = parse(&fs::read_to_string(file()).expect("there")).expect("runs");
        let load: Vec<Run> = runs.into_iter().filter(|it| it.section == "load").collect();
        assert!(load.len() >= 3, "earlier runs are kept");
        let text = table(&load);
        for words in [
            "2026-11-21 fcc7eb3",
            "| round trip of 64 octets, p50, us (to sockets that sleep) |",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.contains("5.80 (20.69)"), "{text}");
        assert_eq!(table(&[]), "");
    }

    /// Figures of one round, figures of another run, and a table that lost its earlier runs are none to publish.
    #[test]
    fn the_document_has_median_and_range_of_five_rounds_and_the_runs_before() {
        let runs = parse(&fs::read_to_string(file()).expect("there")).expect("runs");
        let document = fs::read_to_string(sh::root().join(DOCUMENT)).expect("there");
        for section in ["captures", "load", "simulator", "soft-socs"] {
            let runs = runs.iter().filter(|it| it.section == section);
            let runs: Vec<Run> = runs.cloned().collect();
            let (last, earlier) = runs.split_last().expect("a run");
            assert!(
                document.contains(&table(earlier)),
                "{section}: earlier runs"
            );
            for figure in &last.figures {
                let what = format!("{section}, {}", figure.what);
                let compared = [&figure.theirs, &figure.limit];
                let compared = compared.into_iter().filter(|it| !it.is_empty());
                for rounds in compared.chain([&figure.ours]) {
                    assert!(rounds.len() >= 5, "{what}: {rounds:?}");
                    let cell = cell(rounds);
                    assert!(document.contains(&cell), "{what}: no {cell} in {DOCUMENT}");
                }
            }
        }
    }
}

//! `cargo xtask answers`: does `linerate test` name the cause on throttled links, without and with a capture?
//!
//! | module | content |
//! |---|---|
//! | `cases` | the links, and the causes that are right for them |
//! | `place` | the network of a link, and the test over it |

mod cases;
mod place;

use anyhow::{Result, bail};
use cases::{CASES, Case, FURTHER};
use place::Bench;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use xtask::{demo, sh};

/// Scores of the last complete run, in `target`.
const SCORES: &str = "answers/scores.json";

/// A named cause.
struct Named {
    cause: String,
    summary: String,
}

/// Answers of `linerate test` to a case, without and with a capture.
struct Row {
    case: &'static Case,
    named: [Vec<Named>; 2],
}

impl Row {
    /// True if the right cause is named without, or with a capture.
    fn is_right(&self, capture: usize) -> bool {
        let first = self.named[capture].iter().take(self.case.within);
        let is_right = |it: &Named| {
            self.case.causes.contains(&it.cause.as_str()) && it.summary.contains(self.case.words)
        };
        first.into_iter().any(is_right)
    }

    fn cell(&self, capture: usize) -> String {
        let causes = self.named[capture].iter().take(self.case.within);
        let causes: Vec<&str> = causes.map(|it| it.cause.as_str()).collect();
        let shown = match causes.as_slice() {
            [] => "unknown".to_owned(),
            causes => causes.join(", "),
        };
        let mark = if self.is_right(capture) {
            ""
        } else {
            " (wrong)"
        };
        format!("{shown}{mark}")
    }

    fn line(&self) -> String {
        let words = match self.case.words {
            "" => String::new(),
            words => format!(", \"{words}\""),
        };
        format!(
            "| {} | {}{words} | {} | {} |",
            self.case.name,
            self.case.causes.join(" or "),
            self.cell(0),
            self.cell(1)
        )
    }

    fn json(&self) -> Value {
        let answers = [0, 1].map(|capture| {
            let causes = self.named[capture].iter().map(|it| it.cause.as_str());
            json!({ "right": self.is_right(capture), "causes": causes.collect::<Vec<_>>() })
        });
        json!({
            "link": self.case.name,
            "expected": self.case.causes,
            "words": self.case.words,
            "without": answers[0],
            "with": answers[1],
        })
    }
}

/// Runs the cases whose name contains one of the words, or all, with this linerate or a new one. The first ten are
/// scored.
pub fn run(words: &[String], linerate: Option<PathBuf>) -> Result<()> {
    if !cfg!(target_os = "linux") || !sh::has("ip") {
        bail!("this needs Linux with network namespaces and `ip`: apt-get install iproute2");
    }
    let bench = Bench {
        is_built: linerate.is_some(),
        program: match linerate {
            Some(program) => fs::canonicalize(program)?,
            None => demo::optimised(None)?,
        },
    };
    let scored = rows(&bench, CASES, words, "scored");
    let further = rows(&bench, FURTHER, words, "further");
    if words.is_empty() {
        store(&scored, &further)?;
    }
    Ok(())
}

fn rows(bench: &Bench, cases: &'static [Case], words: &[String], title: &str) -> Vec<Row> {
    let is_chosen = |case: &&Case| {
        let mut words = words.iter();
        words.len() == 0 || words.any(|word| case.name.contains(word.as_str()))
    };
    let mut rows = Vec::new();
    for case in cases.iter().filter(is_chosen) {
        if rows.is_empty() {
            println!(
                "| link, {title} | right | without a capture | with a capture |\n|---|---|---|---|"
            );
        }
        let row = Row {
            case,
            named: ["", "--capture"].map(|capture| answers(bench, case, capture)),
        };
        println!("{}", row.line());
        rows.push(row);
    }
    if !rows.is_empty() {
        let [without, with] = [0, 1].map(|capture| right(&rows, capture));
        let all = rows.len();
        println!("right: {without} of {all} without a capture, {with} of {all} with\n");
    }
    rows
}

/// Causes named by a test; none if it cannot be made.
fn answers(bench: &Bench, case: &Case, capture: &str) -> Vec<Named> {
    match bench.measure(case, capture) {
        Ok(run) => named(&run),
        Err(error) => {
            println!("(not measured: {error:#})");
            Vec::new()
        }
    }
}

fn right(rows: &[Row], capture: usize) -> usize {
    rows.iter().filter(|row| row.is_right(capture)).count()
}

/// Writes the scores.
fn store(scored: &[Row], further: &[Row]) -> Result<()> {
    let sum = |rows: &[Row], capture| json!({ "right": right(rows, capture), "of": rows.len() });
    let rows = |rows: &[Row]| rows.iter().map(Row::json).collect::<Vec<_>>();
    let commit = sh::read(sh::cmd("git").args(["describe", "--always", "--dirty"]))?;
    let scores = json!({
        "commit": commit.trim(),
        "without": sum(scored, 0),
        "with": sum(scored, 1),
        "links": rows(scored),
        "further": {
            "without": sum(further, 0),
            "with": sum(further, 1),
            "links": rows(further),
        },
    });
    let file = sh::out(SCORES);
    fs::write(&file, format!("{scores:#}\n"))?;
    println!("written: {}", file.display());
    Ok(())
}

/// The causes that a test names, in the order of its summary: those of all transfers together, then of each.
fn named(run: &Value) -> Vec<Named> {
    let results = run["results"].as_array().into_iter().flatten();
    let all = std::iter::once(run).chain(results);
    let findings = all.filter_map(|it| it["findings"].as_array()).flatten();
    findings
        .filter_map(|it| {
            Some(Named {
                cause: it["cause"].as_str()?.to_owned(),
                summary: it["summary"].as_str()?.to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_names_causes_of_the_results() {
        for case in CASES.iter().chain(FURTHER) {
            for cause in case.causes {
                let known: Result<linerate_results::record::Cause, _> =
                    serde_json::from_value(Value::from(*cause));
                assert!(known.is_ok(), "{}: {cause}", case.name);
            }
        }
    }

    #[test]
    fn ten_links_are_scored() {
        assert_eq!(CASES.len(), 10);
    }

    #[test]
    fn an_answer_needs_its_words_in_the_first_place() {
        let run = json!({
            "findings": [{ "cause": "path-rate", "summary": "a half-duplex line of 10 Mbit/s" }],
            "results": [{ "findings": [{ "cause": "late-acks", "summary": "" }] }],
        });
        let case = CASES.iter().find(|it| it.name.starts_with("half duplex"));
        let row = |run: &Value| Row {
            case: case.expect("a case"),
            named: [named(run), Vec::new()],
        };
        assert!(row(&run).is_right(0) && !row(&run).is_right(1));
        let without_words = json!({
            "results": [{ "findings": [{ "cause": "path-rate", "summary": "8.5 Mbit/s" }] }],
        });
        assert!(!row(&without_words).is_right(0));
    }
}

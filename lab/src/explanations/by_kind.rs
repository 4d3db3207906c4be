//! Precision and recall of each cause by kind of capture, as a table of docs/explain-scores.md.

use super::bands::Bands;
use super::tally::{Count, OfCause, Outcome, name};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// The page, and the lines between which the tables are.
const PAGE: &str = "docs/explain-scores.md";
const BEGIN: &str = "<!-- written by cargo xtask explanations score --page -->";
const END: &str = "<!-- end -->";
/// Kinds of captures of a transfer.
const KINDS: [&str; 4] = ["sender", "receiver", "late", "snapped"];

/// The tables of these sets: confidence, and each cause by kind of capture.
pub fn markdown(sets: &[(String, Vec<&Outcome>, Bands)]) -> String {
    let mut text = String::new();
    for (set, outcomes, bands) in sets {
        let _ = writeln!(
            text,
            "Confidence of the first answers, {set} part:\n\n{}",
            bands.markdown()
        );
        let _ = writeln!(
            text,
            "Right of those named first, and named first of those with this cause, {set} part:\n\n{}",
            causes(outcomes)
        );
    }
    text
}

fn causes(outcomes: &[&Outcome]) -> String {
    let mut rows: BTreeMap<String, BTreeMap<&str, OfCause>> = BTreeMap::new();
    for outcome in outcomes {
        let kind = outcome.kind();
        if let Some((first, is_right)) = outcome.first_answer() {
            let row = rows.entry(name(Some(first.cause))).or_default();
            row.entry(kind).or_default().precision.add(is_right);
        }
        if let Some(expected) = outcome.expected() {
            let row = rows.entry(name(Some(expected))).or_default();
            row.entry(kind).or_default().recall.add(outcome.is_right());
        }
    }
    let mut kinds: Vec<&str> = KINDS.to_vec();
    kinds.extend(
        rows.values()
            .flat_map(BTreeMap::keys)
            .filter(|it| !KINDS.contains(it)),
    );
    kinds[KINDS.len()..].sort_unstable();
    kinds.dedup();
    kinds.retain(|kind| rows.values().any(|row| row.contains_key(kind)));
    let mut text = format!(
        "| cause | {} |\n|---|{}\n",
        kinds.join(" | "),
        "---|".repeat(kinds.len())
    );
    for (cause, row) in rows {
        let cells = kinds.iter().map(|kind| cell(row.get(kind)));
        let _ = writeln!(
            text,
            "| `{cause}` | {} |",
            cells.collect::<Vec<_>>().join(" | ")
        );
    }
    text
}

fn cell(of: Option<&OfCause>) -> String {
    let count = |it: Count| {
        if it.of == 0 {
            "-".to_owned()
        } else {
            format!("{}/{}", it.right, it.of)
        }
    };
    of.map_or_else(String::new, |it| {
        format!("{}, {}", count(it.precision), count(it.recall))
    })
}

/// Writes the tables into the page.
///
/// # Errors
/// The page cannot be read or written, or lacks the lines between which they belong.
pub fn write(tables: &str) -> Result<()> {
    let page = fs::read_to_string(PAGE).with_context(|| PAGE.to_owned())?;
    let page = replaced(&page, tables).with_context(|| format!("{PAGE} lacks {BEGIN}"))?;
    fs::write(PAGE, page)?;
    println!("tables: {PAGE}");
    Ok(())
}

fn replaced(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!(
        "{before}{BEGIN}\n\n{}\n\n{END}{after}",
        tables.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::outcome;
    use super::*;
    use linerate_results::record::Cause;

    #[test]
    fn each_cause_has_its_counts_by_kind_of_capture() {
        let outcomes = [
            outcome("sender", &[Cause::Policed], &[Cause::Policed]),
            outcome("late-sender", &[Cause::Policed], &[Cause::RandomLoss]),
            outcome("sender", &[], &[Cause::RandomLoss]),
        ];
        let table = causes(&outcomes.iter().collect::<Vec<_>>());
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(
            rows,
            [
                "| cause | sender | late |",
                "|---|---|---|",
                "| `policed` | 1/1, 1/1 | -, 0/1 |",
                "| `random-loss` | 0/1, - | 0/1, - |",
            ]
        );
    }

    #[test]
    fn tables_replace_those_of_the_page() {
        let page = format!("a\n\n{BEGIN}\n\nold\n\n{END}\n\nb\n");
        let new = replaced(&page, "new\n").expect("markers");
        assert_eq!(new, format!("a\n\n{BEGIN}\n\nnew\n\n{END}\n\nb\n"));
        assert_eq!(replaced("a\n", "new"), None);
    }
}

//! Generates `docs/accuracy.md` from the results.

use super::Row;
use super::cases::{CHAPTERS, Chapter, Figure, Server, Unit};
use std::fmt::Write as _;

const HEAD: &str = "# Accuracy of the figures\n\n\
    Made by `cargo xtask accuracy` (Linux, root). Each procedure runs over [the relay](relay.md), which has a \
    known rate, delay, queue, jitter and loss, to `linerate serve` or a stock server in a separate network namespace. The \
    expected value follows from the settings. For random loss it is the relay's count of frames; for TCP windows, which \
    this end's Linux chooses, it is taken from a capture. The permitted error is 2%, or the limit in the last \
    column, with its reason below the table.\n\n\
    Most figures are measured three times: the run with the median error is reported, with the errors of all \
    three. Figures that are compared with the relay's counts are measured once, because both include the same \
    random events. Long procedures that repeat their trials are also measured once.\n";
const END: &str = "\nThe link, the device and the bench share the processors of one machine, so the figures include its \
    delays. On a busy machine the errors are larger.\n";

/// The page as Markdown: the chapters of `rows`, measured at `commit`, and the other ones of the `old` page.
pub fn page(old: &str, rows: &[Row], commit: &str) -> String {
    let mut text = HEAD.to_owned();
    for chapter in &CHAPTERS {
        let of = |row: &&Row| row.chapter.title == chapter.title;
        let rows: Vec<&Row> = rows.iter().filter(of).collect();
        if rows.is_empty() {
            text.push_str(part(old, chapter).unwrap_or_default());
        } else {
            write_chapter(&mut text, chapter, &rows, commit);
        }
    }
    text.push_str(END);
    text
}

/// The part of a page about `chapter`.
fn part<'a>(page: &'a str, chapter: &Chapter) -> Option<&'a str> {
    let start = page.find(&format!("\n## {}\n", chapter.title))?;
    let rest = &page[start + 1..];
    let end = rest.find("\n## ").or_else(|| rest.find(END));
    Some(&page[start..=start + end.unwrap_or(rest.len() - 1)])
}

// Writing to a string cannot fail.
fn write_chapter(text: &mut String, chapter: &Chapter, rows: &[&Row], commit: &str) {
    let _ = write!(
        text,
        "\n## {}\n\n\
         Measured with {commit}: `cargo xtask accuracy \"{}\"`.\n\n\
         | procedure, link | figure | expected | reported | error | each run | permitted error |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
        chapter.title, chapter.words[0]
    );
    let mut last = None;
    for row in rows {
        // A case with several figures is named once.
        let this = Some((row.case.command, row.case.link, row.case.server));
        let is_repeated = last == this;
        last = this;
        let what = if is_repeated {
            String::new()
        } else {
            let server = match row.case.server {
                Server::Linerate => "",
                Server::Iperf2 => "<br>stock `iperf -s -u`",
                Server::Iperf3 => "<br>stock `iperf3 -s`",
            };
            format!(
                "`linerate {}`<br>`{}`{server}",
                row.case.command, row.case.link
            )
        };
        let ((known, reported), unit) = (row.median(), row.figure.unit);
        let _ = writeln!(
            text,
            "| {what} | {} | {} | {} | {:+.2}%{} | {} | {} |",
            row.figure.name,
            unit.write(known),
            unit.write(reported),
            row.error() * 100.0,
            if row.is_within_bounds() {
                ""
            } else {
                " **not permitted**"
            },
            each(row),
            permitted(row.figure)
        );
    }
    let mut reasons: Vec<String> = Vec::new();
    for permitted in rows.iter().filter_map(|row| row.figure.permitted) {
        let reason = permitted.why.to_owned();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if !reasons.is_empty() {
        let _ = writeln!(text, "\nReasons for a permitted error other than 2%:\n");
    }
    for reason in reasons {
        let _ = writeln!(text, "- {reason}.");
    }
    if !chapter.notes.is_empty() {
        let _ = writeln!(text, "\n{}", chapter.notes);
    }
}

/// Errors of all runs in per cent; "once" for a single run.
fn each(row: &Row) -> String {
    match row.times.as_slice() {
        [_] => "once".to_owned(),
        times => {
            let errors = times.iter().map(|it| super::error(*it) * 100.0);
            let errors: Vec<String> = errors.map(|it| format!("{it:+.2}")).collect();
            errors.join(", ")
        }
    }
}

fn permitted(figure: &Figure) -> String {
    let Some(permitted) = figure.permitted else {
        return "2%".to_owned();
    };
    let write = |value: f64| match figure.unit {
        Unit::Count => format!("{value:.0}"),
        unit => unit.write(value),
    };
    #[allow(clippy::float_cmp)]
    if permitted.below == permitted.above {
        write(permitted.above)
    } else {
        format!("−{} to +{}", write(permitted.below), write(permitted.above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_that_are_not_measured_stay_as_they_are() {
        let chapters: Vec<String> = CHAPTERS
            .iter()
            .map(|it| format!("\n## {}\n\n| figure of {} |\n", it.title, it.title))
            .collect();
        let old = format!("{HEAD}{}{END}", chapters.concat());
        assert_eq!(page(&old, &[], "commit"), old);
    }
}

//! `docs/accuracy.md`, from what was measured.

use super::Row;
use super::cases::{CHAPTERS, Chapter, Figure, Unit};
use std::fmt::Write as _;

/// The page.
pub fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# How far off the figures are\n\n\
         Made by `cargo xtask accuracy` (Linux, root): each procedure over [the relay](relay.md), which \
         has a known rate, delay, queue, jitter and loss, toward `linerate serve` in a namespace of its \
         own. What is known comes from the settings, or where it is a matter of chance from the relay's \
         own count of the frames, or where it is up to this end's Linux (TCP windows) from a capture. A figure is right within 2%, or within the error that is stated below \
         its table with the reason.\n\n\
         Most are measured three times: the median is reported, and beside it how far off each of the \
         three was. What is held against the relay's count is measured once, as chance is in both; so are \
         procedures that take long and repeat their trials themselves.\n",
    );
    for chapter in &CHAPTERS {
        let of = |row: &&Row| row.chapter.title == chapter.title;
        let rows: Vec<&Row> = rows.iter().filter(of).collect();
        if !rows.is_empty() {
            write_chapter(&mut text, chapter, &rows);
        }
    }
    text.push_str(
        "\nThe link, the device and the bench share the processors of one machine here: what it adds is \
         in the figures. On a machine that is busy with something else they are worse.\n",
    );
    text
}

// Writing to a string does not fail.
fn write_chapter(text: &mut String, chapter: &Chapter, rows: &[&Row]) {
    let _ = write!(
        text,
        "\n## {}\n\n\
         | procedure, link | figure | known | reported | off by | each time | may be off by |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
        chapter.title
    );
    let mut last = None;
    for row in rows {
        // Of a case with several figures it is told once.
        let is_told = last == Some((row.case.command, row.case.link));
        last = Some((row.case.command, row.case.link));
        let what = if is_told {
            String::new()
        } else {
            format!("`linerate {}`<br>`{}`", row.case.command, row.case.link)
        };
        let ((known, reported), unit) = (row.median(), row.figure.unit);
        let _ = writeln!(
            text,
            "| {what} | {} | {} | {} | {:+.2}%{} | {} | {} |",
            row.figure.name,
            unit.write(known),
            unit.write(reported),
            row.error() * 100.0,
            if row.holds() { "" } else { " **too far**" },
            each(row),
            stated(row.figure)
        );
    }
    let mut reasons: Vec<String> = Vec::new();
    for stated in rows.iter().filter_map(|row| row.figure.stated) {
        let reason = stated.why.to_owned();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if !reasons.is_empty() {
        let _ = writeln!(text, "\nWhy more or less than 2% is stated:\n");
    }
    for reason in reasons {
        let _ = writeln!(text, "- {reason}.");
    }
}

/// How far off it was each time, where there were several.
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

fn stated(figure: &Figure) -> String {
    let Some(stated) = figure.stated else {
        return "2%".to_owned();
    };
    let write = |value: f64| match figure.unit {
        Unit::Count => format!("{value:.0}"),
        unit => unit.write(value),
    };
    #[allow(clippy::float_cmp)]
    if stated.below == stated.above {
        write(stated.above)
    } else {
        format!("−{} to +{}", write(stated.below), write(stated.above))
    }
}

//! The section of the document.

use super::machine::Busy;
use std::fmt::Write as _;

/// A comparison of ours with theirs, round by round.
pub struct Row {
    /// The measurement.
    pub what: String,
    /// The program that ours is compared with.
    pub rival: String,
    /// The unit of the figures.
    pub unit: &'static str,
    /// Ours, one figure per round.
    pub ours: Vec<f64>,
    /// Theirs.
    pub theirs: Vec<f64>,
    /// True if less is better.
    pub less_is_better: bool,
    /// Target of the ratio.
    pub target: f64,
    /// Minimum of the ratio.
    pub floor: f64,
}

/// Median, minimum and maximum.
fn spread(figures: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([
        *sorted.get(sorted.len() / 2)?,
        *sorted.first()?,
        *sorted.last()?,
    ])
}

impl Row {
    /// Ratio by which ours is better, from the medians.
    pub fn ratio(&self) -> Option<f64> {
        let ([ours, ..], [theirs, ..]) = (spread(&self.ours)?, spread(&self.theirs)?);
        let [better, than] = if self.less_is_better {
            [theirs, ours]
        } else {
            [ours, theirs]
        };
        (than > 0.0).then(|| better / than)
    }

    fn verdict(&self) -> &'static str {
        match self.ratio() {
            None => "not measured",
            Some(ratio) if ratio >= self.target => "target met",
            Some(ratio) if ratio >= self.floor => "above the floor",
            Some(_) => "**below the floor**",
        }
    }
}

/// Three significant digits or all integer digits, grouped.
fn figure(value: f64) -> String {
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

fn cell(figures: &[f64]) -> String {
    spread(figures).map_or_else(
        || "-".to_owned(),
        |[median, least, most]| {
            format!("{} ({} to {})", figure(median), figure(least), figure(most))
        },
    )
}

/// The section as Markdown.
pub fn section(rows: &Rows, busy: &Busy, noise: &str, command: &str) -> String {
    let mut text = format!(
        "{}\nWritten by `{command}` as root (this section only): two network namespaces joined by a veth pair, \
         the sender on core 0 and the receiver on core 1, rounds interleaved; median, minimum and maximum of the \
         rounds. Except for TCP, the sender's interface segments (`tx-udp-segmentation off`, `tso off`), so that \
         each segment is a packet, and the receiver's coalesces (GRO). {busy} {}.\n\n",
        super::TITLE,
        sentence(noise)
    );
    text.push_str(
        "| figure | linerate | compared with | ratio | target | floor | |\n|---|---:|---|---:|---:|---:|---|\n",
    );
    for row in &rows.rows {
        let ratio = row
            .ratio()
            .map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {}, {} | {} | {}: {} | {ratio} | {} | {} | {} |",
            row.what,
            row.unit,
            cell(&row.ours),
            row.rival,
            cell(&row.theirs),
            row.target,
            row.floor,
            row.verdict()
        );
    }
    for skipped in &rows.skipped {
        let _ = writeln!(text, "\nSkipped: {skipped}.");
    }
    text
}

/// The rows, and the skipped measurements.
#[derive(Default)]
pub struct Rows {
    pub rows: Vec<Row>,
    pub skipped: Vec<String>,
}

/// `text` with a capital first letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{Row, Rows, figure, section};
    use crate::bench::load::machine::Busy;

    fn row(ours: &[f64], less_is_better: bool) -> Row {
        Row {
            what: "something".to_owned(),
            rival: "iperf3".to_owned(),
            unit: "packets/s",
            ours: ours.to_vec(),
            theirs: vec![100.0, 90.0, 5000.0],
            less_is_better,
            target: 4.0,
            floor: 2.0,
        }
    }

    #[test]
    fn ratios_are_of_medians_and_better_is_more_than_one() {
        assert_eq!(row(&[1.0, 500.0, 400.0], false).ratio(), Some(4.0));
        assert_eq!(row(&[25.0, 1.0, 500.0], true).ratio(), Some(4.0));
        assert_eq!(row(&[], false).ratio(), None);
        assert_eq!(row(&[0.0], true).ratio(), None);
    }

    #[test]
    fn the_table_has_median_spread_and_verdict() {
        let rows = Rows {
            rows: vec![
                row(&[400.0, 390.0, 4100.0], false),
                row(&[250.0, 250.0, 250.0], false),
                row(&[100.0, 100.0, 100.0], false),
            ],
            skipped: vec!["no trafgen".to_owned()],
        };
        let text = section(
            &rows,
            &Busy::of(&[0.0]),
            "noise of this machine: none",
            "the command",
        );
        assert!(
            text.contains("| 400 (390 to 4 100) | iperf3: 100 (90.0 to 5 000) | 4.00 |"),
            "{text}"
        );
        for words in [
            "target met",
            "above the floor",
            "**below the floor**",
            "Skipped: no trafgen",
            "Noise of",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn figures_are_grouped_and_rounded() {
        assert_eq!(figure(2_651_234.4), "2 651 234");
        assert_eq!(figure(46.26), "46.3");
        assert_eq!(figure(3.714), "3.71");
    }
}

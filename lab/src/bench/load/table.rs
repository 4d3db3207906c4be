//! The section of the document.

use super::machine::Busy;
use crate::bench::history::{self, Figure, Run, cell, ratio_cell};
use std::fmt::Write as _;

/// A comparison of ours with theirs, round by round.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The figures.
    pub figure: Figure,
    /// Target of the ratio.
    pub target: f64,
    /// Minimum of the ratio.
    pub floor: f64,
}

/// From this ratio to the limit on, ours is level with it: rounds of either differ by as much.
const LEVEL: f64 = 0.9;

impl Row {
    fn verdict(&self) -> String {
        let Some(ratio) = self.figure.ratio() else {
            return "not measured".to_owned();
        };
        let verdict = if ratio >= self.target {
            "target met"
        } else if ratio >= self.floor {
            "above the floor"
        } else {
            "**below the floor**"
        };
        match self.figure.ratio_to_limit() {
            None => verdict.to_owned(),
            Some(ratio) if ratio >= LEVEL => format!("{verdict}; level with the limit"),
            Some(_) => format!("{verdict}; **below the limit**"),
        }
    }
}

/// What the ratios depend on.
const DEPENDENCE: &str = "The limit is `lab/bench/limit.c`, the least code in C that does the same over the same \
    interface without sleeping: its figures change with the machine as ours do. Those of the other programs change in \
    other ways. **Round trip**: sockets that sleep take what the scheduler and the idle states of the (virtual) machine \
    need to wake a program, 23 to 126 us on the machines tried, so this ratio is a property of the machine. **Raw \
    frames**: nearly all of the time of a frame is the kernel's, which delivers it at the other end of the pair on the \
    sender's core; both programs use the same ring, and their ratio is near 1. **TCP**: both ends are system calls of \
    128 KiB; the faster of two programs is taken in each round, and its rate depends on the core on which the kernel \
    runs the receiver's part.";

/// The section as Markdown.
pub fn section(rows: &Rows, busy: &Busy, noise: &str, command: &str, earlier: &[Run]) -> String {
    let mut text = format!(
        "{}\nWritten by `{command}` as root (this section only): two network namespaces joined by a veth pair, \
         the sender on core 0 and the receiver on core 1, {} rounds interleaved; median, minimum and maximum of the \
         rounds. Except for TCP, the sender's interface segments (`tx-udp-segmentation off`, `tso off`), so that \
         each segment is a packet, and the receiver's coalesces (GRO). {busy} {}.\n\n",
        super::TITLE,
        super::rows::ROUNDS,
        sentence(noise)
    );
    text.push_str(
        "| figure | linerate | limit of this machine | ratio | compared with | ratio | target | floor | |\n\
         |---|---:|---:|---:|---|---:|---:|---:|---|\n",
    );
    for row in &rows.rows {
        let figure = &row.figure;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {}, {} | {} | {} | {} | {}: {} | {} | {} | {} | {} |",
            figure.what,
            figure.unit,
            cell(&figure.ours),
            cell(&figure.limit),
            ratio_cell(figure.ratio_to_limit()),
            figure.rival,
            cell(&figure.theirs),
            ratio_cell(figure.ratio()),
            row.target,
            row.floor,
            row.verdict()
        );
    }
    for skipped in &rows.skipped {
        let _ = writeln!(text, "\nSkipped: {skipped}.");
    }
    let _ = writeln!(text, "\n{DEPENDENCE}");
    text.push_str(&history::table(earlier));
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
    use super::{Row, Rows, section};
    use crate::bench::history::{Figure, Run};
    use crate::bench::load::machine::Busy;

    fn row(ours: &[f64], limit: &[f64]) -> Row {
        Row {
            figure: Figure {
                what: "something".to_owned(),
                unit: "packets/s".to_owned(),
                ours: ours.to_vec(),
                rival: "iperf3".to_owned(),
                theirs: vec![100.0, 90.0, 5000.0],
                limit: limit.to_vec(),
                ..Figure::default()
            },
            target: 4.0,
            floor: 2.0,
        }
    }

    #[test]
    fn the_table_has_median_spread_verdict_and_the_runs_before() {
        let rows = Rows {
            rows: vec![
                row(&[400.0, 390.0, 4100.0], &[410.0]),
                row(&[250.0, 250.0, 250.0], &[500.0]),
                row(&[100.0, 100.0, 100.0], &[]),
            ],
            skipped: vec!["no trafgen".to_owned()],
        };
        let earlier = Run {
            section: "load".to_owned(),
            date: "2026-11-20".to_owned(),
            commit: "abc".to_owned(),
            note: "busy".to_owned(),
            figures: vec![row(&[50.0], &[]).figure],
        };
        let text = section(
            &rows,
            &Busy::of(&[0.0]),
            "noise of this machine: none",
            "the command",
            &[earlier],
        );
        let first =
            "| 400 (390 to 4 100) | 410 (410 to 410) | 0.98 | iperf3: 100 (90.0 to 5 000) | 4.00 |";
        assert!(text.contains(first), "{text}");
        for words in [
            "target met; level with the limit |",
            "above the floor; **below the limit** |",
            "**below the floor** |",
            "Skipped: no trafgen",
            "Noise of",
            "| something, packets/s (to iperf3) | 50.0 (0.50) |",
            "2026-11-20 abc: busy",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

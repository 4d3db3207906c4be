//! First answers by their confidence: whether it is the share of right ones.

use super::table::share;
use super::tally::Count;
use serde::Serialize;
use std::fmt::Write as _;

/// Names and lower bounds of the bands.
const BANDS: [(&str, f64); 5] = [
    ("below 0.6", 0.0),
    ("0.6 to 0.7", 0.6),
    ("0.7 to 0.8", 0.7),
    ("0.8 to 0.9", 0.8),
    ("0.9 and above", 0.9),
];

/// First answers by confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bands([Band; BANDS.len()]);

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Band {
    answers: Count,
    /// Sum of their confidences.
    confidence: f64,
}

impl Bands {
    /// Adds an answer.
    pub fn add(&mut self, confidence: f64, is_right: bool) {
        let at = BANDS.iter().rposition(|(_, from)| confidence >= *from);
        let band = &mut self.0[at.unwrap_or(0)];
        band.answers.add(is_right);
        band.confidence += confidence;
    }

    /// The bands of several sets together.
    pub fn merged(self, other: &Self) -> Self {
        let mut all = self;
        for (band, more) in all.0.iter_mut().zip(&other.0) {
            band.answers.right += more.answers.right;
            band.answers.of += more.answers.of;
            band.confidence += more.confidence;
        }
        all
    }

    /// Name, answers and mean confidence of each band with answers.
    fn rows(&self) -> impl Iterator<Item = (&'static str, Count, f64)> {
        let bands = BANDS.iter().zip(&self.0);
        let used = bands.filter(|(_, band)| band.answers.of > 0);
        used.map(|((name, _), it)| (*name, it.answers, it.confidence / it.answers.of as f64))
    }

    /// A line per band.
    pub fn lines(&self) -> String {
        let mut text = format!(
            "{:<26} {:>18} {:>18}\n",
            "confidence", "right", "mean confidence"
        );
        for (name, answers, mean) in self.rows() {
            let _ = writeln!(
                text,
                "{name:<26} {:>18} {:>17.1}%",
                share(answers),
                100.0 * mean
            );
        }
        text
    }

    /// The same as rows of a table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text =
            "| confidence | first answers | right | mean confidence |\n|---|---|---|---|\n"
                .to_owned();
        for (name, answers, mean) in self.rows() {
            let _ = writeln!(
                text,
                "| {name} | {} | {:.0}% | {:.0}% |",
                answers.of,
                answers.percent(),
                100.0 * mean
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_in_the_band_of_their_confidence() {
        let mut bands = Bands::default();
        for (confidence, is_right) in [(0.59, false), (0.6, true), (0.9, true), (1.0, false)] {
            bands.add(confidence, is_right);
        }
        let text = bands.merged(&bands.clone()).markdown();
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| below 0.6 | 2 | 0% | 59% |",
                "| 0.6 to 0.7 | 2 | 100% | 60% |",
                "| 0.9 and above | 4 | 50% | 95% |",
            ]
        );
    }
}

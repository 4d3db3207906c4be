//! A line of labels.ndjson, which the generators in lab/links, lab/heldout, lab/foreign, lab/routed, lab/stations,
//! lab/access and lab/field write beside their captures.

use anyhow::{Context, Result};
use clap::ValueEnum;
use linerate_results::record::Cause;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// File with the labels, in the folder of the captures.
const LABELS: &str = "labels.ndjson";

/// A part of the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// What the rules were written with
    Development,
    /// What no rule has seen: once scored and looked at, it is spent
    Frozen,
    /// The same, from the generators of lab/heldout, lab/foreign, lab/routed, lab/stations, lab/access and lab/field
    HeldOut,
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Frozen => "frozen",
            Self::HeldOut => "held-out",
        }
    }
}

/// A line of labels.ndjson.
#[derive(Clone, Debug, Deserialize)]
pub struct Label {
    pub file: String,
    pub case: String,
    pub part: Part,
    pub kind: String,
    #[serde(default)]
    pub seed: u64,
    pub expected: Answer,
    /// True if no answer is right, too: a careful reader may find nothing wrong.
    #[serde(default)]
    pub or_none: bool,
    pub control: bool,
    pub truth: Truth,
    /// Counters of the path that provoked it; none for a published capture.
    #[serde(default)]
    pub path: Option<serde::de::IgnoredAny>,
}

/// The right answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub enum Answer {
    /// The causes that may come first; none for a control.
    Causes(Vec<Cause>),
    /// Not even a careful reader knows.
    Unknown,
}

impl TryFrom<Vec<String>> for Answer {
    type Error = serde_json::Error;

    fn try_from(names: Vec<String>) -> Result<Self, Self::Error> {
        if names == ["unknown"] {
            return Ok(Self::Unknown);
        }
        let causes = names
            .into_iter()
            .map(|name| serde_json::from_value(name.into()));
        causes.collect::<Result<_, _>>().map(Self::Causes)
    }
}

impl Answer {
    /// The causes that may come first.
    pub fn causes(&self) -> &[Cause] {
        match self {
            Self::Causes(causes) => causes,
            Self::Unknown => &[],
        }
    }
}

impl Label {
    /// The captures that it is scored with: provoked or published ones of a part.
    pub fn set(&self) -> String {
        let part = self.part.name();
        match self.path {
            Some(_) => part.to_owned(),
            None => format!("published {part}"),
        }
    }
}

/// What was measured while the capture was made.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Truth {
    pub goodput_bits_per_s: Option<f64>,
    /// The goodput of a run without the cause.
    pub without_bits_per_s: Option<f64>,
}

impl Truth {
    /// How many times faster it is without the cause.
    pub fn gain(self) -> Option<f64> {
        Some(self.without_bits_per_s? / self.goodput_bits_per_s?)
    }
}

/// Reads the labels of the captures in `folder`.
///
/// # Errors
/// There are none, or a line is not a label.
pub fn read(folder: &Path) -> Result<Vec<Label>> {
    let file = folder.join(LABELS);
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).with_context(|| format!("{LABELS}, line {}", at + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn the_held_out_part_is_selected_by_the_name_in_its_labels() {
        let line = r#"{"file": "a-1-late-sender.pcap", "case": "a", "seed": 1, "part": "held-out", "kind": "late-sender",
            "expected": ["policed"], "or_none": true, "control": false, "truth": {"goodput_bits_per_s": 1e6, "without_bits_per_s": 3e6},
            "path": {"late_max_us": 7}, "settings": {"rtt_ms": 3.5}, "begun_after_s": 1.5, "sha256": "00"}"#;
        let label: Label = serde_json::from_str(line).expect("a label");
        assert_eq!(label.part, Part::HeldOut);
        assert_eq!(Part::from_str("held-out", false), Ok(label.part));
        assert_eq!(label.set(), "held-out");
        assert_eq!(label.truth.gain(), Some(3.0));
        assert!(label.or_none);
    }
}

//! A line of labels.ndjson, which `provoke.py` writes beside its captures.

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
}

impl Part {
    pub const ALL: [Self; 2] = [Self::Development, Self::Frozen];

    pub fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Frozen => "frozen",
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
    /// The causes that may come first; empty for a control.
    pub expected: Vec<Cause>,
    pub control: bool,
    pub truth: Truth,
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

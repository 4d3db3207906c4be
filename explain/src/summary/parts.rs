//! The parts of a summary.

use linerate_results::record::Finding;
use serde::Serialize;

use crate::svg::curve::Curves;

/// What results of one kind say together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// What was done.
    pub title: String,
    /// What came out, in a sentence or two.
    pub verdict: String,
    /// Why, what to look at first first. Empty where nothing is wrong.
    pub findings: Vec<Finding>,
    /// Which variant of a procedure ran, where it matters: a short one is not the standard's.
    pub variant: String,
    /// Pictures.
    pub charts: Vec<Chart>,
    /// The figures.
    pub table: Table,
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The names of its lines, in the order of their colours.
    pub legend: Vec<String>,
    /// SVG markup, with the page's classes.
    pub svg: String,
}

impl Chart {
    /// Draws curves.
    pub fn of(title: &str, curves: &Curves) -> Self {
        Self {
            title: title.to_owned(),
            legend: curves.lines.iter().map(|line| line.name.clone()).collect(),
            svg: crate::svg::curve::curves(curves),
        }
    }
}

/// Figures in rows; the first column names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Names of the columns.
    pub head: Vec<&'static str>,
    /// As many cells each.
    pub rows: Vec<Vec<String>>,
}

/// Places of a model's line from `low` to `high`, each the same multiple of the one before.
pub(super) fn spread(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const PLACES: u32 = 24;
    let low = low.max(f64::MIN_POSITIVE);
    let factor = (high / low).max(1.0);
    (0..=PLACES).map(move |at| low * factor.powf(f64::from(at) / f64::from(PLACES)))
}

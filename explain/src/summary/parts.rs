//! The parts of a summary.

use linerate_results::record::Finding;
use serde::Serialize;

use crate::svg::curve::Curves;

/// The summary of all results of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The procedure.
    pub title: String,
    /// The result, in a sentence or two.
    pub verdict: String,
    /// The causes, in the order in which to check them. Empty if nothing is wrong.
    pub findings: Vec<Finding>,
    /// The variant of the procedure, where it matters: a short one does not conform to the standard.
    pub variant: String,
    /// Charts.
    pub charts: Vec<Chart>,
    /// The figures.
    pub table: Table,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Chart {
    /// Its title.
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

/// Points with a rate in bytes per second, for an axis in bits per second.
pub(super) fn in_bits(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let point = |(x, bytes_per_s)| (x, bytes_per_s * 8.0);
    points.into_iter().map(point).collect()
}

/// The x values of a model's line from `low` to `high`, in a geometric series.
pub(super) fn geometric_series(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const PLACES: u32 = 24;
    let low = low.max(f64::MIN_POSITIVE);
    let factor = (high / low).max(1.0);
    (0..=PLACES).map(move |at| low * factor.powf(f64::from(at) / f64::from(PLACES)))
}

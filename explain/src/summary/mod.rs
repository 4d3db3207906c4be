//! Summaries of all results of a procedure: a sentence, charts, a table.
//!
//! A procedure stores one result per trial, so that an interrupted run keeps its trials. Figures that
//! need several trials (a knee, the highest lossless rate) are derived here, from the results alone.
//! Each summary is one file here and one line of `SUMMARIES`.

mod conformance;
mod latency;
mod packet_gaps;
mod rfc2544;
mod rfc6349;
mod size_sweep;
mod throughput;
mod udp_sweep;
mod window_sweep;

use serde::Serialize;

pub use crate::svg::curve::{Axis, Curves, Line};
use linerate_results::export::Figure;
use linerate_results::record::{Finding, Run};

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

/// Every kind of summary: each returns none if the run has no such results.
const SUMMARIES: &[fn(&Run) -> Vec<Summary>] = &[
    throughput::summaries,
    udp_sweep::summaries,
    size_sweep::summaries,
    window_sweep::summaries,
    latency::summaries,
    packet_gaps::summaries,
    rfc2544::summaries,
    rfc6349::summaries,
    conformance::summaries,
];

/// All summaries of `run`.
pub fn all(run: &Run) -> Vec<Summary> {
    SUMMARIES.iter().flat_map(|kind| kind(run)).collect()
}

/// Figures derived from several results, by what they belong to: comparable even if two searches tried
/// different values.
pub fn figures(run: &Run) -> Vec<(String, Vec<Figure>)> {
    [udp_sweep::figures, rfc2544::figures]
        .into_iter()
        .flat_map(|of| of(run))
        .collect()
}

/// The x values of a model's line from `low` to `high`, in a geometric series.
fn geometric_series(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const PLACES: u32 = 24;
    let low = low.max(f64::MIN_POSITIVE);
    let factor = (high / low).max(1.0);
    (0..=PLACES).map(move |at| low * factor.powf(f64::from(at) / f64::from(PLACES)))
}

//! What several results of a procedure say together: a sentence, a picture, a table.
//!
//! A procedure leaves one result a trial, so that a run that was cut off keeps what it had. What they
//! mean together (a knee, the highest lossless rate) is found here, from the results alone. A kind of
//! summary is one file here and one line of `KINDS`.

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

/// Every kind of summary: each makes as many as there is something for.
const KINDS: &[fn(&Run) -> Vec<Summary>] = &[
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
    KINDS.iter().flat_map(|kind| kind(run)).collect()
}

/// Figures that only several results together have, by what they are of: where a search has tried other
/// values than another one, these are what can be compared.
pub fn figures(run: &Run) -> Vec<(String, Vec<Figure>)> {
    [udp_sweep::figures, rfc2544::figures]
        .into_iter()
        .flat_map(|of| of(run))
        .collect()
}

/// Places of a model's line from `low` to `high`, each the same multiple of the one before.
fn spread(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const PLACES: u32 = 24;
    let low = low.max(f64::MIN_POSITIVE);
    let factor = (high / low).max(1.0);
    (0..=PLACES).map(move |at| low * factor.powf(f64::from(at) / f64::from(PLACES)))
}

//! Summaries of all results of a procedure: a sentence, charts, a table.
//!
//! A procedure stores one result per trial, so that an interrupted run keeps its trials. Figures that
//! need several trials (a knee, the highest lossless rate) are derived here, from the results alone.
//! Each summary is one file here and one line of `SUMMARIES`.

mod conformance;
mod latency;
mod matrix;
mod packet_gaps;
mod parts;
mod rfc2544;
mod rfc6349;
mod size_sweep;
mod throughput;
mod udp_sweep;
mod window_sweep;

pub use crate::svg::curve::{Axis, Curves, Line};
use linerate_results::export::Figure;
use linerate_results::record::Run;
pub use parts::{Chart, Summary, Table};
use parts::{geometric_series, in_bits};

/// Every kind of summary: each returns none if the run has no such results.
const SUMMARIES: &[fn(&Run) -> Vec<Summary>] = &[
    matrix::summaries,
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

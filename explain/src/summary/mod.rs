//! What several results of a procedure say together: a sentence, a picture, a table.
//!
//! A procedure leaves one result a trial, so that a run that was cut off keeps what it had. What they
//! mean together (a knee, the highest lossless rate) is found here, from the results alone. A kind of
//! summary is one file here and one line of `KINDS`.

mod conformance;
mod latency;
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
use parts::spread;
pub use parts::{Chart, Summary, Table};

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

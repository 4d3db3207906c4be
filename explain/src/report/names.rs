//! The loss surfaces and notes of results by their names.

use crate::svg::surface::Point;
use linerate_results::record::{Measurement, Run};

/// The points of each run that has some, with its name and the octets of a frame.
pub(super) fn surfaces(run: &Run) -> Vec<(&str, u64, Vec<Point>)> {
    let mut runs: Vec<(&str, u64, Vec<Point>)> = Vec::new();
    for point in run.loss_surface() {
        let octets = point.params.frame_octets;
        let label = point.params.setting.name();
        let metrics = &point.metrics;
        let point = Point {
            clock_ppm: point.params.clock_ppm,
            jitter_ns: point.params.jitter_ns,
            sent: metrics.frames_sent,
            lost: metrics.frames_sent.saturating_sub(metrics.frames_received),
            wrong: metrics.frames_wrong,
        };
        match runs
            .iter_mut()
            .find(|run| (run.0, run.1) == (label, octets))
        {
            Some(run) => run.2.push(point),
            None => runs.push((label, octets, vec![point])),
        }
    }
    runs
}

/// The notes on results, each with the result that it belongs to.
pub(super) fn notes(run: &Run) -> Vec<(String, String)> {
    let of = |result: &Measurement| {
        let what = result.describe().detail();
        let notes = result.setting().notes.clone();
        notes.into_iter().map(move |note| (what.clone(), note))
    };
    run.results.iter().flat_map(of).collect()
}

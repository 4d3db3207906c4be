//! What the physical layer copes with: conformance cases and the loss surface.

use serde::Serialize;

use super::name;
use crate::record::{LossSurface, Run};
use crate::report::format;
use crate::report::svg::surface::{self, Point};

/// A conformance case.
#[derive(Serialize)]
pub(super) struct CaseRow<'a> {
    case: &'a str,
    about: &'a str,
    source: &'a str,
    sent: String,
    received: String,
    wrong: String,
    refused: String,
    passed: bool,
    excuse: &'a str,
}

/// A loss surface.
#[derive(Serialize)]
pub(super) struct SurfaceView {
    name: String,
    text: String,
    chart: String,
}

/// Every conformance case.
pub(super) fn cases(run: &Run) -> Vec<CaseRow<'_>> {
    let cases = run.phy_conformances().map(|case| {
        let (params, metrics) = (&case.params, &case.metrics);
        CaseRow {
            case: &params.case,
            about: &params.about,
            source: &params.source,
            sent: format::count(metrics.frames_sent),
            received: format::count(metrics.frames_received),
            wrong: format::count(metrics.frames_wrong),
            refused: if metrics.frames_to_refuse == 0 {
                "–".into()
            } else {
                format!(
                    "{} of {}",
                    format::count(metrics.frames_refused),
                    format::count(metrics.frames_to_refuse)
                )
            },
            passed: metrics.passed,
            excuse: params.excuse.as_deref().unwrap_or(""),
        }
    });
    cases.collect()
}

/// A surface for each run that has points of one.
pub(super) fn surfaces(run: &Run) -> Vec<SurfaceView> {
    let mut runs: Vec<(&str, u64, Vec<&LossSurface>)> = Vec::new();
    for point in run.loss_surface() {
        let octets = point.params.frame_octets;
        let label = name(&point.params.variant, &point.params.setting);
        match runs
            .iter_mut()
            .find(|run| (run.0, run.1) == (label, octets))
        {
            Some(run) => run.2.push(point),
            None => runs.push((label, octets, vec![point])),
        }
    }
    let view = |(label, octets, points): &(&str, u64, Vec<&LossSurface>)| {
        let points: Vec<Point> = points
            .iter()
            .map(|point| Point {
                clock_ppm: point.params.clock_ppm,
                jitter_ns: point.params.jitter_ns,
                sent: point.metrics.frames_sent,
                lost: point
                    .metrics
                    .frames_sent
                    .saturating_sub(point.metrics.frames_received),
                wrong: point.metrics.frames_wrong,
            })
            .collect();
        let allowed = |point: &&Point| {
            point.clock_ppm.abs() <= surface::STANDARD_PPM
                && point.jitter_ns <= surface::STANDARD_JITTER_NS
        };
        let (sent, lost) = points
            .iter()
            .filter(allowed)
            .fold((0, 0), |(sent, lost), point| {
                (sent + point.sent, lost + point.lost)
            });
        let text = format!(
            "Frames of {} octets. Within what the standard allows, {} of {} were lost.",
            format::count(*octets),
            format::count(lost),
            format::count(sent)
        );
        SurfaceView {
            name: (*label).to_owned(),
            chart: surface::surface(&points, &format!("Loss surface of {label}. {text}")),
            text,
        }
    };
    runs.iter().map(view).collect()
}

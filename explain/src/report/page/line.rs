//! Limits of the physical layer: conformance cases and the loss surface.

use serde::Serialize;

use super::Legend;
use crate::report::names;
use crate::svg::surface::{self, Point};
use linerate_results::format;
use linerate_results::record::Run;

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

/// A surface for each run that has loss-surface points.
pub(super) fn surfaces(run: &Run) -> Vec<SurfaceView> {
    let view = |(label, octets, points): (&str, u64, Vec<Point>)| {
        let (sent, lost) = Point::within_the_standard(&points);
        let each = points.iter().map(|point| point.sent);
        let within = if sent == 0 {
            String::new()
        } else {
            format!(
                " Within the limits of the standard, {} of {} were lost.",
                format::count(lost),
                format::count(sent)
            )
        };
        let text = format!(
            "{} frames of {} octets at each point.{within}",
            format::count(each.max().unwrap_or(0)),
            format::count(octets)
        );
        SurfaceView {
            name: label.to_owned(),
            chart: surface::surface(&points, &format!("Loss surface of {label}. {text}")),
            text,
        }
    };
    names::surfaces(run).into_iter().map(view).collect()
}

/// The meaning of the surfaces' colours.
pub(super) fn surface_legend(run: &Run) -> Vec<Legend> {
    let runs = names::surfaces(run);
    let legend = surface::legend(runs.iter().flat_map(|(.., points)| points));
    let item = |(class, name): (&str, &str)| Legend {
        class: class.to_owned(),
        name: name.to_owned(),
    };
    let framed = item(("allowed", "limits of the standard"));
    legend.map(item).chain([framed]).collect()
}

//! The whole run in one sentence or two.

use super::names::{name, surfaces};
use crate::summary;
use crate::svg::surface::Point;
use linerate_results::format;
use linerate_results::record::{HttpGet, Measurement, Run};

/// Results that the headline lists one by one.
const MAX_IN_HEADLINE: usize = 3;

/// The whole run in one sentence or two.
pub fn verdict(run: &Run) -> String {
    let Some(best) = best(run) else {
        return without_downloads(run);
    };
    let share = best.share_of_line_rate();
    let first = format!(
        "The {} variant reaches {}, {} of line rate{}",
        best.params.variant,
        format::rate(best.metrics.goodput_bytes_per_s_p50),
        format::percent(share),
        if best.ledger.lost() == 0 {
            ", without losing a frame"
        } else {
            ""
        },
    );
    match worst(run).filter(|worst| worst.params.variant != best.params.variant) {
        None => format!("{first}."),
        Some(worst) => format!(
            "{first}; {} reaches {} on the same board and loses {} of the frames.",
            worst.params.variant,
            format::rate(worst.metrics.goodput_bytes_per_s_p50),
            format::percent(worst.metrics.frame_loss_rate),
        ),
    }
}

/// The same for a run without downloads.
fn without_downloads(run: &Run) -> String {
    let verdicts: Vec<String> = summary::all(run).into_iter().map(|it| it.verdict).collect();
    if !verdicts.is_empty() {
        return verdicts.join(" ");
    }
    let mut parts = Vec::new();
    let mut passed = |what: &str, passed: Vec<bool>| {
        if !passed.is_empty() {
            let holds = passed.iter().filter(|passed| **passed).count();
            parts.push(format!("{holds} of {} {what}", passed.len()));
        }
    };
    let cases = run.phy_conformances().map(|case| case.metrics.passed);
    passed("conformance cases passed", cases.collect());
    let negotiations = run.negotiations().map(|result| result.metrics.passed);
    passed(
        "negotiations had the expected result",
        negotiations.collect(),
    );
    for (name, _, points) in surfaces(run) {
        let (sent, lost) = Point::within_the_standard(&points);
        if sent == 0 {
            continue;
        }
        parts.push(format!(
            "{name} loses {} of {} frames within the standard's clock offset and jitter",
            format::count(lost),
            format::count(sent)
        ));
    }
    // The other results one by one; all of them if nothing was counted above.
    let none = parts.is_empty();
    let counted = |result: &&Measurement| {
        matches!(
            result,
            Measurement::PhyConformance(_)
                | Measurement::Negotiation(_)
                | Measurement::LossSurface(_)
        )
    };
    let mut rest = run.results.iter().filter(|result| none || !counted(result));
    for result in rest.by_ref().take(MAX_IN_HEADLINE) {
        let line = result.describe().one_line();
        // Collapse the padding of console columns.
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = name(result.variant(), result.setting());
        parts.push(format!("{name}, {}", words.join(" ")));
    }
    match rest.count() {
        0 => {}
        1 => parts.push("and 1 more result".to_owned()),
        more => parts.push(format!("and {more} more results")),
    }
    if parts.is_empty() {
        parts.push("nothing was measured".to_owned());
    }
    format!("{}: {}.", run.scenario, parts.join("; "))
}

/// The fastest download, by its median, among those without frame loss; among all if there is none.
pub(crate) fn best(run: &Run) -> Option<&HttpGet> {
    let lossless = run.http_gets().filter(|get| get.ledger.lost() == 0);
    lossless
        .max_by(|a, b| by_goodput(a, b))
        .or_else(|| run.http_gets().max_by(|a, b| by_goodput(a, b)))
}

/// The best download of the slowest variant.
fn worst(run: &Run) -> Option<&HttpGet> {
    let best_of = |variant| {
        let gets = run
            .http_gets()
            .filter(move |get| get.params.variant == variant);
        gets.max_by(|a, b| by_goodput(a, b))
    };
    run.variants()
        .into_iter()
        .filter_map(best_of)
        .min_by(|a, b| by_goodput(a, b))
}

fn by_goodput(a: &HttpGet, b: &HttpGet) -> std::cmp::Ordering {
    a.metrics
        .goodput_bytes_per_s_p50
        .total_cmp(&b.metrics.goodput_bytes_per_s_p50)
}

//! Two frames in a row, as an oscilloscope would show them.

use serde::Serialize;

use super::label;
use crate::published::Published;
use crate::svg::scope;
use linerate_results::format;
use linerate_results::record::HttpGet;

#[derive(Serialize)]
pub(super) struct Scope {
    name: String,
    text: String,
    chart: String,
}

pub(super) fn scope_view(get: &HttpGet, figures: &Published) -> Option<Scope> {
    let trace = get.samples.scope.as_ref()?;
    let words: Vec<String> = trace
        .marks
        .iter()
        .map(|mark| {
            format!(
                "{} {}",
                mark.label,
                format::time(mark.end_ns.saturating_sub(mark.start_ns))
            )
        })
        .collect();
    let published = figures
        .stage(&get.params.setting.variant)
        .and_then(|stage| stage.post_processing_ns);
    let beside = published.map_or(String::new(), |ns| {
        format!(" (published {})", format::time(ns))
    });
    Some(Scope {
        name: label(get).to_owned(),
        text: format!("{}{beside}", words.join(", ")),
        chart: scope::draw(trace, &format!("{}: {}", label(get), words.join(", "))),
    })
}

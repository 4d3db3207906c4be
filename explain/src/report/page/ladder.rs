//! From the first stage to the last: the gain of each step.

use serde::Serialize;

use super::label;
use crate::published::Published;
use linerate_results::format;
use linerate_results::record::{HttpGet, Run};
use linerate_results::stats;

/// One step.
#[derive(Serialize)]
pub(super) struct Step<'a> {
    name: String,
    what: &'a str,
    /// Its largest download, and the share of line rate that it reaches.
    goodput: String,
    share: String,
    /// The gain over the step before.
    gain: String,
    rest: String,
}

/// The ladder: the steps that were measured.
pub(super) fn ladder<'a>(run: &Run, published: &'a Published) -> Vec<Step<'a>> {
    let steps = published.steps.iter();
    let measured: Vec<(&'a str, Vec<&HttpGet>)> = steps
        .filter_map(|step| {
            let (variant, what) = (step.variant.as_str(), step.what.as_str());
            // Of several runs of one variant the first is the one that the scenario is about.
            let first = run
                .http_gets()
                .find(|get| get.params.setting.variant == variant)?;
            let of_run = |get: &&HttpGet| {
                get.params.setting.variant == variant
                    && get.params.setting.run == first.params.setting.run
            };
            Some((what, run.http_gets().filter(of_run).collect()))
        })
        .collect();
    if measured.len() < 2 {
        return Vec::new();
    }
    let mut before: &[&HttpGet] = &[];
    let mut steps = Vec::new();
    for (what, gets) in &measured {
        if let Some(largest) = gets.iter().max_by_key(|get| get.params.bytes) {
            steps.push(step(what, largest, gain(before, gets)));
        }
        before = gets;
    }
    steps
}

/// What `after` gains over `before`, at the largest size that both have.
fn gain(before: &[&HttpGet], after: &[&HttpGet]) -> String {
    let pairs = before.iter().filter_map(|before| {
        let same = |after: &&&HttpGet| after.params.bytes == before.params.bytes;
        Some((*before, *after.iter().find(same)?))
    });
    let Some((before, after)) = pairs.max_by_key(|(before, _)| before.params.bytes) else {
        return String::new();
    };
    let (from, to) = (
        before.metrics.goodput_bytes_per_s_p50,
        after.metrics.goodput_bytes_per_s_p50,
    );
    let factor = stats::ratio(to, from);
    let factor = if factor >= 2.0 {
        format!("× {factor:.0}")
    } else {
        format::error(to, from)
    };
    let mut words = vec![format!(
        "{factor} at {}: {} to {}",
        format::bytes(after.params.bytes),
        format::rate(from),
        format::rate(to)
    )];
    let (lost, loses) = (
        before.metrics.frame_loss_rate,
        after.metrics.frame_loss_rate,
    );
    if (lost - loses).abs() >= 0.005 {
        words.push(format!(
            "loss {} to {}",
            format::percent(lost),
            format::percent(loses)
        ));
    }
    let (took, takes) = (
        before.metrics.isr_post_processing_ns_p50,
        after.metrics.isr_post_processing_ns_p50,
    );
    if took > 0 && took.abs_diff(takes) * 20 > took {
        words.push(format!(
            "post-processing {} to {}",
            format::time(took),
            format::time(takes)
        ));
    }
    words.join("; ")
}

fn step<'a>(what: &'a str, get: &HttpGet, gain: String) -> Step<'a> {
    Step {
        name: label(get).to_owned(),
        what,
        goodput: format!(
            "{} at {}",
            format::rate(get.metrics.goodput_bytes_per_s_p50),
            format::bytes(get.params.bytes)
        ),
        share: format::percent(get.share_of_line_rate()),
        gain,
        rest: get
            .findings
            .first()
            .map_or_else(String::new, |finding| finding.cause.to_string()),
    }
}

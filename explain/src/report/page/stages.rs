//! Each download beside the published figures: the table, the dots.

use serde::Serialize;

use super::{label, size};
use crate::published::Published;
use crate::svg::dots;
use linerate_results::format;
use linerate_results::record::{HttpGet, Run};

#[derive(Serialize)]
pub(super) struct StageRow<'a> {
    variant: String,
    what: &'a str,
    size: String,
    megabits: String,
    bytes: String,
    published: String,
    error: String,
    share: String,
    loss: String,
    loss_published: String,
    post: String,
    post_published: String,
    post_error: String,
    last_of_stage: bool,
}

pub(super) fn stage_row<'a>(
    run: &Run,
    get: &HttpGet,
    figures: &'a Published,
    last_of_stage: bool,
) -> StageRow<'a> {
    let published = figures.stage(&get.params.setting.variant);
    let goodput = get.metrics.goodput_bytes_per_s_p50;
    let goodput_published = figures.goodput_bytes_per_s(run, get);
    let post_ns = get.metrics.isr_post_processing_ns_p50;
    let post_published = published.and_then(|stage| stage.post_processing_ns);
    let loss_published = figures.loss_rate(run, get);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    StageRow {
        variant: label(get).to_owned(),
        what: published.map_or("", |stage| stage.what.as_str()),
        size: size(get),
        megabits: format::megabits(goodput),
        bytes: format::byte_rate(goodput),
        published: or_dash(goodput_published.map(format::megabits)),
        error: or_dash(goodput_published.map(|published| format::error(goodput, published))),
        share: format::percent(get.share_of_line_rate()),
        loss: format::percent(get.metrics.frame_loss_rate),
        loss_published: or_dash(loss_published.map(format::percent)),
        post: if post_ns == 0 {
            "–".into()
        } else {
            format::time(post_ns)
        },
        post_published: or_dash(post_published.map(format::time)),
        post_error: or_dash(
            post_published
                .filter(|_| post_ns > 0)
                .map(|published| format::error(post_ns as f64, published as f64)),
        ),
        last_of_stage,
    }
}

pub(super) fn groups(
    run: &Run,
    gets: &[&HttpGet],
    figures: &Published,
    class: impl Fn(&str) -> String,
) -> Vec<dots::Group> {
    let mut sizes: Vec<u64> = gets.iter().map(|get| get.params.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let series = |get: &&HttpGet| dots::Series {
        class: class(label(get)),
        name: label(get).to_owned(),
        goodput: get.metrics.goodput_bytes_per_s.clone(),
        published: figures.goodput_bytes_per_s(run, get),
    };
    sizes
        .into_iter()
        .map(|bytes| dots::Group {
            size: format::bytes(bytes),
            series: gets
                .iter()
                .filter(|get| get.params.bytes == bytes)
                .map(series)
                .collect(),
        })
        .collect()
}

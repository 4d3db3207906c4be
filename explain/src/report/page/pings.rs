//! Pings beside the published ones.

use serde::Serialize;

use crate::published::Published;
use crate::report::names::name;
use linerate_results::format;
use linerate_results::record::Ping;

#[derive(Serialize)]
pub(super) struct PingRow {
    class: String,
    variant: String,
    answered: String,
    min: String,
    p50: String,
    max: String,
    wire: String,
    published: String,
    error: String,
}

pub(super) fn ping_row(ping: &Ping, figures: &Published, class: String) -> PingRow {
    let published = figures
        .stage(&ping.params.variant)
        .and_then(|stage| stage.ping_ns);
    let rtt = ping.metrics.rtt_ns;
    PingRow {
        class,
        variant: name(&ping.params.variant, &ping.params.setting).to_owned(),
        answered: format!("{} of {}", ping.metrics.received, ping.metrics.sent),
        min: format::time(rtt.min),
        p50: format::time(rtt.p50),
        max: format::time(rtt.max),
        wire: format::time(ping.metrics.wire_rtt_ns.p50),
        published: published.map_or_else(|| "–".into(), format::time),
        error: published.map_or_else(|| "–".into(), |ns| format::error(rtt.p50 as f64, ns as f64)),
    }
}

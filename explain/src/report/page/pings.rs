//! Pings beside the published ones.

use serde::Serialize;

use crate::published::Published;
use linerate_results::format;
use linerate_results::record::Ping;

#[derive(Serialize)]
pub(super) struct PingRow {
    variant: String,
    answered: String,
    min: String,
    p50: String,
    max: String,
    wire: String,
    published: String,
    error: String,
}

pub(super) fn ping_row(ping: &Ping, figures: &Published) -> PingRow {
    let published = figures
        .stage(&ping.params.setting.variant)
        .and_then(|stage| stage.ping_ns);
    let rtt = ping.metrics.rtt_ns;
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".into(), format::time);
    PingRow {
        variant: ping.params.setting.name().to_owned(),
        answered: format!("{} of {}", ping.metrics.received, ping.metrics.sent),
        min: time(rtt.map(|rtt| rtt.min)),
        p50: time(rtt.map(|rtt| rtt.p50)),
        max: time(rtt.map(|rtt| rtt.max)),
        wire: time(ping.metrics.wire_rtt_ns.map(|rtt| rtt.p50)),
        published: time(published),
        error: published.zip(rtt).map_or_else(
            || "–".into(),
            |(ns, rtt)| format::error(rtt.p50 as f64, ns as f64),
        ),
    }
}

//! Uploads, storms, hubs and negotiations: a line each.

use serde::Serialize;

use super::name;
use crate::record::{Conditions, Measurement, Run};
use crate::report::format;

/// A measurement.
#[derive(Serialize)]
pub(super) struct OtherRow<'a> {
    kind: &'static str,
    name: &'a str,
    conditions: String,
    words: String,
    /// `None` where nothing in particular is asked for.
    passed: Option<bool>,
}

/// Every measurement that no other section shows.
pub(super) fn others(run: &Run) -> Vec<OtherRow<'_>> {
    let rows = run.results.iter().filter_map(|result| {
        let (words, passed) = words(result)?;
        Some(OtherRow {
            kind: match result {
                Measurement::HttpPut(_) => "upload",
                Measurement::HttpBoth(_) => "both at once",
                Measurement::Storm(_) => "storm",
                Measurement::HubShare(_) => "hub",
                _ => "negotiation",
            },
            name: name(result.variant(), result.setting()),
            conditions: conditions(&result.setting().conditions),
            words,
            passed,
        })
    });
    rows.collect()
}

fn words(result: &Measurement) -> Option<(String, Option<bool>)> {
    Some(match result {
        Measurement::HttpPut(put) => {
            let metrics = &put.metrics;
            let words = format!(
                "{} × {}: {}, {} of line rate; {} segments sent again, {} collisions",
                put.params.requests,
                format::bytes(put.params.bytes),
                format::rate(metrics.goodput_bytes_per_s_p50),
                format::percent(crate::stats::ratio(
                    metrics.goodput_bytes_per_s_p50,
                    put.limits.line_goodput_bytes_per_s
                )),
                format::count(metrics.retransmitted_segments),
                format::count(metrics.device_collisions),
            );
            (words, Some(metrics.crc32 == metrics.crc32_expected))
        }
        Measurement::HttpBoth(both) => {
            let metrics = &both.metrics;
            let median = |rates: &[f64]| {
                format::rate(crate::stats::percentile_f64(rates, 50.0).unwrap_or(0.0))
            };
            let words = format!(
                "{} × {} each way: {} together; download {}, upload {}; {} of the peer's frames lost",
                both.params.requests,
                format::bytes(both.params.bytes),
                format::rate(metrics.goodput_bytes_per_s_p50),
                median(&metrics.download_goodput_bytes_per_s),
                median(&metrics.upload_goodput_bytes_per_s),
                format::percent(metrics.frame_loss_rate),
            );
            (words, Some(metrics.crc32 == metrics.crc32_expected))
        }
        Measurement::Storm(storm) => {
            let metrics = &storm.metrics;
            let after = |ms: Option<f64>| {
                ms.map_or_else(|| "never".into(), |ms| format!("after {ms:.1} ms"))
            };
            let words = format!(
                "{} of {} frames of {} octets ({}): {} accepted, {} of the time free, longest \
                 standstill {:.1} ms; then a ping {}, a new connection {}, the old one {}",
                format::time(storm.params.storm_ms * 1_000_000),
                format::count(metrics.storm_frames),
                storm.params.frame_octets,
                storm.params.destination,
                format::count(metrics.storm_frames_received),
                format::percent(metrics.free_share),
                metrics.longest_standstill_ms,
                after(metrics.ping_after_ms),
                after(metrics.new_connection_after_ms),
                after(metrics.old_connection_after_ms),
            );
            (words, Some(metrics.uncounted_frames == 0))
        }
        Measurement::HubShare(hub) => {
            let (params, metrics) = (&hub.params, &hub.metrics);
            let words = format!(
                "{} stations, {} offered: the device has {}, a fair share is {}; the medium is used \
                 to {}; {} collisions, {} frames given up",
                params.stations,
                format::percent(params.offered_load),
                format::percent(metrics.device_share),
                format::percent(metrics.fair_share),
                format::percent(metrics.utilisation),
                format::count(metrics.device_collisions),
                format::count(metrics.device_frames_given_up),
            );
            (words, Some(metrics.uncounted_frames == 0))
        }
        Measurement::Negotiation(negotiation) => {
            let metrics = &negotiation.metrics;
            let up = metrics
                .up_after_ms
                .map_or_else(String::new, |ms| format!(" after {ms:.0} ms"));
            let or_nothing = |text: &str| {
                if text.is_empty() {
                    "–".to_owned()
                } else {
                    text.to_owned()
                }
            };
            let words = format!(
                "link {}{up}, {} duplex by {}; partner: {}; {} of {} pings answered",
                or_nothing(&metrics.link),
                or_nothing(&metrics.device_duplex),
                or_nothing(&metrics.by),
                or_nothing(&metrics.partner),
                metrics.pings_answered,
                metrics.pings_sent,
            );
            (words, Some(metrics.passed))
        }
        _ => return None,
    })
}

/// What is not as it is on a perfect cable, in words.
pub(super) fn conditions(conditions: &Conditions) -> String {
    let mut words = Vec::new();
    if conditions.turnaround_ns > 0 {
        words.push(format!(
            "turnaround {}",
            format::time(conditions.turnaround_ns)
        ));
    }
    for (name, value) in &conditions.wire {
        words.push(format!("{} {value}", name.replace('_', " ")));
    }
    if conditions.hub_stations > 0 {
        words.push(format!("{} more on a hub", conditions.hub_stations));
    }
    if !conditions.partner.is_empty() {
        words.push(format!("partner offers {}", conditions.partner.join(", ")));
    }
    words.join("; ")
}

//! From a record to what keeps it from line rate. Pure: the same record gives the same findings.
//!
//! Each cause is one file with one function that looks at a record and says nothing or a
//! weighed finding; its weight is the share of the time that the cause explains. A new cause is
//! a new file, a variant of [`Cause`] and a line in `LOOKS`.

mod beside;
mod collision;
mod flash;
mod interrupt;
mod ledger;
mod packets;
mod peer;
mod put;
mod queue;
mod retransmission;
mod scored;
pub(crate) mod sweep;
mod thread;
mod traffic;
mod transmit;
mod udp;
mod wire;

use linerate_ether::ledger::{Drop, Layer};

use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet, Ping};
use linerate_results::stats;

pub use beside::with_results;
pub use packets::name_packets;
pub use put::of_http_put;
pub use scored::PathFinding;
use scored::{Weighed, evidence};
pub use sweep::of_targets;
pub use traffic::of_traffic;
pub use udp::of_udp_streams;

/// Every look at a download.
const LOOKS: [fn(&HttpGet) -> Option<Weighed>; 10] = [
    ledger::look,
    collision::look,
    interrupt::look,
    flash::look,
    queue::look,
    wire::look,
    retransmission::look,
    thread::look,
    transmit::look,
    peer::look,
];

/// From this share of line rate on there is nothing left to explain.
const AT_LINE_RATE: f64 = 0.97;

/// What keeps `get` from line rate, the weightiest first. Never empty.
pub fn of_http_get(get: &HttpGet) -> Vec<Finding> {
    let found = weighed(get);
    let mut findings: Vec<Finding> = found.into_iter().map(|weighed| weighed.finding).collect();
    if findings.is_empty() {
        findings.push(nothing(get.share_of_line_rate()));
    }
    findings
}

fn weighed(get: &HttpGet) -> Vec<Weighed> {
    let mut found: Vec<Weighed> = LOOKS.iter().filter_map(|look| look(get)).collect();
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}

/// What a ping's time is made of. Never empty.
pub fn of_ping(ping: &Ping) -> Vec<Finding> {
    let line_ns = ping.limits.line_rtt_ns;
    let rtt_ns = ping.metrics.wire_rtt_ns.p50;
    let stations_ns = rtt_ns.saturating_sub(line_ns);
    let mut findings = vec![Finding {
        cause: Cause::MainThreadBound,
        confidence: 0.8,
        summary: format!(
            "Of a median round trip of {}, the wire takes {}; the rest is the two stations' work.",
            format::time(ping.metrics.rtt_ns.p50),
            format::time(line_ns),
        ),
        evidence: evidence([
            ("rtt_ns_p50", ping.metrics.rtt_ns.p50 as f64),
            ("wire_rtt_ns_p50", rtt_ns as f64),
            ("line_rtt_ns", line_ns as f64),
            ("stations_ns", stations_ns as f64),
        ]),
        advice: "Nothing to change unless latency is what you need.".into(),
    }];
    findings.extend(ledger::imbalance(&ping.ledger).map(|weighed| weighed.finding));
    findings
}

/// The gap to line rate and its first cause, in one sentence or two.
pub fn verdict(get: &HttpGet) -> String {
    let goodput = format::rate(get.metrics.goodput_bytes_per_s_p50);
    let share = format::percent(get.share_of_line_rate());
    let cause = get
        .findings
        .first()
        .map_or("", |finding| finding.summary.as_str());
    format!("{goodput}, {share} of line rate. {cause}")
        .trim_end()
        .to_owned()
}

fn nothing(share: f64) -> Finding {
    let at_line_rate = share >= AT_LINE_RATE;
    Finding {
        cause: Cause::AtLineRate,
        confidence: if at_line_rate { 1.0 } else { 0.3 },
        summary: if at_line_rate {
            "Nothing keeps it from line rate.".into()
        } else {
            "No single cause stands out: the rest is connection set-up and short silences.".into()
        },
        evidence: evidence([("share_of_line_rate", share)]),
        advice: if at_line_rate {
            "Nothing to change.".into()
        } else {
            "Measure a larger transfer, so that the set-up weighs less.".into()
        },
    }
}

/// Frames that a receiver misses or hears from the middle on because it came late.
fn late_frames(get: &HttpGet) -> u64 {
    let garbled = [Drop::BadSfd, Drop::BadFcs, Drop::Alignment, Drop::Runt];
    let garbled: u64 = garbled
        .into_iter()
        .map(|cause| get.ledger.lost_for(cause))
        .sum();
    get.ledger.lost_at(Layer::Phy) + garbled
}

/// The time that loss cost (repeats and timers), shared out by the frames each cause lost.
fn loss_weight(get: &HttpGet, frames: u64) -> f64 {
    let cost = get.metrics.time_share.repeating + get.metrics.time_share.retransmission_timer;
    cost * stats::ratio(frames as f64, get.ledger.lost() as f64)
}

/// Time of all requests over the full segments they carried, for `share` of it.
fn ns_per_segment(get: &HttpGet, share: f64) -> f64 {
    let total_ns: u64 = get
        .samples
        .requests
        .iter()
        .map(|r| r.end_ns.saturating_sub(r.start_ns))
        .sum();
    let segments = get.params.bytes as f64 / 1460.0 * get.samples.requests.len() as f64;
    share * stats::ratio(total_ns as f64, segments)
}

#[cfg(test)]
mod tests;

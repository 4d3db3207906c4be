//! Findings: the causes that keep a measurement from line rate. Pure: the same record gives the same findings.
//!
//! For downloads in a scenario, each cause is one file with one function that evaluates a record and returns `None` or a scored
//! finding; its weight is the share of the time that the cause explains. A new cause is
//! a new file, a variant of [`Cause`] and a line in `RULES`. The modules `flow`, `datagram` and `traffic` have the rules
//! about captures, `transfer` those of `linerate test`, `sweep` those of sweeps.

mod busy;
mod calibration;
mod code_in_flash;
mod collision;
mod datagram;
mod flow;
mod http_put;
mod interrupt;
mod ledger;
mod main_thread;
mod minor;
mod packets;
mod peer;
mod queue_overflow;
mod retransmission;
mod scored;
pub(crate) mod sweep;
#[cfg(test)]
pub(crate) mod synthetic;
mod traffic;
pub(crate) mod transfer;
mod transmit;
mod wire_errors;
mod with_results;

use linerate_ether::ledger::{DropCause, Layer};

use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet, Ping};
use linerate_results::stats;

pub use calibration::calibrate;
pub use datagram::{add_datagram_findings, numbered_streams};
pub use http_put::explain_http_put;
pub use minor::take_minor;
pub(crate) use scored::MIN_SHARE;
pub use scored::PathFinding;
use scored::{ScoredFinding, evidence};
pub use sweep::explain_targets;
pub use traffic::{ExplainedTraffic, explain_traffic};
pub use transfer::{TransferAnswer, explain_transfer};
pub use with_results::with_results;

/// The rules for a download.
const RULES: [fn(&HttpGet) -> Option<ScoredFinding>; 10] = [
    ledger::evaluate,
    collision::evaluate,
    interrupt::evaluate,
    code_in_flash::evaluate,
    queue_overflow::evaluate,
    wire_errors::evaluate,
    retransmission::evaluate,
    main_thread::evaluate,
    transmit::evaluate,
    peer::evaluate,
];

/// From this share of line rate on, nothing remains to be explained.
const AT_LINE_RATE: f64 = 0.97;

/// The causes that keep `get` from line rate, largest weight first. Never empty.
pub fn explain_http_get(get: &HttpGet) -> Vec<Finding> {
    let found = scored_findings(get);
    let mut findings: Vec<Finding> = found.into_iter().map(|scored| scored.finding).collect();
    if findings.is_empty() {
        findings.push(no_cause(get.share_of_line_rate()));
    }
    findings
}

fn scored_findings(get: &HttpGet) -> Vec<ScoredFinding> {
    let mut found: Vec<ScoredFinding> = RULES.iter().filter_map(|rule| rule(get)).collect();
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}

/// The components of a ping's round trip; none if nothing came back.
pub fn explain_ping(ping: &Ping) -> Vec<Finding> {
    let line_ns = ping.limits.line_rtt_ns;
    let round_trip = ping.metrics.rtt_ns.zip(ping.metrics.wire_rtt_ns);
    let components = round_trip.map(|(rtt, wire)| Finding {
        cause: Cause::MainThreadBound,
        confidence: 0.8,
        summary: format!(
            "Of a median round trip of {}, the wire takes {}; the rest is processing in the two stations.",
            format::time(rtt.p50),
            format::time(line_ns),
        ),
        evidence: evidence([
            ("rtt_ns_p50", rtt.p50 as f64),
            ("wire_rtt_ns_p50", wire.p50 as f64),
            ("line_rtt_ns", line_ns as f64),
            ("stations_ns", wire.p50.saturating_sub(line_ns) as f64),
        ]),
        advice: "No change needed unless latency matters.".into(),
    });
    let mut findings: Vec<Finding> = components.into_iter().collect();
    findings.extend(ledger::imbalance(&ping.ledger).map(|scored| scored.finding));
    findings
}

/// The goodput, its share of line rate and the first cause, in one or two sentences.
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

fn no_cause(share: f64) -> Finding {
    let at_line_rate = share >= AT_LINE_RATE;
    Finding {
        cause: Cause::AtLineRate,
        confidence: if at_line_rate { 1.0 } else { 0.3 },
        summary: if at_line_rate {
            "The transfer runs at line rate.".into()
        } else {
            "No single cause dominates: the rest is connection set-up and short idle periods."
                .into()
        },
        evidence: evidence([("share_of_line_rate", share)]),
        advice: if at_line_rate {
            "No change needed.".into()
        } else {
            "Measure a larger transfer, so that the set-up matters less.".into()
        },
    }
}

/// Frames missed, or received only in part, because the receiver was not ready in time.
fn late_frames(get: &HttpGet) -> u64 {
    let garbled = [
        DropCause::BadSfd,
        DropCause::BadFcs,
        DropCause::Alignment,
        DropCause::Runt,
    ];
    let garbled: u64 = garbled
        .into_iter()
        .map(|cause| get.ledger.lost_for(cause))
        .sum();
    get.ledger.lost_at(Layer::Phy) + garbled
}

/// The time lost to retransmissions and timers, in proportion to the frames that the cause lost.
fn loss_weight(get: &HttpGet, frames: u64) -> f64 {
    let cost = get.metrics.time_share.repeating + get.metrics.time_share.retransmission_timer;
    cost * stats::ratio(frames as f64, get.ledger.lost() as f64)
}

/// `share` of the time of all requests, per full segment that they carried.
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

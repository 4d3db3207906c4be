//! Why an upload is not at line rate: who the wire waited for.

use super::{AT_LINE_RATE, ledger, nothing};
use crate::cause::scored::{WORTH_NAMING, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpPut};
use linerate_results::stats;

/// What keeps `put` from line rate, the weightiest first. Never empty.
pub fn of_http_put(put: &HttpPut) -> Vec<Finding> {
    let share = stats::ratio(
        put.metrics.goodput_bytes_per_s_p50,
        put.limits.line_goodput_bytes_per_s,
    );
    let time = put.metrics.time_share;
    let mut waits = [
        (
            Cause::MainThreadBound,
            time.device,
            "until the device sent its next frame",
            "Prepare the next segment while one is on the wire.",
        ),
        (
            Cause::PeerTurnaround,
            time.peer,
            "until the peer answered",
            "Send more before an acknowledgment is needed: a larger transmit buffer.",
        ),
        (
            Cause::TransmitHoldsReceiver,
            time.receiving + time.repeating,
            "for the peer's acknowledgments",
            "Nothing to change: the peer decides how often it acknowledges.",
        ),
        (
            Cause::RetransmissionStalls,
            time.retransmission_timer,
            "for a retransmission timer",
            "Find out what was lost: the ledger names it.",
        ),
    ];
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut findings: Vec<Finding> = ledger::imbalance(&put.ledger)
        .map(|weighed| weighed.finding)
        .into_iter()
        .collect();
    if share < AT_LINE_RATE {
        for (cause, part, what, advice) in waits {
            if part >= WORTH_NAMING {
                findings.push(Finding {
                    cause,
                    confidence: 0.8,
                    summary: format!("{} of the time went {what}.", format::percent(part)),
                    evidence: evidence([("share_of_time", part), ("share_of_line_rate", share)]),
                    advice: advice.to_owned(),
                });
            }
        }
    }
    if findings.is_empty() {
        findings.push(nothing(share));
    }
    findings
}

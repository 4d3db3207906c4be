//! Why an upload is not at line rate: what the wire waited for.

use super::{AT_LINE_RATE, ledger, no_cause};
use crate::cause::scored::{MIN_SHARE, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpPut};
use linerate_results::stats;

/// The causes that keep `put` from line rate, largest share first. Never empty.
pub fn explain_http_put(put: &HttpPut) -> Vec<Finding> {
    let share = stats::ratio(
        put.metrics.goodput_bytes_per_s_p50,
        put.limits.line_goodput_bytes_per_s,
    );
    let time = put.metrics.time_share;
    let mut waits = [
        (
            Cause::MainThreadBound,
            time.device,
            "waiting for the device to send its next frame",
            "Prepare the next segment while one is on the wire.",
        ),
        (
            Cause::PeerTurnaround,
            time.peer,
            "waiting for the peer to answer",
            "Send more before an acknowledgment is needed: enlarge the transmit buffer.",
        ),
        (
            Cause::TransmitHoldsReceiver,
            time.receiving + time.repeating,
            "receiving the peer's acknowledgments",
            "No change needed: the peer decides how often it acknowledges.",
        ),
        (
            Cause::RetransmissionStalls,
            time.retransmission_timer,
            "waiting for a retransmission timer",
            "Find the loss: the ledger gives its cause.",
        ),
    ];
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut findings: Vec<Finding> = ledger::imbalance(&put.ledger)
        .map(|scored| scored.finding)
        .into_iter()
        .collect();
    if share < AT_LINE_RATE {
        for (cause, part, what, advice) in waits {
            if part >= MIN_SHARE {
                findings.push(Finding {
                    cause,
                    confidence: 0.8,
                    summary: format!("{} of the time was spent {what}.", format::percent(part)),
                    evidence: evidence([("share_of_time", part), ("share_of_line_rate", share)]),
                    advice: advice.to_owned(),
                });
            }
        }
    }
    if findings.is_empty() {
        findings.push(no_cause(share));
    }
    findings
}

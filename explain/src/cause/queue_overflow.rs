//! A sender that may send more than the receive queue holds.

use linerate_ether::ledger::{DropCause, Layer};

use super::loss_weight;
use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};
use linerate_results::stats;

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let held_back = get.ledger.lost_for(DropCause::LeftInQueue)
        + get.ledger.lost_for(DropCause::TransmitQueueFull);
    let full = (get.ledger.lost_at(Layer::Queue) + get.ledger.lost_at(Layer::Ring))
        .checked_sub(held_back)?;
    if full == 0 {
        return None;
    }
    let share = stats::ratio(full as f64, get.ledger.sent_frames as f64);
    let weight = loss_weight(get, full);
    Some(ScoredFinding {
        weight: if weight > 0.0 { weight } else { share },
        finding: Finding {
            cause: Cause::QueueOverflow,
            confidence: 1.0,
            summary: format!(
                "The TCP window lets the peer send more than the receive queue holds: {} \
                 ({} of those sent) arrived while it was full.",
                format::counted(full, "frame"),
                format::percent(share),
            ),
            evidence: evidence([
                ("queue_full_frames", full as f64),
                ("sent_frames", get.ledger.sent_frames as f64),
            ]),
            advice: "Size the TCP receive buffer from the queue's capacity, with room for a frame \
                     that is not TCP."
                .into(),
        },
    })
}

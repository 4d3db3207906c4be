//! Frames that the device itself transmits.

use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let share = get.metrics.time_share.transmitting;
    if share < MIN_SHARE {
        return None;
    }
    let frames = get.metrics.device_sent_frames;
    Some(ScoredFinding {
        weight: share,
        finding: Finding {
            cause: Cause::TransmitHoldsReceiver,
            confidence: 0.9,
            summary: format!(
                "Transmitting its own {} frames takes the device {} of the time; it cannot receive meanwhile.",
                format::count(frames),
                format::percent(share),
            ),
            evidence: evidence([
                ("transmitting_share", share),
                ("device_sent_frames", frames as f64),
            ]),
            advice: "Acknowledge less often: one acknowledgment per burst, and no separate window \
                     update after it."
                .into(),
        },
    })
}

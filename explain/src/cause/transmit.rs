//! The device's own frames.

use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let share = get.metrics.time_share.transmitting;
    if share < WORTH_NAMING {
        return None;
    }
    let frames = get.metrics.device_sent_frames;
    Some(Weighed {
        weight: share,
        finding: Finding {
            cause: Cause::TransmitHoldsReceiver,
            confidence: 0.9,
            summary: format!(
                "The device's own {} frames take {} of the time, during which it cannot receive.",
                format::count(frames),
                format::percent(share),
            ),
            evidence: evidence([
                ("transmitting_share", share),
                ("device_sent_frames", frames as f64),
            ]),
            advice:
                "Acknowledge less often: one acknowledgment for a burst, and no separate window \
                     update after it."
                    .into(),
        },
    })
}

//! What the receiver does: its window, how it reads, when it acknowledges.

use super::signs::Signs;
use super::{FEWEST_LOSSES, share};
use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

pub(super) fn window(path: &Path, signs: &Signs) -> Option<Weighed> {
    let part = share(path, Limit::ReceiveWindow);
    if part < WORTH_NAMING {
        return None;
    }
    // A window that was closed once is not what a queue on the path is full for.
    let closes = path.zero_windows >= FEWEST_LOSSES || (path.zero_windows > 0 && !signs.queued);
    if closes {
        return Some(Weighed {
            weight: part,
            finding: Finding {
                cause: Cause::ReceiverReadsSlowly,
                confidence: 0.9,
                summary: format!(
                    "For {} of the time {}'s window is full; it closed it {} times: its program does not read \
                     as fast as segments come.",
                    format::percent(part),
                    path.receiver,
                    format::count(path.zero_windows),
                ),
                evidence: evidence([("receive_window_share", part), ("zero_windows", path.zero_windows as f64)]),
                advice: "Read more often and in larger pieces, or spend less time on each piece; a larger window \
                         only delays it."
                    .into(),
            },
        });
    }
    // Where a queue on the path fills the time, a larger window makes that longer.
    if signs.queued {
        return None;
    }
    let rtt_ns = path.rtt_ns.unwrap_or(0);
    let bound = stats::ratio(f64::from(path.max_window) * 1e9, rtt_ns as f64);
    let scale = if path.unscaled && path.max_window == u32::from(u16::MAX) {
        " No larger one can be granted without window scaling, which one end does not offer."
    } else {
        ""
    };
    Some(Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::ReceiveWindow,
            confidence: 0.9,
            summary: format!(
                "For {} of the time the sender has filled {}'s window: {} at a median round trip of {} allow {}.{scale}",
                format::percent(part),
                path.receiver,
                format::bytes(path.max_window.into()),
                format::time(rtt_ns),
                format::rate(bound),
            ),
            evidence: evidence([
                ("receive_window_share", part),
                ("most_window_bytes", f64::from(path.max_window)),
                ("rtt_ns_p50", rtt_ns as f64),
                ("window_limit_bytes_per_s", bound),
            ]),
            advice: "Enlarge the receive buffer towards the rate wanted times the round trip, and the receive \
                     queue with it: it has to hold a whole window."
                .into(),
        },
    })
}

pub(super) fn held_back(path: &Path, _: &Signs) -> Option<Weighed> {
    let part = stats::ratio(path.delayed_ack_ns as f64, path.time_ns as f64);
    (path.delayed_acks >= FEWEST_LOSSES && part >= WORTH_NAMING).then(|| Weighed {
        // The same time counts as the receiver's or the sender's, too: this says why.
        weight: part,
        finding: Finding {
            cause: Cause::DelayedAckWithNagle,
            confidence: 0.9,
            summary: format!(
                "{} times, {} of the time, {} held a small segment back until {} acknowledged the one before, \
                 which it does {} later on average.",
                format::count(path.delayed_acks),
                format::percent(part),
                path.sender,
                path.receiver,
                format::time(path.delayed_ack_ns / path.delayed_acks),
            ),
            evidence: evidence([("held_back_acks", path.delayed_acks as f64), ("held_back_share", part)]),
            advice: "Write whole messages at once, or set TCP_NODELAY at the sender; a receiver that acknowledges \
                     every segment helps, too."
                .into(),
        },
    })
}

pub(super) fn late(path: &Path, signs: &Signs) -> Option<Weighed> {
    let part = share(path, Limit::ReceiverProcessing) + share(path, Limit::AckStarvation);
    let otherwise = signs.talks || signs.one_in_flight || signs.held_back;
    (part >= WORTH_NAMING && !otherwise).then(|| Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::LateAcks,
            confidence: 0.7,
            summary: format!(
                "For {} of the time the sender waits for acknowledgments that {} sends later than its fastest.",
                format::percent(part),
                path.receiver,
            ),
            evidence: evidence([
                ("late_ack_share", part),
                ("ack_starvation_share", share(path, Limit::AckStarvation)),
            ]),
            advice: "Look at how the receiver learns of frames (polling interval, interrupt moderation, sleep) and \
                     at its delayed acknowledgments."
                .into(),
        },
    })
}

//! Causes at the receiver: its window, its reading, its acknowledgments.

use super::symptoms::PathSymptoms;
use super::{MIN_LOSSES, share};
use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

pub(super) fn receive_window(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    let part = share(path, Limit::ReceiveWindow);
    if part < MIN_SHARE {
        return None;
    }
    // A single closed window does not explain a full queue on the path.
    let closes = path.zero_windows >= MIN_LOSSES || (path.zero_windows > 0 && !symptoms.queued);
    if closes {
        return Some(ScoredFinding {
            weight: part,
            finding: Finding {
                cause: Cause::ReceiverReadsSlowly,
                confidence: 0.9,
                summary: format!(
                    "For {} of the time {}'s window is full, and it was closed {} times: the application does not read \
                     as fast as segments arrive.",
                    format::percent(part),
                    path.receiver,
                    format::count(path.zero_windows),
                ),
                evidence: evidence([("receive_window_share", part), ("zero_windows", path.zero_windows as f64)]),
                advice: "Read more often and in larger blocks, or spend less time on each block; a larger window \
                         only delays the problem."
                    .into(),
            },
        });
    }
    // If a queue on the path is the limit, a larger window only lengthens it.
    if symptoms.queued {
        return None;
    }
    let rtt_ns = path.rtt_ns.unwrap_or(0);
    let bound = stats::ratio(f64::from(path.max_window) * 1e9, rtt_ns as f64);
    let scale = if path.unscaled && path.max_window == u32::from(u16::MAX) {
        " A larger window needs window scaling, which one end does not offer."
    } else {
        ""
    };
    Some(ScoredFinding {
        weight: part,
        finding: Finding {
            cause: Cause::ReceiveWindow,
            confidence: 0.9,
            summary: format!(
                "For {} of the time the sender has filled {}'s window: {} at a median round trip of {} allow only {}.{scale}",
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
            advice: "Enlarge the receive buffer to the bandwidth-delay product of the required rate, and the receive \
                     queue with it: the queue must hold a whole window."
                .into(),
        },
    })
}

pub(super) fn delayed_ack_with_nagle(path: &Path, _: &PathSymptoms) -> Option<ScoredFinding> {
    let part = stats::ratio(path.delayed_ack_ns as f64, path.time_ns as f64);
    (path.delayed_acks >= MIN_LOSSES && part >= MIN_SHARE).then(|| ScoredFinding {
        // The same time also counts as the receiver's or the sender's; this rule explains it.
        weight: part,
        finding: Finding {
            cause: Cause::DelayedAckWithNagle,
            confidence: 0.9,
            summary: format!(
                "{} times, for {} of the time, {} held back a small segment until {} acknowledged the previous one, \
                 on average after {}.",
                format::count(path.delayed_acks),
                format::percent(part),
                path.sender,
                path.receiver,
                format::time(path.delayed_ack_ns / path.delayed_acks),
            ),
            evidence: evidence([("held_back_acks", path.delayed_acks as f64), ("held_back_share", part)]),
            advice: "Write whole messages at once, or set TCP_NODELAY at the sender; acknowledging every segment at \
                     the receiver also helps."
                .into(),
        },
    })
}

pub(super) fn late_acks(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    let part = share(path, Limit::ReceiverProcessing) + share(path, Limit::AckStarvation);
    let otherwise =
        symptoms.request_response || symptoms.one_in_flight || symptoms.nagle_delayed_ack;
    (part >= MIN_SHARE && !otherwise).then(|| ScoredFinding {
        weight: part,
        finding: Finding {
            cause: Cause::LateAcks,
            confidence: 0.7,
            summary: format!(
                "For {} of the time the sender waits for acknowledgments that {} sends later than its fastest ones.",
                format::percent(part),
                path.receiver,
            ),
            evidence: evidence([
                ("late_ack_share", part),
                ("ack_starvation_share", share(path, Limit::AckStarvation)),
            ]),
            advice: "Check how the receiver is notified of frames (polling interval, interrupt moderation, sleep) and \
                     its delayed acknowledgments."
                .into(),
        },
    })
}

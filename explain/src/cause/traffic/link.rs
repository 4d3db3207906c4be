//! Defects of the capture, or of the link as a whole.

use crate::cause::scored::PathFinding;
use crate::cause::scored::{MIN_SHARE, evidence};
use linerate_capture::traffic::{Counts, Path};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Broadcasts per second that keep a small device busy.
const STORM_PER_S: f64 = 200.0;

/// Payload that was acknowledged but is not in the capture.
pub(super) fn incomplete_capture(path: &Path) -> Option<PathFinding> {
    let share = stats::ratio(
        path.unseen_bytes as f64,
        (path.unseen_bytes + path.unique_bytes) as f64,
    );
    (share > 0.01).then(|| PathFinding {
        sender: Some(path.sender.to_string()),
        receiver: Some(path.receiver.to_string()),
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::CaptureIncomplete,
            confidence: 1.0,
            summary: format!(
                "{} of payload ({}) were acknowledged but are not in the capture: the capture is incomplete, and \
                 losses reported below may be its own.",
                format::bytes(path.unseen_bytes),
                format::percent(share),
            ),
            evidence: evidence([("unseen_bytes", path.unseen_bytes as f64), ("unseen_share", share)]),
            advice: "Capture only headers (tcpdump -s 128) with a larger buffer (-B 65536), or on another \
                     machine."
                .into(),
        },
    })
}

pub(super) fn broadcast_storm(counts: &Counts, duration_ns: u64) -> Option<PathFinding> {
    let per_s = stats::ratio(counts.broadcasts as f64, duration_ns as f64 / 1e9);
    (per_s >= STORM_PER_S && counts.broadcasts > 1000).then(|| PathFinding {
        sender: None,
        receiver: None,
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::BroadcastStorm,
            confidence: 0.8,
            summary: format!(
                "{} broadcasts per second ({} of {} packets): every station must receive each of them.",
                format::count(per_s as u64),
                format::count(counts.broadcasts),
                format::count(counts.packets),
            ),
            evidence: evidence([
                ("broadcasts", counts.broadcasts as f64),
                ("broadcasts_per_s", per_s),
                ("arp_packets", counts.arp as f64),
            ]),
            advice: "Find the sender (--json lists the stations); filter addresses before the receive \
                     queue."
                .into(),
        },
    })
}

/// Pauses below 5% of the time are normal flow control.
pub(super) fn pause_frames(counts: &Counts, duration_ns: u64) -> Option<PathFinding> {
    let share = stats::ratio(counts.paused_ns as f64, duration_ns as f64);
    (share >= MIN_SHARE).then(|| PathFinding {
        sender: None,
        receiver: None,
        share_of_time: share,
        finding: Finding {
            cause: Cause::Paused,
            confidence: 0.7,
            summary: format!(
                "{} pause frames stop the station at the other end of the cable for {} of the time, assuming a \
                 100 Mbit/s link.",
                format::count(counts.pauses),
                format::percent(share),
            ),
            evidence: evidence([
                ("pause_frames", counts.pauses as f64),
                ("paused_ns", counts.paused_ns as f64),
            ]),
            advice: "Find out why the receive queue of the station that sends them fills. Most adapters do not pass \
                     such frames on, so there may be more (ethtool -S)."
                .into(),
        },
    })
}

//! What is wrong with the capture or with the link as a whole, whoever talks over it.

use crate::cause::scored::PathFinding;
use crate::cause::scored::{WORTH_NAMING, evidence};
use linerate_capture::traffic::{Counts, Path};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Broadcasts each second from which on a small device is busy with them.
const STORM_PER_S: f64 = 200.0;

/// Acknowledgments of what the capture does not have.
pub(super) fn missed(path: &Path) -> Option<PathFinding> {
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
                "{} of payload ({}) were acknowledged and are not in the capture: it missed them, and what \
                 looks like loss below may be its own.",
                format::bytes(path.unseen_bytes),
                format::percent(share),
            ),
            evidence: evidence([("unseen_bytes", path.unseen_bytes as f64), ("unseen_share", share)]),
            advice: "Capture headers alone (tcpdump -s 128) with a larger buffer (-B 65536), or on another \
                     machine."
                .into(),
        },
    })
}

pub(super) fn storm(counts: &Counts, duration_ns: u64) -> Option<PathFinding> {
    let per_s = stats::ratio(counts.broadcasts as f64, duration_ns as f64 / 1e9);
    (per_s >= STORM_PER_S && counts.broadcasts > 1000).then(|| PathFinding {
        sender: None,
        receiver: None,
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::BroadcastStorm,
            confidence: 0.8,
            summary: format!(
                "{} broadcasts a second ({} of {} packets): every station has to take each of them.",
                format::count(per_s as u64),
                format::count(counts.broadcasts),
                format::count(counts.packets),
            ),
            evidence: evidence([
                ("broadcasts", counts.broadcasts as f64),
                ("broadcasts_per_s", per_s),
                ("arp_packets", counts.arp as f64),
            ]),
            advice: "Find who sends them (the stations are in --json); filter addresses before the receive \
                     queue."
                .into(),
        },
    })
}

/// Pauses that take less than a twentieth of the time are flow control at work.
pub(super) fn paused(counts: &Counts, duration_ns: u64) -> Option<PathFinding> {
    let share = stats::ratio(counts.paused_ns as f64, duration_ns as f64);
    (share >= WORTH_NAMING).then(|| PathFinding {
        sender: None,
        receiver: None,
        share_of_time: share,
        finding: Finding {
            cause: Cause::Paused,
            confidence: 0.7,
            summary: format!(
                "{} pause frames stop the station at the other end of a cable for {} of the time, on a link of \
                 100 Mbit/s.",
                format::count(counts.pauses),
                format::percent(share),
            ),
            evidence: evidence([
                ("pause_frames", counts.pauses as f64),
                ("paused_ns", counts.paused_ns as f64),
            ]),
            advice: "Look at why the receive queue of the station that sends them fills; most adapters keep such \
                     frames to themselves, so there may be more (ethtool -S)."
                .into(),
        },
    })
}

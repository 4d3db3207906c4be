//! A main thread that leaves the wire idle.

use super::ns_per_segment;
use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::line;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let share = get.metrics.time_share.device;
    if share < MIN_SHARE {
        return None;
    }
    let ns = ns_per_segment(get, share);
    Some(ScoredFinding {
        weight: share,
        finding: Finding {
            cause: Cause::MainThreadBound,
            confidence: 0.9,
            summary: format!(
                "For {} of the time the wire is idle while the device processes received \
                 data: {} per segment, compared with the {} that the segment takes on the wire.",
                format::percent(share),
                format::time(ns as u64),
                format::time(line::segment_ns(1460)),
            ),
            evidence: evidence([("device_share", share), ("device_ns_per_segment", ns)]),
            advice: "Reduce the work per byte (alignment, FCS, checksum, copies), or receive and \
                     process concurrently."
                .into(),
        },
    })
}

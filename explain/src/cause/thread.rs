//! A main thread that the wire waits for.

use super::ns_per_segment;
use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_results::format;
use linerate_results::line;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let share = get.metrics.time_share.device;
    if share < WORTH_NAMING {
        return None;
    }
    let ns = ns_per_segment(get, share);
    Some(Weighed {
        weight: share,
        finding: Finding {
            cause: Cause::MainThreadBound,
            confidence: 0.9,
            summary: format!(
                "For {} of the time the wire is silent while the device works through what it \
                 received: {} a segment, beside the {} that the segment takes on the wire.",
                format::percent(share),
                format::time(ns as u64),
                format::time(line::segment_ns(1460)),
            ),
            evidence: evidence([("device_share", share), ("device_ns_per_segment", ns)]),
            advice: "Shorten the work per byte (alignment, FCS, checksum, copies), or receive and \
                     process at the same time."
                .into(),
        },
    })
}

//! A peer that takes its time.

use super::ns_per_segment;
use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let share = get.metrics.time_share.peer;
    if share < WORTH_NAMING {
        return None;
    }
    let ns = ns_per_segment(get, share);
    Some(Weighed {
        weight: share,
        finding: Finding {
            cause: Cause::PeerTurnaround,
            confidence: 0.9,
            summary: format!(
                "For {} of the time ({} a segment) the wire waits for the peer to answer.",
                format::percent(share),
                format::time(ns as u64),
            ),
            evidence: evidence([("peer_share", share), ("peer_ns_per_segment", ns)]),
            advice: "A larger window keeps the peer sending while its answer is under way.".into(),
        },
    })
}

//! A peer that answers slowly.

use super::ns_per_segment;
use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let share = get.metrics.time_share.peer;
    if share < MIN_SHARE {
        return None;
    }
    let ns = ns_per_segment(get, share);
    Some(ScoredFinding {
        weight: share,
        finding: Finding {
            cause: Cause::PeerTurnaround,
            confidence: 0.9,
            summary: format!(
                "For {} of the time ({} per segment) the wire is idle until the peer answers.",
                format::percent(share),
                format::time(ns as u64),
            ),
            evidence: evidence([("peer_share", share), ("peer_ns_per_segment", ns)]),
            advice: "A larger window keeps the peer sending while an answer is in flight.".into(),
        },
    })
}

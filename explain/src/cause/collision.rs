//! Stations that transmit at the same time.

use linerate_ether::ledger::{DropCause, Layer};

use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};
use linerate_results::stats;

/// Up to this many collisions per delivered frame are normal in half duplex.
const NORMAL_COLLISION_RATIO: f64 = 0.25;

/// Collisions, if there are enough for a separate finding; else 0.
pub(super) fn excessive_collisions(get: &HttpGet) -> u64 {
    let collisions = [
        DropCause::Collision,
        DropCause::LateCollision,
        DropCause::ExcessiveCollisions,
    ]
    .map(|cause| get.ledger.lost_for(cause))
    .iter()
    .sum();
    if collisions as f64 >= NORMAL_COLLISION_RATIO * get.ledger.delivered_frames as f64 {
        collisions
    } else {
        0
    }
}

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let collisions = excessive_collisions(get);
    if collisions == 0 {
        return None;
    }
    let time = &get.metrics.time_share;
    let medium = get.ledger.lost_at(Layer::Wire);
    Some(ScoredFinding {
        // While other stations use the medium, the wire is silent for this transfer.
        weight: time.repeating + time.peer + time.retransmission_timer * stats::ratio(collisions as f64, medium as f64),
        finding: Finding {
            cause: Cause::Collisions,
            confidence: 0.9,
            summary: format!(
                "{} transmissions collided, for {} frames delivered: several stations contend for the half-duplex \
                 medium.",
                format::count(collisions),
                format::count(get.ledger.delivered_frames),
            ),
            evidence: evidence([
                ("collisions", collisions as f64),
                ("delivered_frames", get.ledger.delivered_frames as f64),
            ]),
            advice: "Replace the hub with a switch, or configure full duplex at both ends of a two-station link."
                .into(),
        },
    })
}

//! Stations that send at the same time.

use linerate_ether::ledger::{Drop, Layer};

use crate::cause::scored::{Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};
use linerate_results::stats;

/// Fewer collisions for each frame that arrives are a part of half duplex.
const USUAL: f64 = 0.25;

/// Collisions, if there are so many that they are a cause of their own; else 0.
pub(super) fn many(get: &HttpGet) -> u64 {
    let collisions = [
        Drop::Collision,
        Drop::LateCollision,
        Drop::ExcessiveCollisions,
    ]
    .map(|cause| get.ledger.lost_for(cause))
    .iter()
    .sum();
    if collisions as f64 >= USUAL * get.ledger.delivered_frames as f64 {
        collisions
    } else {
        0
    }
}

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let collisions = many(get);
    if collisions == 0 {
        return None;
    }
    let time = &get.metrics.time_share;
    let medium = get.ledger.lost_at(Layer::Wire);
    Some(Weighed {
        // While others have the medium, the wire is silent between the two of this transfer.
        weight: time.repeating + time.peer + time.retransmission_timer * stats::ratio(collisions as f64, medium as f64),
        finding: Finding {
            cause: Cause::Collisions,
            confidence: 0.9,
            summary: format!(
                "{} transmissions collided for {} frames that arrived: several stations want the same half-duplex \
                 medium.",
                format::count(collisions),
                format::count(get.ledger.delivered_frames),
            ),
            evidence: evidence([
                ("collisions", collisions as f64),
                ("delivered_frames", get.ledger.delivered_frames as f64),
            ]),
            advice: "Put a switch in the hub's place, or full duplex at both ends of a cable with two stations."
                .into(),
        },
    })
}

//! Frames damaged between the stations.

use linerate_ether::ledger::{Drop, Layer};

use super::{collision, loss_weight};
use crate::cause::scored::{Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let unfinished = get.ledger.lost_for(Drop::InFlight);
    let lost = get
        .ledger
        .lost_at(Layer::Wire)
        .checked_sub(unfinished + collision::many(get))
        .filter(|lost| *lost > 0)?;
    let collisions =
        get.ledger.lost_for(Drop::Collision) + get.ledger.lost_for(Drop::LateCollision);
    Some(Weighed {
        weight: loss_weight(get, lost),
        finding: Finding {
            cause: Cause::WireErrors,
            confidence: 1.0,
            summary: format!(
                "{} frames were lost on the wire, {} of them to collisions.",
                format::count(lost),
                format::count(collisions),
            ),
            evidence: evidence([
                ("lost_frames", lost as f64),
                ("collisions", collisions as f64),
            ]),
            advice: "Look at the cable, the line levels and, on half duplex, at carrier sense."
                .into(),
        },
    })
}

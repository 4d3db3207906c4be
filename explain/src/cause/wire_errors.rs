//! Frames damaged on the medium.

use linerate_ether::ledger::{DropCause, Layer};

use super::{collision, loss_weight};
use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let unfinished = get.ledger.lost_for(DropCause::InFlight);
    let lost = get
        .ledger
        .lost_at(Layer::Wire)
        .checked_sub(unfinished + collision::excessive_collisions(get))
        .filter(|lost| *lost > 0)?;
    let collisions =
        get.ledger.lost_for(DropCause::Collision) + get.ledger.lost_for(DropCause::LateCollision);
    Some(ScoredFinding {
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
            advice: "Check the cable, the line levels and, in half duplex, carrier sense.".into(),
        },
    })
}

//! Frames that nothing counted.

use crate::cause::scored::{Weighed, evidence};
use linerate_results::record::{Cause, Finding, HttpGet, Ledger};

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    imbalance(&get.ledger)
}

pub(super) fn imbalance(ledger: &Ledger) -> Option<Weighed> {
    let missing = ledger.missing_frames();
    (missing != 0).then(|| Weighed {
        // Above every share: with a broken count nothing else can be trusted.
        weight: 2.0,
        finding: Finding {
            cause: Cause::LedgerImbalance,
            confidence: 1.0,
            summary: format!(
                "The ledger does not add up: {} frames were sent, {} delivered and {} counted as lost.",
                ledger.sent_frames,
                ledger.delivered_frames,
                ledger.lost(),
            ),
            evidence: evidence([("missing_frames", missing as f64)]),
            advice: "A counter is missing or counts twice: mend it before trusting the other figures.".into(),
        },
    })
}

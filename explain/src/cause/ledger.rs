//! Frames that no counter accounts for.

use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::record::{Cause, Finding, HttpGet, Ledger};

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    imbalance(&get.ledger)
}

pub(super) fn imbalance(ledger: &Ledger) -> Option<ScoredFinding> {
    let missing = ledger.missing_frames();
    (missing != 0).then(|| ScoredFinding {
        // Above every share: with a wrong count no other figure can be trusted.
        weight: 2.0,
        finding: Finding {
            cause: Cause::LedgerImbalance,
            confidence: 1.0,
            summary: format!(
                "The ledger does not balance: {} frames were sent, {} delivered and {} counted as lost.",
                ledger.sent_frames,
                ledger.delivered_frames,
                ledger.lost(),
            ),
            evidence: evidence([("missing_frames", missing as f64)]),
            advice: "A counter is missing or counts twice: fix it before trusting the other figures.".into(),
        },
    })
}

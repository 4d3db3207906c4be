//! Code that is fetched from flash.

use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let share = get
        .metrics
        .flash_wait_share
        .filter(|share| *share >= MIN_SHARE)?;
    Some(ScoredFinding {
        weight: share,
        finding: Finding {
            cause: Cause::CodeInFlash,
            confidence: 0.9,
            summary: format!(
                "The processor spends {} of the time waiting for instruction and constant fetches from flash.",
                format::percent(share),
            ),
            evidence: evidence([("flash_wait_share", share)]),
            advice: "Place the receive path and everything it calls, memcpy included, in RAM."
                .into(),
        },
    })
}

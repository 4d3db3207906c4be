//! Code that waits for flash.

use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let share = get
        .metrics
        .flash_wait_share
        .filter(|share| *share >= WORTH_NAMING)?;
    Some(Weighed {
        weight: share,
        finding: Finding {
            cause: Cause::CodeInFlash,
            confidence: 0.9,
            summary: format!(
                "The processor spends {} of the time waiting for code and constants from flash.",
                format::percent(share),
            ),
            evidence: evidence([("flash_wait_share", share)]),
            advice: "Place the receive path and what it calls, memcpy among it, in RAM.".into(),
        },
    })
}

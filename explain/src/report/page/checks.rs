//! Facts that must hold, beside the verdict.

use serde::Serialize;

use linerate_results::record::{Ledger, Measurement, Run};

/// A fact that must hold, and whether it does.
#[derive(Serialize)]
pub(super) struct Check {
    holds: bool,
    text: String,
}

pub(super) fn checks(run: &Run) -> Vec<Check> {
    let requests: usize = run.http_gets().map(|get| get.metrics.crc32.len()).sum();
    let equal = run
        .http_gets()
        .all(|get| get.metrics.crc32 == get.metrics.crc32_expected);
    let missing: i64 = run
        .results
        .iter()
        .map(|r| r.ledger().missing_frames().abs())
        .sum();
    let sent: u64 = run.pings().map(|ping| ping.metrics.sent).sum();
    let answered: u64 = run.pings().map(|ping| ping.metrics.received).sum();
    let mut checks = Vec::new();
    if requests > 0 {
        checks.push(Check {
            holds: equal,
            text: if equal {
                format!("CRC-32 equal on both sides for all {requests} downloads")
            } else {
                "CRC-32 differs between the sides".into()
            },
        });
    }
    // Where no frame is followed, there is nothing to add up.
    let is_followed = |result: &Measurement| *result.ledger() != Ledger::default();
    if run.results.iter().any(is_followed) {
        checks.push(Check {
            holds: missing == 0,
            text: if missing == 0 {
                "the ledger adds up: each frame sent is delivered or lost for a counted cause"
                    .into()
            } else {
                format!("the ledger does not add up: {missing} frames unaccounted for")
            },
        });
    }
    if sent > 0 {
        checks.push(Check {
            holds: answered == sent,
            text: format!("{answered} of {sent} pings answered"),
        });
    }
    checks
}

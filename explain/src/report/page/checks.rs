//! Consistency checks, shown below the verdict.

use serde::Serialize;

use linerate_results::record::{Ledger, Measurement, Run};

/// A consistency check and its result.
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
                "CRC-32 differs between the two sides".into()
            },
        });
    }
    // Without frame accounting there is nothing to balance.
    let has_ledger = |result: &Measurement| *result.ledger() != Ledger::default();
    if run.results.iter().any(has_ledger) {
        checks.push(Check {
            holds: missing == 0,
            text: if missing == 0 {
                "each frame sent is delivered or lost for a counted cause".into()
            } else {
                format!("{missing} frames are neither delivered nor lost for a counted cause")
            },
        });
    }
    if !run.frame_counts.is_empty() {
        let contradictions = run.contradictions();
        checks.push(Check {
            holds: contradictions.is_empty(),
            text: match contradictions.first() {
                None => {
                    "cable, peer, device and capture count the same frames as the ledger".into()
                }
                Some(first) => format!("counts of frames contradict each other: {first}"),
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

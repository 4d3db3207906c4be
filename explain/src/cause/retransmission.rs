//! A sender that waits for its retransmission timer while the wire is idle.

use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};
use linerate_results::stats;

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let share = get.metrics.time_share.retransmission_timer;
    if share < MIN_SHARE {
        return None;
    }
    let longest_ns = get
        .samples
        .requests
        .iter()
        .map(|request| request.longest_silence_ns)
        .max()
        .unwrap_or(0);
    let median_ns = stats::percentile(&get.samples.retransmission_delays_ns, 50.0).unwrap_or(0);
    Some(ScoredFinding {
        // A consequence of the loss: it is listed right after its cause.
        weight: share * 0.99,
        finding: Finding {
            cause: Cause::RetransmissionStalls,
            confidence: 1.0,
            summary: format!(
                "For {} of the time the wire is idle because a station waits for its retransmission \
                 timer (the peer retransmitted {} segments; the longest silence is {}).",
                format::percent(share),
                format::count(get.metrics.retransmitted_segments),
                format::time(longest_ns),
            ),
            evidence: evidence([
                ("retransmission_timer_share", share),
                (
                    "retransmitted_segments",
                    get.metrics.retransmitted_segments as f64,
                ),
                ("retransmission_delay_ns_p50", median_ns as f64),
                ("longest_silence_ns", longest_ns as f64),
            ]),
            advice: "Fix the loss that causes it; no timer setting on the device helps.".into(),
        },
    })
}

//! A sender that waits for its timer while nothing moves.

use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, HttpGet};
use linerate_results::stats;

pub(super) fn look(get: &HttpGet) -> Option<Weighed> {
    let share = get.metrics.time_share.retransmission_timer;
    if share < WORTH_NAMING {
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
    Some(Weighed {
        // The consequence of whatever loses the frames: it comes right behind that.
        weight: share * 0.99,
        finding: Finding {
            cause: Cause::RetransmissionStalls,
            confidence: 1.0,
            summary: format!(
                "For {} of the time nothing moves because a station waits for its retransmission \
                 timer (the peer sent {} segments again, the longest silence is {}).",
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
            advice: "Stop the loss that causes it; no timer setting on the device helps.".into(),
        },
    })
}

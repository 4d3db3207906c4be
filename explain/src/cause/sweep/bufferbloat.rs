//! Round trips that wait behind the load.

use crate::cause::scored::{Weighed, evidence};
use crate::series::latency::{idle_p50, loaded};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, Latency};
use linerate_results::stats;

/// The load under which a round trip waits the longest.
pub(super) fn look(all: &[&Latency]) -> Option<Weighed> {
    let idle_ns = idle_p50(all).filter(|idle| *idle > 0)?;
    let bloated = all.iter().filter_map(|it| {
        let loaded = loaded(it, idle_ns).filter(|loaded| loaded.is_bloat)?;
        Some((*it, loaded.p50_ns))
    });
    let (worst, p50_ns) = bloated.max_by_key(|it| it.1)?;
    let wait_ns = p50_ns - idle_ns;
    let flows = [&worst.metrics.to_device, &worst.metrics.from_device];
    let rates = flows.into_iter().flatten().map(|it| it.goodput_bytes_per_s);
    let rate = rates.fold(0.0, f64::max);
    let queue_bytes = rate * wait_ns as f64 / 1e9;
    let holds = if queue_bytes >= 1.0 {
        let grain = if queue_bytes < 1e6 { 100.0 } else { 1e5 };
        let about = (queue_bytes / grain).ceil() * grain;
        format!(" that holds about {}", format::bytes(about as u64))
    } else {
        String::new()
    };
    Some(Weighed {
        weight: 1.0 - stats::ratio(idle_ns as f64, p50_ns as f64),
        finding: Finding {
            cause: Cause::Bufferbloat,
            confidence: 0.8,
            summary: format!(
                "Under {} a round trip takes {} instead of {}: the rest of it is a queue{holds}.",
                worst.load_words(),
                format::time(p50_ns),
                format::time(idle_ns),
            ),
            evidence: evidence([
                ("idle_rtt_ns_p50", idle_ns as f64),
                ("loaded_rtt_ns_p50", p50_ns as f64),
                ("load_bytes_per_s", rate),
                ("queue_bytes", queue_bytes),
            ]),
            advice: "Find the queue, this machine's first (tc -s qdisc, ethtool -g): one that is managed (fq_codel, \
                     cake) or shorter, or a smaller window of TCP, keeps the rate without the wait."
                .into(),
        },
    })
}

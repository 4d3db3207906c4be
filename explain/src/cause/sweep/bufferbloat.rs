//! Round trips that wait in a queue under load.

use crate::cause::scored::{ScoredFinding, evidence};
use crate::series::latency::{idle_p50, loaded_rtt};
use linerate_results::format;
use linerate_results::record::{Cause, Finding, Latency, Transport};
use linerate_results::stats;

/// Finds the load under which a round trip waits longest.
pub(super) fn evaluate(all: &[&Latency]) -> Option<ScoredFinding> {
    let idle_ns = idle_p50(all).filter(|idle| *idle > 0)?;
    let bloated = all.iter().filter_map(|it| {
        let loaded = loaded_rtt(it, idle_ns).filter(|loaded| loaded.is_bloat)?;
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
    Some(ScoredFinding {
        weight: 1.0 - stats::ratio(idle_ns as f64, p50_ns as f64),
        finding: Finding {
            cause: Cause::Bufferbloat,
            confidence: 0.8,
            summary: format!(
                "Under {} a round trip takes {} instead of {}: the difference is a queue{holds}.",
                worst.load_label(),
                format::time(p50_ns),
                format::time(idle_ns),
            ),
            evidence: evidence([
                ("idle_rtt_ns_p50", idle_ns as f64),
                ("loaded_rtt_ns_p50", p50_ns as f64),
                ("load_bytes_per_s", rate),
                ("queue_bytes", queue_bytes),
            ]),
            advice: advice(worst).into(),
        },
    })
}

/// Where the queue is on such a link, and what shortens it.
fn advice(worst: &Latency) -> &'static str {
    let load = worst.params.load.map(|it| it.transport);
    if load.is_some_and(Transport::is_byte_link) {
        return "Find the queue: this machine's transmit buffer (that of a USB-serial adapter or a pseudoterminal), \
                then the device's. Shorter buffers, or fewer octets under way at a time, keep the rate without the \
                delay.";
    }
    "Find the queue, starting with this machine's (tc -s qdisc, ethtool -g). A managed queue (fq_codel, cake), a \
     shorter queue or a smaller TCP window keeps the rate without the delay."
}

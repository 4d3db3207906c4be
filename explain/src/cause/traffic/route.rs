//! What lies between the ends.

use super::signs::Signs;
use super::{FEWEST_LOSSES, share};
use crate::cause::scored::{Weighed, evidence};
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// A segment that waits in a queue for longer makes everything else on the link wait, too.
const BLOATED_NS: u64 = 50_000_000;

pub(super) fn overtaken(path: &Path, signs: &Signs) -> Option<Weighed> {
    let part = stats::ratio(path.out_of_order as f64, path.segments as f64);
    // It is taken for loss.
    let mistaken = [
        Limit::RandomLoss,
        Limit::LossInBursts,
        Limit::CongestionWindow,
        Limit::ReceiverProcessing,
    ];
    let weight = mistaken.map(|limit| share(path, limit)).iter().sum();
    (path.out_of_order >= FEWEST_LOSSES && part >= 0.01).then(|| Weighed {
        weight: if signs.reordered { weight } else { 0.0 },
        finding: Finding {
            cause: Cause::Reordering,
            confidence: 0.8,
            summary: format!(
                "{} of {} segments arrived behind those that were sent after them.",
                format::count(path.out_of_order),
                format::count(path.segments),
            ),
            evidence: evidence([("out_of_order", path.out_of_order as f64), ("segments", path.segments as f64)]),
            advice: "Several queues or links carry one connection: keep it on one; a stack that drops what comes \
                     out of order (smoltcp, lwIP with TCP_QUEUE_OOSEQ=0) has it all sent again."
                .into(),
        },
    })
}

pub(super) fn rate(path: &Path, signs: &Signs) -> Option<Weighed> {
    let waiting = [
        Limit::ReceiveWindow,
        Limit::CongestionWindow,
        Limit::SlowStart,
    ];
    let queued: f64 = waiting.map(|limit| share(path, limit)).iter().sum();
    let part = share(path, Limit::PathRate) + if signs.queued { queued } else { 0.0 };
    (part >= 0.5).then(|| Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::AtLineRate,
            confidence: 0.7,
            summary: format!(
                "For {} of the time segments follow each other as fast as the path takes them.",
                format::percent(part),
            ),
            evidence: evidence([("path_rate_share", part)]),
            advice: "Nothing to change at the ends: the slowest link between them is the limit."
                .into(),
        },
    })
}

pub(super) fn bloated(path: &Path, signs: &Signs) -> Option<Weighed> {
    let (least_ns, rtt_ns) = (path.min_rtt_ns?, path.rtt_ns?);
    if !signs.queued || rtt_ns - least_ns < BLOATED_NS || rtt_ns < 4 * least_ns {
        return None;
    }
    let busy = 1.0 - share(path, Limit::Tail) - share(path, Limit::Handshake);
    Some(Weighed {
        weight: busy * (1.0 - stats::ratio(least_ns as f64, rtt_ns as f64)),
        finding: Finding {
            cause: Cause::Bufferbloat,
            confidence: 0.8,
            summary: format!(
                "Segments wait {} in a queue of the path: the round trip is {} at first and {} in the middle of the \
                 transfer.",
                format::time(rtt_ns - least_ns),
                format::time(least_ns),
                format::time(rtt_ns),
            ),
            evidence: evidence([
                ("least_rtt_ns", least_ns as f64),
                ("rtt_ns_p50", rtt_ns as f64),
                ("most_in_flight_bytes", f64::from(path.max_in_flight)),
            ]),
            advice: format!(
                "The rate stays the same with less under way: a window of {}, or a queue on the bottleneck that is \
                 managed (fq_codel, cake, tc tbf with a short limit).",
                format::bytes(
                    (path.unique_bytes as f64 * least_ns as f64 * 2.0 / path.time_ns.max(1) as f64)
                        as u64
                ),
            ),
        },
    })
}

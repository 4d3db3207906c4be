//! A receive interrupt that is still running when the next frame begins.

use super::{late_frames, loss_weight};
use crate::cause::scored::{ScoredFinding, evidence};
use linerate_results::format;
use linerate_results::line;
use linerate_results::record::{Cause, Finding, HttpGet};
use linerate_results::stats;

/// From the edge on the pin to the first sample, with direct vectoring, as measured on the
/// original (seed article, "Avoiding memcpy operations").
const ENTRY_NS: u64 = 750;

pub(super) fn evaluate(get: &HttpGet) -> Option<ScoredFinding> {
    let metrics = &get.metrics;
    let late = late_frames(get);
    // The receiver may miss the preamble, but not the start frame delimiter.
    let preamble_ns = line::PREAMBLE_OCTETS * 8 * line::BIT_NS;
    let gap_ns = match metrics.inter_packet_gap_ns_min {
        0 => get.limits.inter_packet_gap_ns,
        gap_ns => gap_ns,
    };
    let allowed_ns = (gap_ns + preamble_ns).saturating_sub(ENTRY_NS);
    let busy_ns = metrics.isr_post_processing_ns_p50;
    let worst_ns = metrics.isr_post_processing_ns_max;
    if late == 0 || worst_ns <= allowed_ns {
        return None;
    }
    let always = busy_ns > allowed_ns;
    let share = stats::ratio(late as f64, get.ledger.sent_frames as f64);
    let weight = loss_weight(get, late);
    Some(ScoredFinding {
        weight: if weight > 0.0 { weight } else { share },
        finding: Finding {
            cause: Cause::InterruptOverrunsGap,
            confidence: if always { 1.0 } else { 0.7 },
            summary: format!(
                "After a full frame the receive interrupt runs for {} more{}, but the next frame \
                 follows after {}: {} of the peer's frames were missed or received only in part.",
                format::time(if always { busy_ns } else { worst_ns }),
                if always { "" } else { " at worst" },
                format::time(gap_ns),
                format::percent(share),
            ),
            evidence: evidence([
                ("isr_post_processing_ns_p50", busy_ns as f64),
                ("isr_post_processing_ns_max", worst_ns as f64),
                ("inter_packet_gap_ns", gap_ns as f64),
                ("allowed_ns", allowed_ns as f64),
                ("late_frames", late as f64),
            ]),
            advice: format!(
                "Limit the interrupt's work after a frame to {}: align, check and copy on \
                 the main thread, or receive directly into the queue's memory.",
                format::time(allowed_ns),
            ),
        },
    })
}

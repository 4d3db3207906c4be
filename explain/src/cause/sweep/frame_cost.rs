//! Frames whose cost does not depend on their length.

use crate::cause::scored::{ScoredFinding, evidence};
use crate::series::cost::SendCost;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding};
use linerate_results::stats;

/// Above this share of a full frame's time, the fixed cost dominates.
const MIN_COST_SHARE: f64 = 0.5;
/// The largest size tried must be at least this share of a full frame.
const MIN_LARGEST_SIZE: f64 = 0.6;
/// Preamble, SFD and inter-packet gap of a frame (IEEE 802.3 clauses 3.1.1 and 4.4.2).
const LINE_OCTETS: f64 = 20.0;
/// Ethernet header and FCS, IPv4 and UDP headers.
const HEADERS: f64 = 18.0 + 28.0;
/// A full frame, with FCS.
const FULL_FRAME: f64 = 1_518.0;

/// With this many sizes or more, one outlier may be left out.
const MIN_SIZES_FOR_OUTLIER: usize = 5;

/// Evaluates datagram sizes, each with its time in nanoseconds.
pub(super) fn evaluate_datagrams(
    direction: Direction,
    times: &[(f64, f64)],
) -> Option<ScoredFinding> {
    // Larger datagrams take several frames.
    let full = FULL_FRAME - HEADERS;
    let whole: Vec<(f64, f64)> = times.iter().copied().filter(|it| it.0 <= full).collect();
    let cost = fit(&whole)?;
    // An upper bound of the line's share: the line is no slower than the measured time per octet.
    let line_ns = (LINE_OCTETS + HEADERS) * cost.octet_ns;
    finding(direction.label(), &whole, cost, full, line_ns)
}

/// Evaluates frame sizes, each with its time at the highest rate without loss.
pub(super) fn evaluate_frames(line_bits_per_s: u64, times: &[(f64, f64)]) -> Option<ScoredFinding> {
    let cost = fit(times)?;
    let line_ns = stats::ratio(LINE_OCTETS * 8e9, line_bits_per_s as f64);
    let direction = Direction::ToDevice.label();
    finding(direction, times, cost, FULL_FRAME, line_ns)
}

/// Fits a line through all points, or through all but one that took longer (the processor was busy otherwise).
fn fit(times: &[(f64, f64)]) -> Option<SendCost> {
    let without = |at: usize| {
        let (octets, ns) = times[at];
        let others = [&times[..at], &times[at + 1..]].concat();
        SendCost::fit(&others).filter(|cost| cost.ns(octets) < ns)
    };
    let spare = if times.len() < MIN_SIZES_FOR_OUTLIER {
        0
    } else {
        times.len()
    };
    SendCost::fit(times).or_else(|| {
        let lines = (0..spare).filter_map(without);
        lines.min_by(|one, other| one.send_ns.total_cmp(&other.send_ns))
    })
}

fn finding(
    direction: &str,
    times: &[(f64, f64)],
    cost: SendCost,
    full: f64,
    line_ns: f64,
) -> Option<ScoredFinding> {
    let largest = times.iter().map(|it| it.0).fold(0.0, f64::max);
    let full_ns = cost.ns(full);
    let own_ns = cost.send_ns - line_ns;
    let share = stats::ratio(own_ns, full_ns);
    if largest < MIN_LARGEST_SIZE * full || share < MIN_COST_SHARE {
        return None;
    }
    let ns = |ns: f64| format::time(ns.round() as u64);
    Some(ScoredFinding {
        weight: share,
        finding: Finding {
            cause: Cause::PerFrameCost,
            confidence: 0.8,
            summary: format!(
                "A frame {direction} takes {} regardless of its length, plus {} per octet: {} of the time of a full \
                 frame is fixed cost.",
                ns(cost.send_ns),
                ns(cost.octet_ns),
                format::percent(share),
            ),
            evidence: evidence([
                ("frame_ns", cost.send_ns),
                ("octet_ns", cost.octet_ns),
                ("line_overhead_ns", line_ns),
                ("full_frame_ns", full_ns),
                ("frame_share", share),
                ("sizes", times.len() as f64),
            ]),
            advice: format!(
                "Do per-frame work once per batch: descriptors and DMA instead of bus transactions, one interrupt \
                 per batch, no header copies. Without the fixed cost a full frame would \
                 be {:.1} times as fast.",
                full_ns / (full_ns - own_ns).max(1.0)
            ),
        },
    })
}

//! Frames that take their time whatever their length.

use crate::cause::scored::{Weighed, evidence};
use crate::series::cost::Cost;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding};
use linerate_results::stats;

/// From this part of a full frame's time on, the cost of a frame is most of it.
const MOST: f64 = 0.5;
/// What a full frame is like is known if so much of it was tried.
const TRIED: f64 = 0.6;
/// Preamble, start and gap of a frame (IEEE 802.3 clauses 3.1.1 and 4.4.2).
const LINE: f64 = 20.0;
/// The header and the check of Ethernet, the headers of IPv4 and UDP.
const HEADERS: f64 = 18.0 + 28.0;
/// A full frame, its check included.
const FULL_FRAME: f64 = 1_518.0;

/// Of so many sizes one may be left out.
const SPARE: usize = 5;

/// The sizes of datagrams, and the time of each in nanoseconds.
pub(super) fn of_datagrams(way: Direction, times: &[(f64, f64)]) -> Option<Weighed> {
    // Larger ones go in several frames.
    let full = FULL_FRAME - HEADERS;
    let whole: Vec<(f64, f64)> = times.iter().copied().filter(|it| it.0 <= full).collect();
    let cost = fit(&whole)?;
    // No line is slower than what its octets take.
    let line_ns = (LINE + HEADERS) * cost.octet_ns;
    finding(way.words(), &whole, cost, full, line_ns)
}

/// The sizes of frames, and the time of each at the highest rate without loss.
pub(super) fn of_frames(line_bits_per_s: u64, times: &[(f64, f64)]) -> Option<Weighed> {
    let cost = fit(times)?;
    let line_ns = stats::ratio(LINE * 8e9, line_bits_per_s as f64);
    let way = Direction::ToDevice.words();
    finding(way, times, cost, FULL_FRAME, line_ns)
}

/// The line through all, or through all but one that took longer: something else had the processor meanwhile.
fn fit(times: &[(f64, f64)]) -> Option<Cost> {
    let without = |at: usize| {
        let (octets, ns) = times[at];
        let others = [&times[..at], &times[at + 1..]].concat();
        Cost::of(&others).filter(|cost| cost.ns(octets) < ns)
    };
    let spare = if times.len() < SPARE { 0 } else { times.len() };
    Cost::of(times).or_else(|| {
        let lines = (0..spare).filter_map(without);
        lines.min_by(|one, other| one.send_ns.total_cmp(&other.send_ns))
    })
}

fn finding(
    way: &str,
    times: &[(f64, f64)],
    cost: Cost,
    full: f64,
    line_ns: f64,
) -> Option<Weighed> {
    let largest = times.iter().map(|it| it.0).fold(0.0, f64::max);
    let full_ns = cost.ns(full);
    let own_ns = cost.send_ns - line_ns;
    let share = stats::ratio(own_ns, full_ns);
    if largest < TRIED * full || share < MOST {
        return None;
    }
    let ns = |ns: f64| format::time(ns.round() as u64);
    Some(Weighed {
        weight: share,
        finding: Finding {
            cause: Cause::PerFrameCost,
            confidence: 0.8,
            summary: format!(
                "A frame {way} takes {} whatever its length, and {} for each octet: {} of the time of a full one \
                 is not for its octets.",
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
                "Do once for many frames what is done for each: descriptors and DMA instead of transactions on a \
                 bus, one interrupt for a batch, no copy of headers. A full frame that cost its octets alone would \
                 be {:.1} times as fast.",
                full_ns / (full_ns - own_ns).max(1.0)
            ),
        },
    })
}

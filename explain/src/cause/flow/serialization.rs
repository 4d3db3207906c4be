//! One segment in flight on a slow line: the line is full while the segment passes.

use super::facts::FlowFacts;
use linerate_capture::model::percentile;
use linerate_results::stats;

/// Segments that are this much smaller than full ones show what depends on the size.
const SMALL_DIVISOR: u64 = 2;
/// Fewer small ones may be late for other reasons.
const MIN_SMALL: usize = 2;
/// Times are in proportion to sizes within this part of them.
const TOLERANCE: f64 = 0.25;
/// A SYN and its answer on Ethernet: headers, and the MSS.
const SYN_OCTETS: f64 = 2.0 * 58.0;
/// A line is full if the segments take this share of the round trips.
const MIN_SHARE: f64 = 0.8;

/// True if round trips are longer than the handshake's in proportion to the octets of their segments, and these take most of
/// the time: the line is slow, and more in flight would only wait for it.
pub(super) fn is_path(facts: &FlowFacts<'_>) -> bool {
    let Some(base_ns) = facts.connection().handshake().rtt_ns() else {
        return false;
    };
    let (small, full): (Vec<_>, Vec<_>) = trips(facts)
        .into_iter()
        .filter(|(octets, _)| *octets * SMALL_DIVISOR <= facts.full || *octets == facts.full)
        .partition(|(octets, _)| *octets < facts.full);
    // The handshake's frames have the headers, too.
    let of_octet = |trips: &[(u64, u64)]| {
        let values = trips
            .iter()
            .map(|(octets, ns)| ns.saturating_sub(base_ns) / octets);
        percentile(values.collect(), 50).unwrap_or(0) as f64
    };
    let ratio = stats::ratio(of_octet(&small), of_octet(&full));
    let full_ns = percentile(full.iter().map(|(_, ns)| *ns).collect(), 50).unwrap_or(0);
    let passing = stats::ratio(full_ns.saturating_sub(base_ns) as f64, full_ns as f64);
    // The handshake's frames take their time on that line, too.
    let shows_in_handshake = base_ns as f64 >= of_octet(&full) * SYN_OCTETS;
    small.len() >= MIN_SMALL
        && shows_in_handshake
        && (ratio - 1.0).abs() <= TOLERANCE
        && passing >= MIN_SHARE
}

/// Octets of each new segment, and the time from it to the next one, which the acknowledgment releases.
fn trips(facts: &FlowFacts<'_>) -> Vec<(u64, u64)> {
    let new = facts
        .model
        .view
        .sent
        .iter()
        .filter(|it| !it.is_retransmission());
    let new: Vec<_> = new.collect();
    let is_near_receiver = facts.model.is_near_receiver();
    let pairs = new.windows(2).map(|pair| {
        // Near the receiver, a segment arrives when it has passed.
        let of = if is_near_receiver { pair[1] } else { pair[0] };
        (u64::from(of.len), pair[1].time_ns - pair[0].time_ns)
    });
    pairs.filter(|(octets, _)| *octets > 0).collect()
}

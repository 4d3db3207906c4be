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
/// Octets of a frame besides its payload, with and without the options of a segment and the FCS.
const HEADER_OCTETS: std::ops::RangeInclusive<u64> = 54..=78;
/// A smaller segment's time shows what depends on the size if it is this part of a full one's at most.
const MAX_PART: f64 = 0.8;
/// A receiver's delay equals the time of a line for that size by chance, within this part of a full segment's, once in 25 times.
const CLOSE: f64 = 0.02;
/// Full segments that took equally long, at least.
const MIN_FULL: usize = 8;

/// True if segments pass one at a time, each in a time in proportion to its octets, and these take most of the time: the line is
/// slow, and more in flight would only wait for it.
pub(super) fn is_path(facts: &FlowFacts<'_>) -> bool {
    is_longer_than_handshake(facts) || service_ns(facts).is_some()
}

/// True if round trips are longer than the handshake's in proportion to the octets of their segments.
fn is_longer_than_handshake(facts: &FlowFacts<'_>) -> bool {
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

/// Time of a full segment, ns, if nearly all take equally long, and each smaller one behind them takes the part of that time which
/// its frame is of theirs. A shaper lets the handshake and the first segments pass at once, so that only those behind them count.
pub(super) fn service_ns(facts: &FlowFacts<'_>) -> Option<u64> {
    // In a late capture the times alone have to be in proportion.
    let base_ns = facts.connection().handshake().rtt_ns().unwrap_or(0);
    let trips = lone_trips(facts);
    let full = |trip: &(u64, u64)| trip.0 == facts.full;
    let times: Vec<u64> = trips.iter().filter(|it| full(it)).map(|it| it.1).collect();
    // A receiver acknowledges at the time of the segment where it is simulated, or the clock is coarse.
    let service_ns = percentile(times.clone(), 50).filter(|ns| *ns > 0)?;
    let is_usual = |ns: u64| ns.abs_diff(service_ns) <= service_ns / 16;
    let usual = times.iter().filter(|ns| is_usual(**ns)).count();
    if usual < MIN_FULL || usual * 10 < times.len() * 8 || base_ns * 2 > service_ns {
        return None;
    }
    let usual_ns = service_ns as f64;
    let part = |octets: u64, header: u64| (octets + header) as f64 / (facts.full + header) as f64;
    let mut smaller = 0;
    for pair in trips.windows(2) {
        let (octets, ns) = pair[1];
        let parts = [*HEADER_OCTETS.start(), *HEADER_OCTETS.end()].map(|it| part(octets, it));
        if !full(&pair[0]) || !is_usual(pair[0].1) || parts[1] > MAX_PART {
            continue;
        }
        // The round trip of the path itself is part of each time, or not, if the next segment waits at the line.
        let least_ns = (parts[0] - CLOSE) * usual_ns;
        let most_ns = (parts[1] + CLOSE) * usual_ns + (1.0 - parts[1]) * base_ns as f64;
        if !(least_ns..=most_ns).contains(&(ns as f64)) {
            return None;
        }
        smaller += 1;
    }
    (smaller > 0).then_some(service_ns)
}

/// Octets of each new segment that passes alone, and its time: to its acknowledgment, or, near the receiver, from the acknowledgment
/// that released it.
fn lone_trips(facts: &FlowFacts<'_>) -> Vec<(u64, u64)> {
    let view = &facts.model.view;
    let is_near_receiver = facts.model.is_near_receiver();
    let mut acks = view.acks.iter().peekable();
    let (mut acked, mut acked_ns) = (0, None);
    let mut trips = Vec::new();
    let sent = view.sent.iter().filter(|it| it.len > 0);
    for it in sent {
        while let Some(ack) = acks.next_if(|ack| ack.number < it.number) {
            if ack.ack > acked {
                (acked, acked_ns) = (ack.ack, Some(ack.time_ns));
            }
        }
        if it.is_retransmission() || acked < it.start {
            continue;
        }
        let next = acks.peek().filter(|ack| ack.ack >= it.end);
        let ns = if is_near_receiver {
            acked_ns.map(|ns| it.time_ns - ns)
        } else {
            next.map(|ack| ack.time_ns - it.time_ns)
        };
        trips.extend(ns.map(|ns| (u64::from(it.len), ns)));
    }
    trips
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

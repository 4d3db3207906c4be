//! The limit of a healthy transfer: the path carries no more.

use super::class::FlowClass;
use super::facts::FlowFacts;
use super::flight::{arrives_evenly, even_share};
use super::full_line;
use super::half_duplex;
use super::pacing::is_own_stream;
use super::rule::Rule;
use super::serialization;
use super::service::{ns_despite_losses, service_ns};
use super::shown_rate::ShownRate;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Transmission, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A path is full if segments passed at its rate for this share of the time.
const MIN_SHARE: f64 = 0.5;
/// Without timestamps at the receiver's side, nothing shows a queue; then a steady rate must fill this share.
const MIN_STEADY: f64 = 0.85;
/// Timers of delayed acknowledgments take 25 ms at least; receivers process segments in less.
const HELD_NS: u64 = 25_000_000;
/// A flight at the beginning is no larger than a window without scaling (RFC 9293 section 3.1).
const LARGEST_FLIGHT: u64 = 65_535;
/// What arrives evenly for this share of the time leaves a link no pause in which a window would be waited for.
pub(super) const CONTINUOUS: f64 = 0.9;
/// Rates of Ethernet in bit/s (IEEE 802.3 clauses 14, 25, 40).
pub(super) const LINES: [f64; 4] = [10e6, 100e6, 1e9, 2.5e9];
/// Deviation from the rate of a line: oscillators deviate by 0.01%, the rest is for the few octets that do not belong to
/// full segments. A shaper of the same rate does not count preamble and gap, and carries 1.6% more.
const LINE_TOLERANCE: f64 = 0.01;
/// No line passes more than its rate: what is faster on average by more than the ends of a transfer account for passes a
/// shaper.
pub(super) const MAX_ABOVE_LINE: f64 = 1.002;

/// Rate of the line whose full use gives this rate on the wire.
pub(super) fn line_of(wire_bits_per_s: f64) -> Option<f64> {
    LINES
        .into_iter()
        .find(|line| (wire_bits_per_s / line - 1.0).abs() <= LINE_TOLERANCE)
}

/// True if the path is full for most of the time.
pub(super) fn is_full(facts: &FlowFacts<'_>) -> bool {
    facts.share(Limit::PathRate) >= MIN_SHARE || fills_line(facts) || facts.fills_together
}

/// Share of the active time in which segments passed at the rate of the path: no cause costs more than the rest. 0 unless
/// the capture shows what the path carries.
pub(super) fn busy_share(facts: &FlowFacts<'_>) -> f64 {
    let steady = if is_steady(facts) || fills_line(facts) {
        sending_share(facts)
    } else {
        0.0
    };
    steady.max(facts.share(Limit::PathRate))
}

/// True if the rate is that of a line, continuously: the queue may be before the capture point, in the sender.
fn fills_line(facts: &FlowFacts<'_>) -> bool {
    let utilization = facts.utilization();
    let average = facts.fastest().map(|rate| rate * utilization);
    let line = average.and_then(|rate| full_line(facts, rate));
    line.is_some() && utilization >= MIN_STEADY
}

/// Rate of the line that is full at this rate of payload, bit/s, if the transfer as a whole is not faster than that line.
pub(super) fn full_line(facts: &FlowFacts<'_>, bytes_per_s: f64) -> Option<f64> {
    let wire = |bytes_per_s: f64| bytes_per_s * 8.0 * facts.wire_factor();
    let average = wire(facts.acknowledged_rate());
    line_of(wire(bytes_per_s)).filter(|line| average <= line * MAX_ABOVE_LINE)
}

/// Share of the active time that all that was sent takes at the fastest rate.
fn sending_share(facts: &FlowFacts<'_>) -> f64 {
    let model = &facts.model;
    let mut times = model.view.sent.iter().map(|it| it.time_ns);
    let first_ns = times.next().unwrap_or(0);
    let sending_ns = times.next_back().unwrap_or(first_ns) - first_ns;
    model.utilization.min(1.0) * facts.share_of(sending_ns)
}

/// True if segments pass at a steady rate, and nothing shows whether the path or the sender sets it.
pub(super) fn is_steady(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    // The shortest round trip of a capture that begins late may contain a queue that always stands.
    let sees_queue = model.to_sender.count() >= 8 && !facts.begins_late();
    !model.is_queued
        && model.is_near_receiver()
        && !sees_queue
        && facts.utilization() >= MIN_STEADY
        && !waits_for_acks(facts)
        && (!waits_for_window(facts)
            || even_share(facts) >= CONTINUOUS && !is_shut_each_time(facts))
        && is_even(facts)
        && arrives_evenly(facts)
}

/// True if what is in flight passes a link, or the receiver, one after the other without a pause: with more of it, nothing would be
/// faster.
pub(super) fn is_served_continuously(facts: &FlowFacts<'_>) -> bool {
    if facts.model.is_near_receiver() {
        is_steady(facts) && even_share(facts) >= CONTINUOUS
    } else {
        service_ns(facts).is_some()
    }
}

/// True if the receiver holds back the acknowledgments of a full window for most of the time: no link sets that pace.
fn waits_for_window(facts: &FlowFacts<'_>) -> bool {
    let limits = [Limit::ReceiveWindow, Limit::ClosedWindow, Limit::LateAck];
    let waits: f64 = limits.iter().map(|limit| facts.share(*limit)).sum();
    waits >= MIN_SHARE
}

/// True if the receiver acknowledges most segments without room for more than the next one: nothing can be in flight behind it,
/// whatever the line.
fn is_shut_each_time(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    let Some(shift) = model.scale.shift() else {
        return false;
    };
    let sent = model.view.sent.iter().filter(|it| it.len > 0);
    let mut acks = model.view.acks.iter().peekable();
    let (mut segments, mut shut) = (0, 0);
    for it in sent.filter(|it| !it.is_retransmission()) {
        while acks.next_if(|ack| ack.ack < it.end).is_some() {}
        let room = acks.peek().map(|ack| u64::from(ack.window) << shift);
        segments += 1;
        shut += usize::from(room.is_some_and(|octets| octets <= facts.full));
    }
    shut * 2 >= segments
}

/// True if most segments come soon after an acknowledgment that was held back: delayed acknowledgments (RFC 9293 section
/// 3.8.6.3) set an even pace, too, where one segment is in flight.
fn waits_for_acks(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let gaps = sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let ack_ns = facts.model.to_receiver.percentile(50);
    match (ack_ns, percentile(gaps.collect(), 50)) {
        (Some(ack_ns), Some(gap_ns)) => ack_ns * 2 >= gap_ns && ack_ns >= HELD_NS,
        _ => false,
    }
}

/// True if full segments are evenly spaced, as behind a slow link.
fn is_even(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let is_full = |it: &Transmission| u64::from(it.len) == facts.full;
    let pairs = sent.windows(2).filter(|pair| pair.iter().all(is_full));
    let gaps: Vec<u64> = pairs
        .map(|pair| pair[1].time_ns - pair[0].time_ns)
        .collect();
    match (percentile(gaps.clone(), 25), percentile(gaps, 75)) {
        (Some(p25), Some(p75)) => p25 * 2 >= p75,
        _ => false,
    }
}

/// One segment after the other is acknowledged: without a pause, or alone, in a time in proportion to its octets.
fn served(facts: &FlowFacts<'_>, is_bloated: bool) -> Option<Rule> {
    // A program that writes by a clock does so whatever is acknowledged.
    let all_the_time = service_ns(facts)
        .or_else(|| ns_despite_losses(facts).filter(|_| !is_bloated))
        .filter(|_| !is_own_stream(facts));
    let (service_ns, how) = match all_the_time {
        Some(ns) => (ns, "without a pause while more is in flight"),
        None => (
            serialization::service_ns(facts)?,
            "and smaller ones sooner in proportion",
        ),
    };
    let rate = stats::ratio(facts.full as f64 * 1e9, service_ns as f64);
    Some(Rule {
        share: CONTINUOUS,
        cause: Cause::PathRate,
        confidence: 0.45,
        summary: format!(
            "{} acknowledges a full segment each {}, {how}, at {} of payload: a link before it carries no more, or it takes so \
             long for each segment.",
            facts.receiver,
            format::time(service_ns),
            format::rate(rate),
        ),
        evidence: evidence([
            ("service_ns", service_ns as f64),
            ("service_bytes_per_s", rate),
            ("fastest_bytes_per_s", rate.max(facts.goodput())),
        ]),
        advice: if facts.model.is_near_receiver() {
            "No change of windows or of the sending program helps."
        } else {
            "A capture at the receiver decides between the two: behind a slow link, segments arrive at this distance; a slow \
             receiver has them all at once."
        }
        .to_owned(),
        limits: &[Limit::PathRate],
        has_gain: false,
    })
}

/// True for what passes within one round trip: at which rate more would pass is not shown. A SYN may be answered late, so that a handshake
/// that takes longer than a large transfer is no round trip.
fn is_one_flight(facts: &FlowFacts<'_>) -> bool {
    let round_trip_ns = facts.connection().handshake().rtt_ns();
    facts.bytes() <= LARGEST_FLIGHT && round_trip_ns.is_some_and(|ns| facts.active_ns < ns)
}

/// The limit of a healthy transfer. A path is not sound if a standing queue is too long.
pub(super) fn path_rate(facts: &FlowFacts<'_>, is_bloated: bool) -> Option<Rule> {
    let bulk = || (facts.class == FlowClass::Bulk).then(|| full_line::nearly_full(facts));
    shown_rate(facts, is_bloated)
        .or_else(|| bulk().flatten())
        .or_else(|| half_duplex::full_medium(facts))
}

/// The rate at which segments pass, or are acknowledged, shows what the path carries.
fn shown_rate(facts: &FlowFacts<'_>, is_bloated: bool) -> Option<Rule> {
    // A program that writes by a clock is no link.
    let steady = is_steady(facts) && !is_own_stream(facts);
    if facts.class == FlowClass::Bulk
        && !is_full(facts)
        && let Some(rule) = served(facts, is_bloated)
    {
        return Some(rule);
    }
    if facts.class != FlowClass::Bulk || !(is_full(facts) || steady) || is_one_flight(facts) {
        return None;
    }
    let share = if (steady || fills_line(facts)) && !facts.fills_together {
        sending_share(facts)
    } else {
        facts.share(Limit::PathRate)
    };
    // A short transfer may wait longer for its last acknowledgment than for all others.
    let wait_ns = facts.last_wait_ns() as f64;
    let share = share * facts.active_ns as f64 / (facts.active_ns as f64 + wait_ns).max(1.0);
    if share < MIN_SHARE {
        return None;
    }
    let shown = ShownRate::of(facts, share, steady)?;
    Some(shown.rule(facts))
}

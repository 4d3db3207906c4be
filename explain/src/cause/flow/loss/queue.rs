//! Losses that depend on how much is in flight, or that leave the rate as it is.

use super::alternative::exceeds_chance;
use super::{Losses, MIN_LOSSES, SIGNIFICANCE, losses_each_time};
use crate::cause::flow::evenness;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::Limit;
use linerate_capture::tcp::{FLIGHT_BINS, poisson_at_most};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::{BTreeMap, HashMap};

/// The loss rate rises at least by this factor when the data in flight exceeds a queue.
const LOSS_RATE_FACTOR: f64 = 8.0;
/// With less in flight than a queue holds, fewer are lost than by chance on a usable path.
const MAX_RATE_BELOW: f64 = 0.02;
/// A smaller queue is reported as loss inside bursts.
const MIN_QUEUE_SEGMENTS: usize = 3;
/// The counted numbers of segments in flight end here; more are counted together.
const MAX_QUEUE_SEGMENTS: usize = FLIGHT_BINS - 4;

pub(super) const POLICER_ADVICE: &str = "Look for a policer (a rate limit that drops: switch port, nftables limit, tc police, a service \
                              contract): shape at the sender just below its rate (tc tbf), or make its burst at least the \
                              rate times the round trip.";

/// Segments sent and lost by the number of full segments in flight before them.
#[derive(Clone, Copy, Debug)]
struct ByFlight {
    sent: [u64; FLIGHT_BINS],
    lost: [u64; FLIGHT_BINS],
}

impl ByFlight {
    /// All segments; those that were repeated because the receiver discarded them count as neither.
    fn of(facts: &FlowFacts<'_>) -> Self {
        if facts.model.keeps_behind_gap != Some(false) {
            let stats = facts.stats();
            return Self {
                sent: stats.sent_by_flight,
                lost: stats.lost_by_flight,
            };
        }
        let mut own = Self {
            sent: [0; FLIGHT_BINS],
            lost: [0; FLIGHT_BINS],
        };
        let view = &facts.model.view;
        let mut repeated: HashMap<u64, bool> = HashMap::new();
        for it in view.sent.iter().filter(|it| it.is_retransmission()) {
            repeated.entry(it.start).or_insert(it.is_discarded);
        }
        let new = view.sent.iter().filter(|it| !it.is_retransmission());
        for (sent, flight) in new.zip(facts.model.flights()) {
            let ahead = flight.saturating_sub(u64::from(sent.len)) / facts.full.max(1);
            let bin = (ahead as usize).min(FLIGHT_BINS - 1);
            match repeated.get(&sent.start) {
                None => own.sent[bin] += 1,
                Some(true) => {}
                Some(false) => {
                    own.sent[bin] += 1;
                    own.lost[bin] += 1;
                }
            }
        }
        own
    }
}

/// Many losses that leave the rate as it is, above what they permit if they are independent, and that show no bucket.
pub(super) fn dropped_at_rate(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: &BTreeMap<String, f64>,
) -> Option<Rule> {
    let is_policed = !facts.model.is_queued
        && exceeds_chance(facts, losses.rate())
        && evenness::is_even_despite_many_losses(facts);
    let mut evidence = figures.clone();
    evidence.insert("goodput_bytes_per_s".to_owned(), facts.goodput());
    is_policed.then_some(Rule {
        share: losses.cost(),
        cause: Cause::Policed,
        confidence: 0.65,
        summary: format!(
            "{} of {} segments ({}) were lost, yet the rate stays the same throughout, at {}: what exceeds a rate seems to be \
             dropped. (A sender whose congestion control ignores losses, such as BBR, looks the same.) {waits}",
            format::count(losses.lost),
            format::count(losses.segments),
            format::percent(losses.rate()),
            format::rate(facts.goodput()),
        ),
        evidence,
        advice: POLICER_ADVICE.to_owned(),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight],
        has_gain: false,
    })
}

/// Capacity in segments of a queue, if more segments in flight are lost and fewer are not.
pub(super) fn queue_capacity(facts: &FlowFacts<'_>, losses: &Losses) -> Option<usize> {
    // Segments that are lost together are one event, whatever its cause: only events are independent of each other.
    let each_time = losses_each_time(facts, losses).max(1.0);
    let events = |lost: f64| lost / each_time;
    let ByFlight { sent, lost } = ByFlight::of(facts);
    let sum = |of: &[u64]| of.iter().sum::<u64>();
    let all_lost = sum(&lost);
    let fits = |at: &usize| {
        let (below, beyond) = (sum(&lost[..*at]), sum(&lost[*at..]));
        let expected = all_lost as f64 * stats::ratio(sum(&sent[..*at]) as f64, sum(&sent) as f64);
        let rate = |lost: u64, of: &[u64]| stats::ratio(lost as f64, sum(of) as f64);
        beyond >= MIN_LOSSES
            && rate(below, &sent[..*at]) <= MAX_RATE_BELOW
            && rate(beyond, &sent[*at..]) >= LOSS_RATE_FACTOR * rate(below, &sent[..*at])
            && poisson_at_most(events(below as f64).round() as u64, events(expected)) < SIGNIFICANCE
    };
    (MIN_QUEUE_SEGMENTS..MAX_QUEUE_SEGMENTS).rev().find(fits)
}

pub(super) fn queue(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    capacity: usize,
    waits: &str,
    mut figures: BTreeMap<String, f64>,
) -> Rule {
    figures.insert("room_segments".to_owned(), capacity as f64);
    let bytes = capacity as u64 * facts.full;
    let counts = ByFlight::of(facts);
    // On a short path any queue of some segments would do, if the sender never had more in flight.
    let product =
        facts.model.base_rtt_ns().unwrap_or(0) as f64 * facts.fastest().unwrap_or(0.0) / 1e9;
    let is_short_path = product < bytes as f64 / 2.0;
    let (above_lost, above) = (
        counts.lost[capacity..].iter().sum::<u64>(),
        counts.sent[capacity..].iter().sum::<u64>(),
    );
    figures.insert("room_bytes".to_owned(), bytes as f64);
    let window = facts.model.largest_window();
    figures.insert("most_window_bytes".to_owned(), window as f64);
    figures.insert("lost_above_room".to_owned(), above_lost as f64);
    figures.insert("segments_above_room".to_owned(), above as f64);
    let (below_lost, below) = (
        counts.lost[..capacity].iter().sum::<u64>(),
        counts.sent[..capacity].iter().sum::<u64>(),
    );
    figures.insert("lost_below_room".to_owned(), below_lost as f64);
    figures.insert("segments_below_room".to_owned(), below as f64);
    let lost = format!(
        "With {capacity} or more segments in flight, {} of {} are lost; with fewer, {} of {}",
        format::count(above_lost),
        format::count(above),
        format::count(below_lost),
        format::count(below),
    );
    let share = losses.cost();
    let limits: &[Limit] = &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight];
    if is_short_path {
        Rule {
            share,
            cause: Cause::QueueOverflow,
            confidence: 0.8,
            summary: format!(
                "{lost}: a queue before {} is full, but its window of {} lets {} send them. {waits}",
                facts.receiver,
                format::bytes(window),
                facts.sender,
            ),
            evidence: figures,
            advice: format!(
                "Advertise a window no larger than the receive queue ({} here), or enlarge the queue (descriptors, \
                 buffers) to the size of the window.",
                format::bytes(bytes)
            ),
            limits,
            has_gain: true,
        }
    } else {
        Rule {
            share,
            cause: Cause::ShallowQueue,
            confidence: 0.7,
            summary: format!("{lost}: the queue before the slowest link holds no more. {waits}"),
            evidence: figures,
            advice: "Give the queue before the slowest link room for the rate times the round trip (switch port, tc \
                     limit, transmit ring), or pace the sender."
                .to_owned(),
            limits,
            has_gain: true,
        }
    }
}

//! Losses that depend on how much passed, or is in flight: a policer, or a queue that is too short.

use super::alternative::exceeds_chance;
use super::dispersion::{self, Arrivals};
use super::{Losses, MIN_LOSSES, NEARLY_FULL, RING_SEGMENTS, SIGNIFICANCE, losses_each_time};
use crate::cause::flow::evenness;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::repeats::episodes;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::{Limit, LossBucket};
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
/// Losses depend on what passed before if they are separated from other segments with this probability.
const MIN_SEPARATION: f64 = 0.9;
/// Of so many losses, a lower probability is no chance either: clocks of hosts and adapters jitter.
const MANY_LOSSES: usize = 100;
const SEPARATION_OF_MANY: f64 = 0.85;
/// A queue delays segments by this share of its level at least; a policer does not.
pub(super) const MIN_DELAY_SHARE: f64 = 0.25;
/// Before a queue overflows, segments wait as long as all of it takes; one in ten waits at least this share of that.
const MIN_WAIT_SHARE: f64 = 0.25;
/// From this loss rate on, a window that each loss halves has room for fewer than nine segments (Mathis et al. 1997: the square
/// root of 3 / (2 * rate)): a queue that holds more, together with its path, loses fewer.
pub(super) const MIN_EXCESS_RATE: f64 = 0.02;
/// A bucket that holds more than so many times what is in flight is not what a window overflows.
const MOST_FLIGHTS: f64 = 2.0;
/// A sender keeps to a rate if it exceeds the goodput by this factor at most.
const MAX_KEPT: f64 = 1.15;
/// So many events show the rate of a policer above which the sender is on average, too.
const MIN_EVENTS_ABOVE: u64 = 8;
/// A path that holds so many times more than a queue needs a longer one, whosever it is.
const LONG_PATH: f64 = 8.0;
/// What passes fills a queue that overflows again and again so many times.
const MIN_FILLED: f64 = 4.0;
/// Rings of receivers and queues of ports hold fewer.
const MIN_DEEP_SEGMENTS: f64 = 16.0;
/// A rate is that of the bucket if a higher one puts this share of the pairs of a lost and another segment into the wrong
/// order, and so many times as many.
const MIN_ADVANTAGE: f64 = 0.03;
const ADVANTAGE_FACTOR: f64 = 4.0;
/// The delay of a queue that is longer than this cannot be mistaken for the work of hosts.
const LONG_QUEUE_NS: f64 = 2e7;
/// A receiver takes up to so long for a segment, whatever waits before it.
const HOST_NS: u64 = 400_000;
/// A sender that waits for its timer for a larger share of the time sends single bursts.
const MAX_TIMEOUT_SHARE: f64 = 0.9;

/// The evidence that no faster rate fits as well.
pub(super) const ONE_RATE: &str = "has_one_rate";

const POLICER_ADVICE: &str = "Look for a policer (a rate limit that drops: switch port, nftables limit, tc police, a service \
                              contract): shape at the sender just below its rate (tc tbf), or make its burst at least the \
                              rate times the round trip.";

/// Losses that depend on what passed before: a policer, or a queue that is too short.
pub(super) fn bucket(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: &BTreeMap<String, f64>,
) -> Option<Rule> {
    let samples = if facts.model.is_near_receiver() {
        facts.model.to_sender.samples()
    } else {
        facts.model.to_receiver.samples()
    };
    let bucket = LossBucket::of(&facts.model.view, samples)?;
    let arrivals = Arrivals::of(facts, bucket.bytes_per_s);
    // Where neither waits nor arrivals show the bucket, many losses by chance look like those of one: each ends the growth of a window.
    let is_seen = bucket.delay_share.is_some() || arrivals == Arrivals::AsSent;
    let is_many = bucket.lost >= MANY_LOSSES && is_seen;
    if bucket.separation < MIN_SEPARATION && !(is_many && bucket.separation >= SEPARATION_OF_MANY) {
        return None;
    }
    let mut figures = figures.clone();
    figures.insert("separation".to_owned(), bucket.separation);
    figures.insert("bucket_bytes".to_owned(), bucket.depth_bytes);
    figures.insert("bucket_bytes_per_s".to_owned(), bucket.bytes_per_s);
    // Noise makes it negative.
    let delay_share = bucket.delay_share.unwrap_or(0.0).max(0.0);
    // What a link spaces has waited for it, although no round trip shows how long.
    if bucket.delay_share.is_some() || arrivals != Arrivals::Spaced {
        figures.insert("delay_by_level".to_owned(), delay_share);
    }
    let bucket_segments = (bucket.depth_bytes / bucket.segment_bytes).round();
    figures.insert("bucket_segments".to_owned(), bucket_segments);
    let share = losses.cost();
    let limits: &[Limit] = &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight];
    let lost = format!(
        "{} of {} segments were lost, nearly all of them when more than {} had passed above {}",
        format::count(losses.lost),
        format::count(losses.segments),
        format::bytes(bucket.depth_bytes.round() as u64),
        format::rate(bucket.bytes_per_s),
    );
    let drain_ns = bucket.depth_bytes * 1e9 / bucket.bytes_per_s;
    let wait_ns = facts.model.queue_ns.filter(|_| facts.model.is_queued);
    // Where the delay of a level is known, what waits elsewhere does not matter.
    let wait_share = wait_ns
        .filter(|_| bucket.delay_share.is_none())
        .map_or(0.0, |(_, p90)| p90 as f64 / drain_ns);
    let is_ring = bucket.depth_bytes <= RING_SEGMENTS * bucket.segment_bytes;
    // Bursts that overflow a few buffers do not show at which rate these become free: any rate above the average fits. Only
    // a sender that keeps to the rate shows it; one that waits for its timer nearly all the time keeps to none.
    let keeps_rate = bucket.bytes_per_s <= MAX_KEPT * facts.goodput();
    let (wrong, wrong_of_faster) = (1.0 - bucket.separation, 1.0 - bucket.separation_of_faster);
    let has_one_rate = bucket.delay_share.is_some()
        && facts.goodput() >= NEARLY_FULL * bucket.bytes_per_s
        && wrong_of_faster >= MIN_ADVANTAGE.max(ADVANTAGE_FACTOR * wrong);
    // A ring that is emptied sooner than round trips show loses the same segments at any faster rate. Where such a rate does not fit,
    // what waits in a queue is seen: by its round trips or, near the receiver, by arrivals at the rate of its link.
    let before_receiver_ns = facts.model.to_receiver.queue_ns(90).unwrap_or(0);
    let shows_queue = match arrivals {
        Arrivals::AsSent => before_receiver_ns < HOST_NS,
        _ => bucket.delay_share.is_some(),
    };
    let wrong_of_unseen = 1.0 - bucket.separation_of_unseen;
    let is_no_queue = shows_queue && wrong_of_unseen >= MIN_ADVANTAGE.max(ADVANTAGE_FACTOR * wrong);
    // Without round trips, that nothing waits is unknown, and a ring loses the same segments.
    let is_unseen = is_ring && bucket.delay_share.is_none() && wait_ns.is_none();
    // What waits in a queue is in flight, so a queue clocks its sender: once it is full, a round trip loses one segment more
    // than it has room for. A policer does not, so all that exceeds its rate is lost until the sender has slowed down.
    let most = facts.model.flights().into_iter().max().unwrap_or(0);
    let is_frequent = losses.rate() >= MIN_EXCESS_RATE;
    // A policer with a bucket of several flights fills up again while the window grows: then several of them are lost.
    if !is_frequent
        && bucket.depth_bytes > MOST_FLIGHTS * most as f64
        && delay_share < MIN_DELAY_SHARE
    {
        return None;
    }
    if has_one_rate {
        figures.insert(ONE_RATE.to_owned(), 1.0);
    }
    let drops_at_rate = is_ring
        && is_frequent
        && !facts.model.is_near_receiver()
        && bucket.delay_share.is_some()
        && facts.goodput() >= NEARLY_FULL * bucket.bytes_per_s
        && losses.timeout < MAX_TIMEOUT_SHARE;
    // Bursts that overflow a ring at intervals are even, too, but any faster rate fits them.
    let is_even = facts.goodput() >= NEARLY_FULL * bucket.bytes_per_s
        && losses.timeout < MAX_TIMEOUT_SHARE
        && evenness::is_even_despite_many_losses(facts);
    let drops_at_rate = drops_at_rate || is_even;
    // A few events fit a bucket of some depth whose rate the sender does not keep, whatever lost their segments.
    let is_repeated = episodes(facts) >= MIN_EVENTS_ABOVE
        && bucket.depth_bytes >= MIN_DEEP_SEGMENTS * bucket.segment_bytes;
    let shows_rate = !is_unseen && keeps_rate
        || (!is_ring && is_repeated || has_one_rate || is_no_queue)
            && losses.timeout < MAX_TIMEOUT_SHARE
        || drops_at_rate;
    // What a queue holds leaves it at the rate of its link; what a policer lets pass keeps the distance at which it was sent.
    let is_spaced =
        arrivals == Arrivals::Spaced || dispersion::is_of_link(facts, bucket.bytes_per_s);
    if delay_share < MIN_DELAY_SHARE && wait_share < MIN_WAIT_SHARE && shows_rate && !is_spaced {
        let before = if wait_ns.is_some() {
            "they wait no longer before that than others"
        } else {
            "nothing waits in a queue before"
        };
        return Some(Rule {
            share,
            cause: Cause::Policed,
            confidence: if drops_at_rate && !has_one_rate && !keeps_rate {
                0.65
            } else {
                0.85
            },
            summary: format!("{lost}; {before}: the excess is dropped at once. {waits}"),
            evidence: figures,
            advice: POLICER_ADVICE.to_owned(),
            limits,
            has_gain: false,
        });
    }
    let longest_ns = facts
        .model
        .to_receiver
        .queue_ns(99)
        .filter(|_| !facts.model.is_near_receiver());
    let is_longer =
        longest_ns.is_some_and(|ns| drain_ns >= LONG_QUEUE_NS && (ns * 2) as f64 <= drain_ns);
    // A few events fit a level that hardly ever falls.
    let is_seldom_full = bucket.depth_bytes * MIN_FILLED > facts.bytes() as f64;
    if bucket.depth_bytes > most as f64 || is_longer || is_seldom_full {
        return None;
    }
    // On a short path any queue of some segments would do, if the sender never had more in flight.
    let least_ns = facts.model.base_rtt_ns();
    let path_bytes = least_ns.map(|ns| ns as f64 * bucket.bytes_per_s / 1e9);
    let is_short = path_bytes.map_or(arrivals != Arrivals::Spaced, |it| {
        it < bucket.depth_bytes / 2.0
    });
    let is_long = path_bytes.is_some_and(|it| it >= LONG_PATH * bucket.depth_bytes);
    let is_short_path = is_short || delay_share < MIN_DELAY_SHARE && !is_spaced && !is_long;
    Some(Rule {
        share,
        cause: if is_short_path {
            Cause::QueueOverflow
        } else {
            Cause::ShallowQueue
        },
        // Losses of other kinds fit a small bucket, too: of the answers that rest on one, fewer are right.
        confidence: if is_short_path || delay_share < MIN_DELAY_SHARE { 0.65 } else { 0.8 },
        summary: format!(
            "{lost}: a queue of about {} before {} overflows. {waits}",
            format::counted(bucket_segments as u64, "segment"),
            facts.receiver,
        ),
        evidence: figures,
        advice: "Give that queue (receive descriptors and buffers, a switch port, tc limit) room for the window, or \
                 advertise a smaller window."
            .to_owned(),
        limits,
        has_gain: true,
    })
}

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

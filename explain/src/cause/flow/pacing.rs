//! A sender that sets its own pace.

use super::class::takes_turns;
use super::facts::FlowFacts;
use super::half_duplex::full_medium;
use super::media::is_picture_stream;
use super::own_queue::waits_before_capture;
use super::rate;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Transmission, WindowScale, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::HashSet;

/// A smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.2;
/// A sender that paces waits for itself most of the time.
const MIN_PACED_SHARE: f64 = 0.5;
/// Fewer round trips to the sender do not show what it waits for.
const MIN_ROUND_TRIPS: usize = 8;
/// Segments this close together leave at once.
const BURST_GAP_NS: u64 = 400_000;
/// The rate of the bursts exceeds the average by this factor at most: a program writes in blocks, too.
const MAX_PACED: f64 = 1.4;
/// Fewer losses may be chance.
const MIN_LOSSES: u64 = 3;
/// Fewer segments have no pattern.
pub(super) const MIN_SEGMENTS: usize = 20;
/// A program that waits for room in its send buffer is woken and writes within less.
const LAG_NS: u64 = 250_000;
const LAG_FACTOR: u64 = 10;
/// A sender without data for a shorter time is busy with other work.
pub(super) const IDLE_NS: u64 = 10_000_000;

/// Intervals of a clock vary by a smaller part.
const CLOCK_DIVISOR: u64 = 16;
/// Round trips are no multiple of an interval if they differ by this part of it.
const MIN_REST_DIVISOR: u64 = 4;
/// A round trip of the handshake is longer than others by this part of it at most: a stack answers a SYN more slowly.
const SHORTER_DIVISOR: u64 = 8;
/// Payload that each path carries in a segment: an MTU of 1,280 octets (RFC 8200 section 5) less headers and options.
pub(super) const LEAST_MTU_PAYLOAD: u64 = 1_200;
/// Octets of options in a segment at most (RFC 9293 section 3.1).
pub(super) const OPTIONS: u64 = 40;

/// Segments at a constant interval, without waiting for acknowledgments, and nothing queues.
pub(super) fn pacing(facts: &FlowFacts<'_>) -> Option<Rule> {
    if is_held_back(facts)
        || is_picture_stream(facts)
        || is_own_stream(facts)
        || full_medium(facts).is_some()
    {
        return None;
    }
    let bursts = Bursts::of(facts)?;
    let share = facts.share(Limit::SenderIdle)
        + facts.share(Limit::InFlight)
        + facts.share(Limit::SlowStart);
    if bursts.starts_ns.len() < MIN_SEGMENTS
        || share < MIN_PACED_SHARE
        || bursts.are_writes(facts)
        // Acknowledgments wait for the next burst, and the one after it if they come late in an interval.
        || waits_before_capture(facts, 2 * bursts.interval_ns)
        || !(bursts.has_interval() || bursts.has_pace())
        || !bursts.is_constant(facts)
        || !is_timed(facts, &bursts, share)
    {
        return None;
    }
    let model = &facts.model;
    Some(Rule {
        share,
        cause: Cause::HostPacing,
        // Where the round trip to the sender was seen in the handshake only, a way back that is full sets the same pace.
        confidence: if model.is_near_receiver() && model.to_sender.count() < MIN_ROUND_TRIPS {
            0.55
        } else {
            0.8
        },
        summary: format!(
            "{} {}, whatever is acknowledged, and nothing queues on the path: it is paced to {}.",
            facts.sender,
            bursts.text(),
            format::rate(facts.goodput()),
        ),
        evidence: evidence([
            if bursts.has_interval() {
                ("send_gap_ns_p50", bursts.interval_ns as f64)
            } else {
                ("segment_time_ns_p50", bursts.pace_ns as f64)
            },
            ("segments_per_burst", bursts.segments),
            ("rate_bytes_per_s", facts.goodput()),
        ]),
        advice: "Check the sending host first: a rate limit of the program (iperf3 -b), SO_MAX_PACING_RATE, a shaper (tc \
                 qdisc)."
            .to_owned(),
        limits: &[Limit::SenderIdle, Limit::InFlight],
        has_gain: false,
    })
}

/// True if something else than the sender sets the pace: the receiver's window, the path, requests.
fn is_held_back(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    let is_answering = takes_turns(model);
    // What overflows a queue is not held back by its sender.
    let stats = facts.stats();
    let has_losses = stats.retransmitted_segments >= stats.spurious_retransmissions + MIN_LOSSES;
    let window = facts.share(Limit::ReceiveWindow) + facts.share(Limit::ClosedWindow);
    window >= MIN_SHARE
        || rate::is_full(facts)
        || rate::is_steady(facts)
        || model.is_queued
        || is_answering
        || has_losses
}

/// Segments that leave together: those of one write, as fast as the line carries them.
pub(super) struct Bursts {
    /// When each begins.
    starts_ns: Vec<u64>,
    /// Segments in one, on average.
    pub(super) segments: f64,
    /// What lies within it is a burst.
    gap_ns: u64,
    /// Time from one to the next: median, and from the 10th to the 90th percentile.
    pub(super) interval_ns: u64,
    spread_ns: u64,
    /// The same of the intervals per segment of the burst before: a sender that paces waits for as long as its octets take.
    pace_ns: u64,
    pace_spread_ns: u64,
}

impl Bursts {
    /// Those that come at the interval of a clock, whoever begins them, without a pause: no part of a write ends them, and nothing else
    /// holds back the sender.
    pub(super) fn at_interval(facts: &FlowFacts<'_>) -> Option<Self> {
        let has_pace_of_its_own = !is_held_back(facts)
            && !is_picture_stream(facts)
            && !is_own_stream(facts)
            && full_medium(facts).is_none();
        let bursts = Self::of(facts).filter(|_| has_pace_of_its_own)?;
        let is_clock = bursts.spread_ns <= bursts.interval_ns / CLOCK_DIVISOR;
        let is_long = bursts.starts_ns.len() >= MIN_SEGMENTS;
        let is_paced = is_clock && is_long && bursts.is_constant(facts);
        (is_paced && !bursts.are_writes(facts)).then_some(bursts)
    }

    /// `None` for few segments, and for small ones.
    fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let sent: Vec<_> = facts
            .model
            .view
            .sent
            .iter()
            .filter(|it| it.len > 0)
            .collect();
        let full = sent
            .iter()
            .filter(|it| u64::from(it.len) * 10 >= facts.full * 6);
        if sent.len() < 2 * MIN_SEGMENTS || full.count() * 2 < sent.len() {
            return None;
        }
        let gaps = sent
            .windows(2)
            .map(|pair| pair[1].time_ns - pair[0].time_ns);
        let gap_ns = BURST_GAP_NS.max(percentile(gaps.collect(), 90)? / 4);
        let bursts: Vec<_> = sent
            .chunk_by(|before, it| it.time_ns - before.time_ns <= gap_ns)
            .collect();
        let starts_ns: Vec<u64> = bursts.iter().map(|burst| burst[0].time_ns).collect();
        let intervals = starts_ns.windows(2).map(|pair| pair[1] - pair[0]);
        let intervals: Vec<u64> = intervals.collect();
        let octets = bursts
            .iter()
            .map(|burst| burst.iter().map(|it| u64::from(it.len)).sum::<u64>());
        let paces = intervals
            .iter()
            .zip(octets)
            .map(|(ns, octets)| ns.saturating_mul(facts.full) / octets);
        let [interval_ns, spread_ns] = median_and_spread(intervals.clone())?;
        let [pace_ns, pace_spread_ns] = median_and_spread(paces.collect())?;
        Some(Self {
            segments: stats::ratio(sent.len() as f64, starts_ns.len() as f64),
            gap_ns,
            interval_ns,
            spread_ns,
            pace_ns,
            pace_spread_ns,
            starts_ns,
        })
    }

    /// "sends 2.0 segments every 3 ms".
    fn text(&self) -> String {
        if self.has_interval() {
            format!(
                "sends {:.1} segments every {}",
                self.segments,
                format::time(self.interval_ns)
            )
        } else {
            format!(
                "sends bursts of different sizes, {:.1} segments on average, and begins the next one {} later for each full segment",
                self.segments,
                format::time(self.pace_ns)
            )
        }
    }

    /// A program's writes are less even than a timer.
    fn has_interval(&self) -> bool {
        let most_ns = if self.segments > 4.0 {
            self.interval_ns / 6
        } else {
            self.interval_ns * 3 / 5
        };
        self.spread_ns <= most_ns
    }

    /// True if the time to the next burst is in proportion to what the one before carries.
    fn has_pace(&self) -> bool {
        self.pace_spread_ns <= self.pace_ns / CLOCK_DIVISOR
    }

    /// A sender that paces does not stop: its rate is that of its bursts.
    fn is_constant(&self, facts: &FlowFacts<'_>) -> bool {
        let full = facts.full as f64;
        let paced = if self.has_interval() {
            stats::ratio(self.segments * full * 1e9, self.interval_ns as f64)
        } else {
            stats::ratio(full * 1e9, self.pace_ns as f64)
        };
        paced <= MAX_PACED * facts.goodput()
    }

    /// A burst that ends with a part of a segment is a write of the program.
    fn are_writes(&self, facts: &FlowFacts<'_>) -> bool {
        let ends = facts
            .model
            .view
            .sent
            .windows(2)
            .filter(|pair| pair[1].time_ns - pair[0].time_ns > self.gap_ns);
        let partial = ends.filter(|pair| u64::from(pair[0].len) < facts.full);
        (self.segments > 2.5 || self.interval_ns >= IDLE_NS)
            && partial.count() * 2 >= self.starts_ns.len()
    }
}

/// Median, and difference of the 10th and the 90th percentile.
fn median_and_spread(values: Vec<u64>) -> Option<[u64; 2]> {
    let spread = percentile(values.clone(), 90)? - percentile(values.clone(), 10)?;
    Some([percentile(values, 50)?, spread])
}

/// True if a timer begins the bursts, and no acknowledgment. The sender paces for this share of the time.
fn is_timed(facts: &FlowFacts<'_>, bursts: &Bursts, share: f64) -> bool {
    let model = &facts.model;
    let is_unprompted =
        facts.share(Limit::SenderIdle) >= 0.5 * share || begin_unprompted(facts, &bursts.starts_ns);
    // Near the receiver, only the round trip to the sender shows what an acknowledgment prompted.
    let sees_sender = model.reaction_ns > 0 || model.to_sender.base_ns().is_some();
    if model.is_near_receiver() && !(sees_sender && (is_unprompted || sees_queue(facts))) {
        return false;
    }
    // With a round trip between bursts, the window may be the limit, unless it is known to be wide enough.
    let knows_window =
        model.scale.shift().is_some() || matches!(model.scale, WindowScale::Ample(_));
    let rtt_ns = model.round_trip_ns();
    let interval_ns = bursts.interval_ns;
    is_unprompted
        || lags_acks(facts)
        || knows_window
            && has_own_interval(interval_ns, bursts.spread_ns, rtt_ns)
            && !may_be_round_trip(facts, interval_ns)
        || knows_window && rtt_ns.is_some_and(|rtt_ns| interval_ns < rtt_ns / 2)
}

/// True if a queue before the capture point would show, in round trips to the sender or by the sender's time stamps: behind a link that
/// serves its users in turns, segments come at an interval of its own, too.
fn sees_queue(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    let by_trips = model.to_sender.count() >= MIN_ROUND_TRIPS && !facts.begins_late();
    by_trips || model.data_delay_ns.is_some()
}

/// True if bursts come at an interval that hardly varies and that no number of them makes up a round trip: acknowledgments
/// do not set it. A round trip is no shorter than the one of an empty path, and not much longer where nothing queues.
fn has_own_interval(interval_ns: u64, spread_ns: u64, rtt_ns: Option<u64>) -> bool {
    let Some(rtt_ns) = rtt_ns.filter(|ns| *ns > 0) else {
        return false;
    };
    let bursts = (rtt_ns - rtt_ns / SHORTER_DIVISOR).div_ceil(interval_ns.max(1));
    let rest_ns = rtt_ns.abs_diff(bursts * interval_ns);
    spread_ns <= interval_ns / CLOCK_DIVISOR
        && 2 * rtt_ns >= interval_ns
        && rest_ns * MIN_REST_DIVISOR >= interval_ns
}

/// True if an interval may be the round trip: near the receiver, the handshake shows a longer one only, in which the sender may have
/// asked for an address first.
fn may_be_round_trip(facts: &FlowFacts<'_>, interval_ns: u64) -> bool {
    let model = &facts.model;
    // The answer to FIN shows it, too, if it came sooner.
    let is_closed = model.closed_ns.is_some() && model.closed_ns == model.to_sender.base_ns();
    let is_handshake_only = model.to_sender.count() < MIN_ROUND_TRIPS && !is_closed;
    model.is_near_receiver()
        && is_handshake_only
        && model.round_trip_ns().is_some_and(|ns| interval_ns < ns)
}

/// True if nearly all segments are alone, end a write, have room for more, and begin at the interval of a clock: the
/// program sends what it has, when it has it.
pub(super) fn is_own_stream(facts: &FlowFacts<'_>) -> bool {
    let sent = facts.model.view.sent.iter();
    let new = sent.filter(|it| !it.is_retransmission());
    let new: Vec<(&Transmission, bool)> = new
        .zip(facts.sent_alone())
        .filter(|(it, _)| it.len > 0)
        .collect();
    let room = facts.mss().unwrap_or(LEAST_MTU_PAYLOAD);
    // Where no PSH ends a write, a segment that is alone and has room for more does, if it is known to be alone.
    let model = &facts.model;
    let knows_flight = !model.is_near_receiver() || model.to_sender.base_ns().is_some();
    let hides_writes = knows_flight && facts.hides_writes();
    let writes = new.iter().filter(|(it, is_alone)| {
        let has_room = u64::from(it.len) + OPTIONS <= room;
        has_room && (it.is_pushed || hides_writes && *is_alone)
    });
    let intervals: Vec<u64> = new
        .windows(2)
        .map(|pair| pair[1].0.time_ns - pair[0].0.time_ns)
        .collect();
    let of = |percent| percentile(intervals.clone(), percent).unwrap_or(0);
    let (p10, p50, p90) = (of(10), of(50), of(90));
    new.len() >= MIN_SEGMENTS
        && writes.count() * 10 >= new.len() * 9
        && p50 >= IDLE_NS
        && p90 - p10 <= p50 / 5
}

/// True if segments leave much later after an acknowledgment than this host's stack answered the handshake: something else
/// than the acknowledgment releases them.
fn lags_acks(facts: &FlowFacts<'_>) -> bool {
    let legs_ns = facts.connection().handshake().legs_ns();
    let stack_ns = legs_ns.map(|legs| legs[facts.model.data_sender as usize]);
    let lag_ns = facts
        .model
        .release_ns
        .filter(|_| !facts.model.is_near_receiver());
    stack_ns.zip(lag_ns).is_some_and(|(stack_ns, lag_ns)| {
        lag_ns >= LAG_NS && lag_ns >= LAG_FACTOR * stack_ns.max(1)
    })
}

/// True if most bursts begin some time after all was acknowledged.
fn begin_unprompted(facts: &FlowFacts<'_>, starts: &[u64]) -> bool {
    let spans = facts.model.spans.iter();
    let idle = spans.filter(|span| span.limit == Limit::SenderIdle);
    let ends: HashSet<u64> = idle.map(|span| span.end_ns).collect();
    let unprompted = starts.iter().filter(|ns| ends.contains(ns)).count();
    unprompted * 5 >= starts.len() * 4
}

#[cfg(test)]
mod tests;

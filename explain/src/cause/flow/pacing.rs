//! A sender that sets its own pace.

use super::facts::FlowFacts;
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
/// Fewer round trips to the sender do not show what it waits for.
const MIN_ROUND_TRIPS: usize = 8;
/// Segments this close together leave at once.
const BURST_GAP_NS: u64 = 400_000;
/// The rate of the bursts exceeds the average by this factor at most: a program writes in blocks, too.
const MAX_PACED: f64 = 1.4;
/// Fewer losses may be chance.
const MIN_LOSSES: u64 = 3;
/// Fewer segments have no pattern.
const MIN_SEGMENTS: usize = 20;
/// Fewer blocks show no rate of pictures.
const MIN_PICTURES: usize = 10;
/// A program that waits for room in its send buffer is woken and writes within less.
const LAG_NS: u64 = 250_000;
const LAG_FACTOR: u64 = 10;
/// A shorter silence may be the sending host's work.
const MIN_SILENCE_NS: u64 = 2_000_000;
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

/// Pictures per second of cameras (ITU-R BT.2020 table 2, also divided by 1.001).
const PICTURES_PER_S: [f64; 5] = [24.0, 25.0, 30.0, 50.0, 60.0];
/// A camera with less to deliver takes each n-th picture of its sensor, up to this one.
const MOST_SKIPPED: u32 = 6;
/// A program that waits after each block needs longer than its wait by more than this, even for small blocks.
const PICTURE_TOLERANCE: f64 = 0.001;

/// Segments at a constant interval, without waiting for acknowledgments, and nothing queues.
pub(super) fn pacing(facts: &FlowFacts<'_>) -> Option<Rule> {
    let model = &facts.model;
    let is_answering = model.turns.changes() >= 4;
    // What overflows a queue is not held back by its sender.
    let has_losses =
        facts.stats().retransmitted_segments >= facts.stats().spurious_retransmissions + MIN_LOSSES;
    let window = facts.share(Limit::ReceiveWindow) + facts.share(Limit::ClosedWindow);
    if window >= MIN_SHARE
        || rate::is_full(facts)
        || rate::is_steady(facts)
        || model.is_queued
        || is_answering
        || has_losses
        || is_picture_stream(facts)
        || is_own_stream(facts)
    {
        return None;
    }
    let sent: Vec<_> = model.view.sent.iter().filter(|it| it.len > 0).collect();
    let full = sent
        .iter()
        .filter(|it| u64::from(it.len) * 10 >= facts.full * 6)
        .count();
    if sent.len() < 2 * MIN_SEGMENTS || full * 2 < sent.len() {
        return None;
    }
    // Segments of one write leave together, as fast as the line carries them.
    let gaps = sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let burst_gap_ns = BURST_GAP_NS.max(percentile(gaps.collect(), 90)? / 4);
    let mut starts: Vec<u64> = Vec::new();
    let mut in_burst = 0;
    let mut largest_burst = 0;
    for (at, segment) in sent.iter().enumerate() {
        if at == 0 || segment.time_ns - sent[at - 1].time_ns > burst_gap_ns {
            starts.push(segment.time_ns);
            in_burst = 0;
        }
        in_burst += 1;
        largest_burst = largest_burst.max(in_burst);
    }
    let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (p10, p50, p90) = (
        percentile(gaps.clone(), 10)?,
        percentile(gaps.clone(), 50)?,
        percentile(gaps, 90)?,
    );
    let per_burst = stats::ratio(sent.len() as f64, starts.len() as f64);
    // A program's writes are less even than a timer.
    let spread = if per_burst > 4.0 {
        p50 / 6
    } else {
        p50 * 3 / 5
    };
    let is_even = p90 - p10 <= spread;
    // A sender that paces does not stop: its rate is that of its bursts.
    let paced = stats::ratio(per_burst * facts.full as f64 * 1e9, p50 as f64);
    let is_constant = paced <= MAX_PACED * facts.goodput();
    let share = facts.share(Limit::SenderIdle)
        + facts.share(Limit::InFlight)
        + facts.share(Limit::SlowStart);
    // A burst that ends with a part of a segment is a write of the program.
    let ends = model
        .view
        .sent
        .windows(2)
        .filter(|pair| pair[1].time_ns - pair[0].time_ns > burst_gap_ns);
    let partial = ends
        .filter(|pair| u64::from(pair[0].len) < facts.full)
        .count();
    if (per_burst > 2.5 || p50 >= IDLE_NS) && partial * 2 >= starts.len() {
        return None;
    }
    // With a round trip between bursts, the window may be the limit, unless it is known to be wide enough.
    let knows_window =
        model.scale.shift().is_some() || matches!(model.scale, WindowScale::Ample(_));
    let is_unprompted =
        facts.share(Limit::SenderIdle) >= 0.5 * share || begin_unprompted(facts, &starts);
    let rtt_ns = model.round_trip_ns();
    let is_timed = is_unprompted
        || lags_acks(facts)
        || knows_window
            && has_own_interval(p50, p90 - p10, rtt_ns)
            && !may_be_round_trip(facts, p50)
        || knows_window && rtt_ns.is_some_and(|rtt_ns| p50 < rtt_ns / 2);
    // Near the receiver, only the round trip to the sender shows what an acknowledgment prompted.
    let sees_sender = model.reaction_ns > 0 || model.to_sender.base_ns().is_some();
    if model.is_near_receiver() && !(sees_sender && (is_unprompted || sees_queue(facts))) {
        return None;
    }
    if !is_even || !is_constant || starts.len() < MIN_SEGMENTS || share < 0.5 || !is_timed {
        return None;
    }
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
            "{} sends {per_burst:.1} segments every {}, whatever is acknowledged, and nothing queues on the path: it is \
             paced to {}.",
            facts.sender,
            format::time(p50),
            format::rate(facts.goodput()),
        ),
        evidence: evidence([
            ("send_gap_ns_p50", p50 as f64),
            ("segments_per_burst", per_burst),
            ("rate_bytes_per_s", facts.goodput()),
        ]),
        advice: "Check the sending host first: a rate limit of the program (iperf3 -b), SO_MAX_PACING_RATE, a shaper (tc \
                 qdisc)."
            .to_owned(),
        limits: &[Limit::SenderIdle, Limit::InFlight],
        has_gain: false,
    })
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

/// True if the sender has nothing to send for a while again and again, and what it sends next begins at a constant interval
/// and varies: pictures or sound, each of which may take several round trips.
pub(super) fn is_timed_media(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    let silences = model
        .spans
        .iter()
        .filter(|it| it.limit == Limit::SenderIdle && it.ns() >= MIN_SILENCE_NS);
    let starts: Vec<u64> = silences.map(|it| it.end_ns).collect();
    let mut new = model
        .view
        .sent
        .iter()
        .filter(|it| !it.is_retransmission())
        .peekable();
    let mut sizes: Vec<u64> = Vec::new();
    for pair in starts.windows(2) {
        while new.next_if(|it| it.time_ns < pair[0]).is_some() {}
        let mut bytes = 0;
        while let Some(it) = new.next_if(|it| it.time_ns < pair[1]) {
            bytes += u64::from(it.len);
        }
        sizes.push(bytes);
    }
    let intervals = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    sizes.len() >= MIN_SEGMENTS && is_media_like(intervals, sizes)
}

/// True for blocks at a constant interval, of varying size or at a rate of pictures: their source chose the rate.
pub(super) fn is_media(facts: &FlowFacts<'_>) -> bool {
    blocks(facts).is_some_and(|(intervals, sizes)| {
        let is_long = sizes.len() >= MIN_SEGMENTS;
        // Few blocks are media by their rate only.
        is_media_like(intervals, if is_long { sizes } else { Vec::new() })
    })
}

/// True for blocks at a rate of pictures.
fn is_picture_stream(facts: &FlowFacts<'_>) -> bool {
    blocks(facts).is_some_and(|(intervals, _)| {
        has_picture_rate(&intervals) && is_media_like(intervals, Vec::new())
    })
}

/// Intervals and sizes of blocks that the sender sends with silences between them.
fn blocks(facts: &FlowFacts<'_>) -> Option<(Vec<u64>, Vec<u64>)> {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    let mut last_ns = 0;
    for sent in facts
        .model
        .view
        .sent
        .iter()
        .filter(|it| !it.is_retransmission() && it.len > 0)
    {
        match blocks.last_mut() {
            Some((_, bytes)) if sent.time_ns - last_ns < IDLE_NS => *bytes += u64::from(sent.len),
            _ => blocks.push((sent.time_ns, u64::from(sent.len))),
        }
        last_ns = sent.time_ns;
    }
    if blocks.len() < MIN_PICTURES {
        return None;
    }
    let intervals: Vec<u64> = blocks
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    let sizes = blocks.iter().map(|(_, bytes)| *bytes).collect();
    Some((intervals, sizes))
}

fn is_media_like(intervals: Vec<u64>, sizes: Vec<u64>) -> bool {
    let spread = |values: Vec<u64>| {
        let of = |percent| percentile(values.clone(), percent).unwrap_or(0) as f64;
        stats::ratio(of(85) - of(15), of(50))
    };
    let has_picture_rate = has_picture_rate(&intervals);
    spread(intervals) <= 0.1 && (spread(sizes) >= 0.1 || has_picture_rate)
}

/// True if these are the intervals of pictures: on average, exactly that of a standard rate.
fn has_picture_rate(intervals: &[u64]) -> bool {
    let usual_ns = percentile(intervals.to_vec(), 50).unwrap_or(0);
    // At the beginning, a picture may take several round trips, and look like several.
    let usual = intervals
        .iter()
        .filter(|ns| ns.abs_diff(usual_ns) <= usual_ns / 8);
    let (count, sum_ns) = usual.fold((0_u64, 0), |(count, sum), ns| (count + 1, sum + ns));
    let mean_ns = stats::ratio(sum_ns as f64, count as f64);
    let is_near = |ns: f64| (mean_ns / ns - 1.0).abs() <= PICTURE_TOLERANCE;
    picture_intervals_ns().any(|ns| is_near(ns) || is_near(ns * 1.001))
}

/// Intervals of pictures at standard rates, nanoseconds.
pub(super) fn picture_intervals_ns() -> impl Iterator<Item = f64> {
    let each = (1..=MOST_SKIPPED).map(f64::from);
    each.flat_map(|each| PICTURES_PER_S.map(|per_s| each * 1e9 / per_s))
}

#[cfg(test)]
mod tests;

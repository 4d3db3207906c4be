//! The sender: its program, and what it waits for between its writes.

use super::class::{FlowClass, takes_turns};
use super::clock::is_clocked;
use super::facts::FlowFacts;
use super::idle::{ends_write, idle, silences};
use super::in_flight::{flights, in_flight};
use super::media::{is_media, is_timed_media};
use super::pacing::{is_own_stream, pacing};
use super::rate;
use super::rhythm::Rhythm;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A smaller share of the time is not worth a finding.
pub(super) const MIN_SHARE: f64 = 0.2;
/// A longer silence between blocks of data is a stall.
const STALL_NS: u64 = 30_000_000;
/// Fewer segments have no pattern.
pub(super) const MIN_SEGMENTS: usize = 20;
/// Fewer round trips do not show how they change.
pub(super) const MIN_ROUND_TRIPS: usize = 8;
/// A sender that waits for an acknowledgment does not take so many round trips for a segment.
const MAX_ROUND_TRIPS: u64 = 3;
/// A sender that waits for acknowledgments is idle for less than half of the time.
const MOSTLY_IDLE: f64 = 0.5;
/// A window that is full for this share of the time sets the sizes of segments.
const MOSTLY_FULL: f64 = 0.5;
/// Segments are close if others are this many times as far apart.
const BURST_FACTOR: u64 = 8;
/// A tick of common timers.
pub(super) const TICK_NS: u64 = 1_000_000;

/// The first of these rules that fits.
pub(super) fn sender(facts: &FlowFacts<'_>) -> Option<Rule> {
    let rules: [fn(&FlowFacts<'_>) -> Option<Rule>; 7] = [
        one_in_flight,
        small_writes,
        pacing,
        stalls,
        idle,
        in_flight,
        flights,
    ];
    if facts.class == FlowClass::Short {
        return None;
    }
    rules.iter().find_map(|rule| rule(facts))
}

/// Full segments, never more than one in flight.
fn one_in_flight(facts: &FlowFacts<'_>) -> Option<Rule> {
    let view = &facts.model.view;
    let largest = facts.model.flights().into_iter().max().unwrap_or(0);
    let segments = view.sent.len();
    // FIN takes a sequence number, too. What an adapter splits or merged is several segments on the path.
    let is_one = largest <= facts.frame_payload() + 1 && segments >= MIN_SEGMENTS;
    let window = facts.model.largest_window();
    let mean = stats::ratio(facts.bytes() as f64, segments as f64);
    if !is_one
        || facts.class != FlowClass::Bulk
        || window < 3 * facts.full
        // Whoever waits for each acknowledgment does not fill a line.
        || rate::is_full(facts)
        || mean < 0.6 * facts.full as f64
    {
        return None;
    }
    // A program that writes at its own pace, whatever is acknowledged, waits for nothing.
    let is_own_pace = facts.share(Limit::SenderIdle) >= MOSTLY_IDLE
        && (is_timed(&own_waits_ns(facts)) || waits_between_writes(facts) || is_clocked(facts));
    if is_own_pace || super::serialization::is_path(facts) {
        return None;
    }
    let rtt_ns = facts.model.round_trip_ns();
    // Near the receiver, each segment comes a round trip after the acknowledgment of the one before. Much later, it did not wait for that;
    // much sooner, it left before, however soon the one before was acknowledged.
    let usual_ns = percentile(own_waits_ns(facts), 50).unwrap_or(0);
    let is_trip = |ns: u64| (ns / 2..MAX_ROUND_TRIPS * ns).contains(&usual_ns);
    if facts.model.is_near_receiver() && rtt_ns.is_some_and(|ns| !is_trip(ns)) {
        return None;
    }
    // Behind a slow link, too, segments arrive one by one; but a full send buffer ends few of its segments with PSH.
    let pushed = view.sent.iter().filter(|it| it.is_pushed).count();
    if rtt_ns.is_none() && (pushed * 10 < segments * 9 || comes_in_bursts(facts)) {
        return None;
    }
    let limits = [
        Limit::InFlight,
        Limit::SlowStart,
        Limit::LateAck,
        Limit::SenderIdle,
    ];
    let share = limits
        .iter()
        .map(|reason| facts.share(*reason))
        .sum::<f64>();
    let mut figures = evidence([
        ("most_in_flight_bytes", largest as f64),
        ("most_window_bytes", window as f64),
    ]);
    let waits = match rtt_ns {
        Some(rtt_ns) => {
            figures.insert("rtt_ns".to_owned(), rtt_ns as f64);
            format!(
                ": each waits {} for the acknowledgment of the previous one.",
                format::time(rtt_ns)
            )
        }
        None => ": each seems to wait for the acknowledgment of the previous one. (The round trip to the sender is not \
                 in the capture: a program that writes at this rate looks the same from here.)"
            .to_owned(),
    };
    (share >= MIN_SHARE).then(|| Rule {
        share,
        cause: Cause::OneInFlight,
        confidence: if rtt_ns.is_some() { 0.9 } else { 0.6 },
        summary: format!(
            "{} never has more than one segment in flight, although {} would accept {}{waits}",
            facts.sender,
            facts.receiver,
            format::bytes(window),
        ),
        evidence: figures,
        advice: "Send without waiting for the acknowledgment: a send buffer of several segments, more than one transmit \
                 descriptor, no write call that blocks until its data is acknowledged."
            .to_owned(),
        limits: &[
            Limit::InFlight,
            Limit::SlowStart,
            Limit::LateAck,
            Limit::SenderIdle,
        ],
        has_gain: false,
    })
}

/// True if most silences come behind the end of a write that does not fill a segment: the program had no more.
fn waits_between_writes(facts: &FlowFacts<'_>) -> bool {
    let mut silences = silences(facts);
    silences.retain(|it| it.ns() >= TICK_NS);
    let written = silences.iter().filter(|it| ends_write(facts, it)).count();
    written * 5 >= silences.len() * 4
}

/// True if segments follow others much sooner than usual: one round trip lies between neither these nor the others.
fn comes_in_bursts(facts: &FlowFacts<'_>) -> bool {
    let waits = own_waits_ns(facts);
    let longest = percentile(waits.clone(), 90).unwrap_or(0);
    let close = waits.iter().filter(|ns| **ns < longest / BURST_FACTOR);
    close.count() * 10 >= waits.len()
}

/// Intervals of new segments, nanoseconds.
fn own_waits_ns(facts: &FlowFacts<'_>) -> Vec<u64> {
    let new = facts.model.view.sent.iter();
    let times: Vec<u64> = new
        .filter(|it| it.len > 0 && !it.is_retransmission())
        .map(|it| it.time_ns)
        .collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// True if nine in ten intervals differ from the usual one by a tick of a timer at most: a clock sets them.
pub(super) fn is_timed(intervals_ns: &[u64]) -> bool {
    let Some(usual_ns) = percentile(intervals_ns.to_vec(), 50) else {
        return false;
    };
    let near = intervals_ns
        .iter()
        .filter(|ns| ns.abs_diff(usual_ns) <= TICK_NS.min(usual_ns / 16));
    near.count() * 10 >= intervals_ns.len() * 9
}

/// What follows after a longer silence is another message.
const CLOSE_NS: u64 = 10_000_000;

/// Segments far below the MSS, back to back.
fn small_writes(facts: &FlowFacts<'_>) -> Option<Rule> {
    let stats = facts.stats();
    let mean = stats::ratio(stats.unique_bytes as f64, stats.segments as f64);
    let mss = facts.mss().map_or(1460.0, |mss| mss as f64);
    let flights = facts.model.flights();
    let behind = flights
        .iter()
        .filter(|flight| **flight as f64 >= 1.5 * mean)
        .count();
    let back_to_back = behind * 2 >= flights.len();
    // A program's write ends with PSH; segments of a small MSS do not.
    let sent = &facts.model.view.sent;
    let pushed = sent.iter().filter(|it| it.is_pushed).count();
    if mean >= mss / 3.0
        || !back_to_back
        || pushed * 2 < sent.len()
        || stats.segments < 50
        // A window that admits no more has the same effect.
        || facts.share(Limit::ReceiveWindow) >= MOSTLY_FULL
        || facts.class != FlowClass::Bulk
        // What comes at such intervals is close to what went before only because the path is long.
        || is_own_stream(facts)
    {
        return None;
    }
    let overhead = (facts.wire_factor() - 1.0) * facts.frame_payload() as f64;
    let efficiency = |payload: f64| payload / (payload + overhead);
    let gain = efficiency(mss) / efficiency(mean);
    // Between messages, nobody waits for their headers, unless they queue on the path.
    let gaps = sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let writing_ns: u64 = gaps.filter(|ns| *ns <= CLOSE_NS).sum();
    let busy = if facts.model.is_queued {
        1.0
    } else {
        facts.share_of(writing_ns)
    };
    Some(Rule {
        share: (1.0 - 1.0 / gain) * busy,
        cause: Cause::SmallWrites,
        confidence: 0.9,
        summary: format!(
            "{} sends {} in {} segments close together, {mean:.0} octets each where {mss} fit: headers and \
             per-packet work take the rest.",
            facts.sender,
            format::bytes(stats.unique_bytes),
            format::count(stats.segments),
            mss = format::count(mss as u64),
        ),
        evidence: evidence([
            ("payload_bytes", stats.unique_bytes as f64),
            ("payload_bytes_mean", mean),
            ("mss_bytes", mss),
            ("segments", stats.segments as f64),
            ("small_behind", behind as f64),
        ]),
        advice: "Collect writes into blocks of at least one segment (a buffered writer, one write per message), or leave \
                 that to Nagle's algorithm by not setting TCP_NODELAY."
            .to_owned(),
        limits: &[Limit::SenderIdle, Limit::InFlight, Limit::SlowStart, Limit::LateAck],
        has_gain: false,
    })
}

/// Long silences of the sender, at intervals.
fn stalls(facts: &FlowFacts<'_>) -> Option<Rule> {
    let mut stalls = silences(facts);
    stalls.retain(|it| it.ns() >= STALL_NS);
    let total_ns: u64 = stalls.iter().map(Span::ns).sum();
    let rhythm = Rhythm::of_stalls(&stalls)?;
    let share = facts.share_of(total_ns);
    // Between stalls much passes; a program without data sends little at a time.
    let per_stall = facts.bytes() / stalls.len().max(1) as u64;
    let is_answering = takes_turns(&facts.model);
    let idle_ns = facts.model.time_ns(Limit::SenderIdle);
    if facts.class != FlowClass::Bulk
        || !(MIN_SHARE..=0.8).contains(&share)
        || per_stall < 16 * facts.full
        || !rhythm.is_regular
        || total_ns < idle_ns / 10 * 8
        || is_answering
        || is_media(facts)
        || is_timed_media(facts)
        // A sender that stops does not fill its path all the time.
        || rate::is_steady(facts)
    {
        return None;
    }
    let mean_ns = total_ns / stalls.len() as u64;
    Some(Rule {
        share,
        cause: Cause::SenderStalls,
        confidence: 0.75,
        summary: format!(
            "{} stops {} times for {} on average, every {}, although it could send: {} of the time.",
            facts.sender,
            format::count(stalls.len() as u64),
            format::time(mean_ns),
            format::time(rhythm.period_ns),
            format::percent(share),
        ),
        evidence: evidence([
            ("stalls", stalls.len() as f64),
            ("stall_ns_mean", mean_ns as f64),
            ("period_ns", rhythm.period_ns as f64),
            ("stall_share", share),
        ]),
        advice: "Find what runs at this interval on the sender (flash access, a timer, garbage collection, a lock), or \
                 prepare enough data before it."
            .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: true,
    })
}

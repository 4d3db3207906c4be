//! What the sender keeps in flight: its buffer, its congestion window.

use super::class::{FlowClass, takes_turns};
use super::clock::is_clocked;
use super::evenness;
use super::facts::FlowFacts;
use super::flight::{ConstantFlight, arrives_evenly, leaves_path_idle};
use super::media::{is_media, is_timed_media};
use super::own_queue::{always_waits, grows_with_flight};
use super::pacing::is_own_stream;
use super::rate;
use super::rule::Rule;
use super::sender::{MIN_ROUND_TRIPS, MIN_SEGMENTS, MIN_SHARE};
use super::service::{CLOSE_DIVISOR, spaces_bursts};
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Transmission, WindowScale, percentile};
use linerate_results::format;
use linerate_results::record::Cause;

/// The evidence that a window is a guess, from the least scale that permits what is in flight.
pub(super) const LEAST_SCALE: &str = "is_least_scale";
/// A sender that is silent for a smaller share of the time, for an unknown reason, is not judged.
const MIN_UNSEEN: f64 = 0.7;
/// A transfer grows its window in slow start; only where a person notices that it took longer (Nielsen 1993: 100 ms) is it
/// worth a finding.
const LONG_START_NS: u64 = 100_000_000;
/// Where a round trip is shorter than that, any transfer takes so long to begin: it is worth a finding where a person waits for it (W. J.
/// Doherty, A. J. Thadani, The Economic Value of Rapid Response Time, 1982: 400 ms).
const LONG_START_NEARBY_NS: f64 = 4e8;
/// A window that grows by half in each round trip (RFC 3465 section 2.2, with delayed acknowledgments) has more than a thousand
/// times its first size after so many of them.
const MOST_ROUND_TRIPS: u64 = 18;
/// A smaller change is that of the path.
const MIN_GROWTH: f64 = 1.2;
/// A shorter one is that of the hosts.
const MIN_ROUND_TRIP_NS: u64 = 1_000_000;

/// Less in flight than the window permits: a send buffer if always the same, else the congestion window.
pub(super) fn in_flight(facts: &FlowFacts<'_>) -> Option<Rule> {
    if rate::is_full(facts)
        || rate::is_steady(facts)
        || facts.is_beside_full
        || facts.model.is_queued && facts.model.utilization > 0.7
        || spaces_bursts(facts)
    {
        return None;
    }
    let limited = facts.share(Limit::InFlight);
    let start = facts.share(Limit::SlowStart);
    // The source of pictures or sound sets their rate; each block may take several round trips.
    if limited + start < 0.4 || is_timed_media(facts) || is_own_stream(facts) {
        return None;
    }
    let stats = facts.stats();
    if stats.out_of_order + stats.reordered_after_capture >= MIN_SEGMENTS as u64 {
        return None;
    }
    let full = || evenness::is_full_despite_losses(facts);
    send_buffer(facts).or_else(|| congestion_window(facts).filter(|_| !full()))
}

/// Near the receiver, without a round trip to the sender: full segments in flights of the same size, with silences between
/// them. A program writes blocks that end with a part of a segment; a full buffer does not.
pub(super) fn flights(facts: &FlowFacts<'_>) -> Option<Rule> {
    let model = &facts.model;
    let is_unseen = model.is_near_receiver()
        && model.to_sender.count() < MIN_ROUND_TRIPS
        && facts.connection().handshake().legs_ns().is_none();
    let share = facts.share(Limit::SenderIdle) + facts.share(Limit::SlowStart);
    if !is_unseen
        || facts.class != FlowClass::Bulk
        || share < MIN_UNSEEN
        || facts.stats().retransmitted_segments > 0
        || takes_turns(model)
        || rate::is_steady(facts)
        || is_media(facts)
        || is_timed_media(facts)
    {
        return None;
    }
    let sent: Vec<_> = model.view.sent.iter().filter(|it| it.len > 0).collect();
    let gaps = sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let pause_ns = percentile(gaps.collect(), 95)? / 2;
    let mut flights: Vec<u64> = Vec::new();
    let mut partial = 0;
    let mut bytes = 0;
    for pair in sent.windows(2) {
        bytes += u64::from(pair[0].len);
        if pair[1].time_ns - pair[0].time_ns > pause_ns {
            flights.push(bytes);
            partial += u64::from(u64::from(pair[0].len) < facts.full);
            bytes = 0;
        }
    }
    let of = |percent| percentile(flights.clone(), percent);
    let (p25, p50, p75) = (of(25)?, of(50)?, of(75)?);
    let is_same = p75 - p25 <= 2 * facts.full && p50 >= 2 * facts.full;
    let ends_full = partial * 2 < flights.len() as u64;
    (flights.len() >= MIN_SEGMENTS && is_same && ends_full).then(|| Rule {
        share,
        cause: Cause::SendBuffer,
        confidence: 0.5,
        summary: format!(
            "{} sends flights of {} (median), with silences between them that take most of {} of the time, and nothing is \
             lost: it seems to wait for acknowledgments with its send buffer, or a congestion window that does not grow, \
             full. (The round trip to the sender is not in the capture.)",
            facts.sender,
            format::bytes(p50),
            format::percent(share),
        ),
        evidence: evidence([
            ("flight_bytes_p50", p50 as f64),
            ("flights", flights.len() as f64),
            ("silent_share", share),
        ]),
        advice: "Capture at the sender, or from the start of the connection: then the round trip shows what it waits for."
            .to_owned(),
        limits: &[Limit::SenderIdle, Limit::SlowStart],
        has_gain: false,
    })
}

/// True if the window is known, or known not to be filled.
fn knows_window(facts: &FlowFacts<'_>) -> bool {
    let scale = facts.model.scale;
    scale.shift().is_some() || matches!(scale, WindowScale::Ample(_))
}

/// The same octets in flight in each round trip, and less than the window permits.
fn send_buffer(facts: &FlowFacts<'_>) -> Option<Rule> {
    // Near the receiver, what arrives evenly shows no flights: in any time, as much passes.
    let is_unseen =
        facts.model.is_near_receiver() && facts.model.to_sender.count() < MIN_ROUND_TRIPS;
    if is_unseen && arrives_evenly(facts) {
        return None;
    }
    let flight = ConstantFlight::of(facts)?;
    let ConstantFlight {
        bytes,
        rtt_ns,
        round_trips,
        ..
    } = flight;
    if is_unseen && !leaves_path_idle(facts, rtt_ns)
        || grows_with_flight(facts, bytes)
        || always_waits(facts, bytes)
    {
        return None;
    }
    let window = facts.model.largest_window();
    // What leaves no room for another segment is limited by the window.
    let room = facts.model.scale.shift().map_or(0, |_| facts.full);
    if bytes + room > window {
        return None;
    }
    // A window that is smaller than the largest without scaling needs no scale (RFC 7323 section 2.2): one that is so small
    // with the least scale is larger.
    let is_known = flight.is_below_window(facts);
    if !is_known && (facts.model.scale.least() == 0 || window > u64::from(u16::MAX)) {
        return None;
    }
    let limited = flight.limited_share(facts);
    if !is_known && waits_for_window(facts) < MIN_SHARE {
        return Some(least_window(facts, &flight, window, limited));
    }
    let (grants, note) = if is_known {
        let bound = match facts.model.scale {
            WindowScale::Ample(_) | WindowScale::AtLeast(_) => "at least",
            _ => "up to",
        };
        (format!("{bound} {}", format::bytes(window)), "")
    } else {
        (
            "more, as far as the capture shows,".to_owned(),
            " (The options of the handshake are not in the capture. With the least scale that is possible, the window would \
             be the limit; a capture from the start decides.)",
        )
    };
    let meanwhile = meanwhile(&flight);
    Some(Rule {
        share: limited,
        cause: Cause::SendBuffer,
        confidence: if is_known { 0.75 } else { 0.55 },
        summary: format!(
            "{} hardly ever has more than {} in flight for {} round trips of {}, although {} grants {grants} and nothing \
             is lost{meanwhile}: its send buffer, or a congestion window that does not grow, is the limit.{note}",
            facts.sender,
            format::bytes(bytes),
            format::count(round_trips),
            format::time(rtt_ns),
            facts.receiver,
        ),
        evidence: evidence([
            ("limited_share", limited.min(1.0)),
            ("round_trips", round_trips as f64),
            ("in_flight_bytes_p98", bytes as f64),
            ("rtt_ns", rtt_ns as f64),
            ("most_window_bytes", window as f64),
        ]),
        advice: "Enlarge the send buffer to the required rate times the round trip (SO_SNDBUF, net.ipv4.tcp_wmem; \
                 lwIP: TCP_SND_BUF, TCP_SND_QUEUELEN)."
            .to_owned(),
        limits: &[Limit::InFlight, Limit::SlowStart],
        has_gain: true,
    })
}

/// Share of the time in which the receiver's window limits the sender, as far as it is known.
fn waits_for_window(facts: &FlowFacts<'_>) -> f64 {
    let limits = [Limit::ReceiveWindow, Limit::ClosedWindow, Limit::LateAck];
    limits.iter().map(|limit| facts.share(*limit)).sum()
}

/// What qualifies that nothing is lost.
fn meanwhile(flight: &ConstantFlight) -> &'static str {
    if flight.is_whole() {
        ""
    } else {
        " during that time"
    }
}

/// The same octets in flight in each round trip, and the window is the limit with the least scale that they permit. A buffer of
/// its own size would have to end between that scale and the one below by chance.
fn least_window(facts: &FlowFacts<'_>, flight: &ConstantFlight, window: u64, limited: f64) -> Rule {
    let meanwhile = meanwhile(flight);
    Rule {
        share: limited,
        cause: Cause::ReceiveWindow,
        confidence: 0.55,
        summary: format!(
            "{} has {} in flight at most for {} round trips of {}, always the same, and nothing is lost{meanwhile}. (The options of the \
             handshake are not in the capture: with the least scale that permits this, the window of {} is {}.)",
            facts.sender,
            format::bytes(flight.bytes),
            format::count(flight.round_trips),
            format::time(flight.rtt_ns),
            facts.receiver,
            format::bytes(window),
        ),
        evidence: evidence([
            ("limited_share", limited.min(1.0)),
            ("round_trips", flight.round_trips as f64),
            ("in_flight_bytes_p98", flight.bytes as f64),
            ("rtt_ns", flight.rtt_ns as f64),
            ("most_window_bytes", window as f64),
            (LEAST_SCALE, 1.0),
        ]),
        advice: "Enlarge the receive buffer to the required rate times the round trip (SO_RCVBUF, net.ipv4.tcp_rmem; lwIP: \
                 TCP_WND), and the sender's buffer with it."
            .to_owned(),
        limits: &[Limit::InFlight, Limit::SlowStart],
        has_gain: true,
    }
}

/// The data in flight changes and stays below the window.
fn congestion_window(facts: &FlowFacts<'_>) -> Option<Rule> {
    let stats = facts.stats();
    let has_losses = stats.retransmitted_segments > stats.spurious_retransmissions;
    let start_ns = facts.model.time_ns(Limit::SlowStart);
    let (limited, start) = (facts.share(Limit::InFlight), facts.share(Limit::SlowStart));
    // Without losses, a window has grown to any path meanwhile.
    let opened_ns = facts.connection().handshake().rtt_ns();
    let is_long =
        opened_ns.is_some_and(|ns| start_ns / MOST_ROUND_TRIPS > ns.max(MIN_ROUND_TRIP_NS));
    let is_grown = is_long && !grows(facts);
    if !knows_window(facts)
        || always_waits(facts, facts.model.largest_window())
        || writes_at_intervals(facts)
        || is_clocked(facts)
        || !has_losses && (start_ns < LONG_START_NS || is_grown)
    {
        return None;
    }
    Some(Rule {
        share: limited + start,
        cause: Cause::CongestionWindow,
        // What happened before a late capture begins may be what shrank it.
        confidence: if facts.connection().handshake().syn_ns.is_none() {
            0.4
        } else {
            0.65
        },
        summary: format!(
            "For {} of the time the congestion window of {} limits the data in flight, although {} would accept more.",
            format::percent((limited + start).min(1.0)),
            facts.sender,
            facts.receiver,
        ),
        evidence: evidence([
            ("limited_share", (limited + start).min(1.0)),
            ("in_flight_limit_share", limited),
            ("slow_start_share", start),
        ]),
        advice: "If there are losses, fix them first; otherwise transfer more per connection, so that it leaves slow \
                 start."
            .to_owned(),
        limits: &[Limit::InFlight, Limit::SlowStart],
        has_gain: limited > start,
    })
}

/// True if all transfers like this one, between hosts that are near each other, wait for the growth of their windows for `cost_ns`, which
/// nobody notices.
pub(super) fn is_short_start(facts: &FlowFacts<'_>, cause: Cause, cost_ns: f64) -> bool {
    let opened_ns = facts.connection().handshake().rtt_ns();
    let rtt_ns = opened_ns.or_else(|| facts.model.round_trip_ns());
    cause == Cause::CongestionWindow
        && facts.stats().retransmitted_segments == 0
        && rtt_ns.is_some_and(|ns| ns < LONG_START_NS)
        && cost_ns < LONG_START_NEARBY_NS
}

/// True if blocks that end with a part of a segment begin at one interval, longer than the round trip: a program writes them, and
/// acknowledgments release nothing.
fn writes_at_intervals(facts: &FlowFacts<'_>) -> bool {
    let Some(rtt_ns) = facts.model.round_trip_ns() else {
        return false;
    };
    let sent = facts.model.view.sent.iter();
    let new: Vec<&Transmission> = sent
        .filter(|it| it.len > 0 && !it.is_retransmission())
        .collect();
    let pairs = new.windows(2);
    let between = pairs.filter(|pair| pair[1].time_ns - pair[0].time_ns > rtt_ns / CLOSE_DIVISOR);
    let between: Vec<&[&Transmission]> = between.collect();
    let ends_write =
        |pair: &&&[&Transmission]| pair[0].is_pushed && u64::from(pair[0].len) < facts.full;
    let written = between.iter().filter(ends_write).count();
    let begins = between.windows(2);
    let intervals: Vec<u64> = begins
        .map(|blocks| blocks[1][1].time_ns - blocks[0][1].time_ns)
        .collect();
    let of = |percent| percentile(intervals.clone(), percent).unwrap_or(0);
    intervals.len() >= MIN_SEGMENTS
        && written * 5 >= between.len() * 4
        && of(50) > rtt_ns + rtt_ns / 8
        && of(75) - of(25) <= of(50) / 16
}

/// True if more passes in the second half of the time than in the first one.
fn grows(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let times = sent.first().zip(sent.last());
    let middle_ns = times.map_or(0, |(first, last)| first.time_ns.midpoint(last.time_ns));
    let (first, second) = sent.split_at(sent.partition_point(|it| it.time_ns < middle_ns));
    let bytes = |sent: &[Transmission]| sent.iter().map(|it| u64::from(it.len)).sum::<u64>();
    bytes(second) as f64 > MIN_GROWTH * bytes(first) as f64
}

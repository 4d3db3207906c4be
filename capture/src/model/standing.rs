//! Times in which a queue stands before the slowest link, whatever its rate is at the moment.
//!
//! A segment that waited kept the link busy until it left the queue. Radios change their rate many times in a second: their
//! fastest one says little, but as long as segments wait, nothing passes sooner, whatever the window.

use super::rate::{Window, total_ns};
use super::round_trip::RoundTrips;
use super::view::{DirectionView, Transmission};
use crate::tcp::PacketClass;
use foldhash::HashMap;
use linerate_results::stats;

/// Fewer round trips do not show which of them are long.
const MIN_SAMPLES: usize = 24;
/// So few round trips may be shorter than the path, because something else was acknowledged.
const SHORTER_PERCENT: usize = 1;
/// A queue stands where segments wait for at least this part of the usual time.
const STANDING_DIVISOR: u64 = 4;
/// A retransmission is acknowledged so many round trips later: one to learn of the loss, one to repair it.
const REPAIR_ROUND_TRIPS: u64 = 2;
/// Where a queue hardly ever drains. A window that losses halve leaves a path without one idle for longer: it takes three
/// quarters of it (RFC 5681 section 3.1).
const MIN_STANDING: f64 = 0.9;
/// The segment before a loss meets a full queue: of all waits, at most this share is longer on average. Losses of other kinds meet
/// any wait, so that half of them are.
const MAX_LONGER: f64 = 1.0 / 3.0;

/// The times for which segments waited in a queue, if it hardly ever drains and loses segments where it is longest. `trips` are
/// the round trips that contain it.
pub(super) fn standing_queue(
    view: &DirectionView,
    trips: &RoundTrips,
    is_near_receiver: bool,
) -> Vec<Window> {
    let figures = (trips.base_ns())
        .zip(trips.percentile(SHORTER_PERCENT))
        .zip(trips.percentile(50));
    let Some(((least_ns, short_ns), usual_ns)) = figures else {
        return Vec::new();
    };
    let base_ns = short_ns.max(least_ns);
    // Jitter, a busy host or a radio that repeats frames may take as long as a short wait.
    if trips.count() < MIN_SAMPLES || usual_ns < 2 * base_ns {
        return Vec::new();
    }
    let windows = waits(trips, base_ns, usual_ns - base_ns);
    let samples = trips.samples();
    let span_ns = samples[samples.len() - 1].0 - samples[0].0;
    let stands = total_ns(&windows) as f64 >= MIN_STANDING * span_ns as f64;
    let longer = longer_waits(view, trips, is_near_receiver);
    let mean = stats::ratio(longer.iter().sum(), longer.len() as f64);
    if stands && !longer.is_empty() && mean <= MAX_LONGER {
        windows
    } else {
        Vec::new()
    }
}

/// The times for which segments waited, until they left the queue, `usual_ns` typically. Where segments waited before a repair and
/// behind it, during which no round trip is known, others did meanwhile.
fn waits(trips: &RoundTrips, base_ns: u64, usual_ns: u64) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let mut before: Option<(u64, u64)> = None;
    for (end_ns, ns) in trips.samples().iter().copied() {
        let waited_ns = ns.saturating_sub(base_ns);
        let is_long = |ns: u64| ns >= usual_ns / STANDING_DIVISOR;
        let repair = before.filter(|(at_ns, before_ns)| {
            let is_repair = end_ns - at_ns <= REPAIR_ROUND_TRIPS * before_ns;
            is_repair && is_long(waited_ns) && is_long(before_ns.saturating_sub(base_ns))
        });
        before = Some((end_ns, ns));
        let mut start_ns = end_ns - waited_ns;
        start_ns = repair.map_or(start_ns, |(at_ns, _)| start_ns.min(at_ns));
        while let Some(last) = windows.pop_if(|last| start_ns <= last.end_ns) {
            start_ns = start_ns.min(last.start_ns);
        }
        if start_ns < end_ns {
            windows.push(Window {
                start_ns,
                end_ns,
                bytes: 0,
            });
        }
    }
    windows
}

/// For the first loss of each round trip with losses: the share of all waits that are as long as the one before it, or longer.
fn longer_waits(view: &DirectionView, trips: &RoundTrips, is_near_receiver: bool) -> Vec<f64> {
    let samples = trips.samples();
    let mut sorted: Vec<u64> = samples.iter().map(|(_, ns)| *ns).collect();
    sorted.sort_unstable();
    // Near the receiver, what arrives before a gap shows it; else what was sent before the lost segment.
    let met_ns = |(time_ns, ns): &(u64, u64)| {
        if is_near_receiver {
            *time_ns
        } else {
            time_ns - ns
        }
    };
    let mut shares = Vec::new();
    let mut until_ns = 0;
    for lost_ns in losses_ns(view, is_near_receiver) {
        let before = samples.partition_point(|it| met_ns(it) <= lost_ns);
        let Some((_, ns)) = before.checked_sub(1).map(|at| samples[at]) else {
            continue;
        };
        if lost_ns > until_ns {
            let longer = sorted.len() - sorted.partition_point(|it| *it < ns);
            shares.push(longer as f64 / sorted.len() as f64);
        }
        until_ns = until_ns.max(lost_ns + ns);
    }
    shares
}

/// Times at which lost segments were sent or, near the receiver, were found missing.
fn losses_ns(view: &DirectionView, is_near_receiver: bool) -> Vec<u64> {
    let mut sent_ns: HashMap<u64, u64> = HashMap::default();
    let mut highest = view.sent.first().map_or(0, |it| it.start);
    let mut losses = Vec::new();
    let is_repair = |it: &Transmission| {
        let repairs = matches!(
            it.class,
            PacketClass::FastRetransmission | PacketClass::TimeoutRetransmission
        );
        repairs && !it.is_discarded
    };
    for it in view.sent.iter().filter(|it| it.len > 0) {
        if is_near_receiver {
            if it.start > highest {
                losses.push(it.time_ns);
            }
            highest = highest.max(it.end);
        } else {
            if is_repair(it) {
                losses.extend(sent_ns.get(&it.start));
            }
            sent_ns.insert(it.start, it.time_ns);
        }
    }
    losses.sort_unstable();
    losses
}

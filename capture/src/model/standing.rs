//! Times in which a queue stands before the slowest link, whatever its rate is at the moment.
//!
//! A segment that waited kept the link busy until it left the queue. Radios change their rate many times in a second: their
//! fastest one says little, but as long as segments wait, nothing passes sooner, whatever the window.

use super::FlowModel;
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
/// Waits are those of a queue, and not of jitter, a busy host or a radio that repeats frames, if they are as long as the path, or if
/// losses choose the longest of them: by chance, the mean of their places is so many standard deviations away from a half once in a
/// thousand times (one-sided normal quantile).
const SIGNIFICANT: f64 = 3.1;
/// Such a queue holds no more than so many times the usual: what waits longer was held back by a path that passed nothing.
const MOST_USUAL: u64 = 8;
/// Variance of a place among all waits that losses choose by chance: that of a uniform distribution.
const UNIFORM_VARIANCE: f64 = 1.0 / 12.0;

/// Nothing fits behind the segment before a loss in a queue that overflows: of all waits, at most this share is longer on average.
const FULL_LONGER: f64 = 0.1;
/// Losses meet so long waits by chance once in a thousand times.
const CHANCE: f64 = 0.001;

/// How long the segments before losses waited, compared with all others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitsAtLosses {
    /// Round trips with losses.
    pub events: usize,
    /// Of all waits, the share that is as long as those before losses, or longer: the mean of the events.
    pub longer: f64,
    /// Most segments wait at least as long as the path takes.
    is_deep: bool,
}

impl WaitsAtLosses {
    /// True if losses meet a queue that is full.
    pub fn are_of_full_queue(self) -> bool {
        // The probability that so many uniform places have no larger sum (the first term of the Irwin-Hall distribution).
        let sum = self.longer * self.events as f64;
        let by_chance: f64 = (1..=self.events).map(|at| sum / at as f64).product();
        self.events > 0 && self.longer <= FULL_LONGER && by_chance <= CHANCE
    }

    /// True if losses meet the longest waits of a queue that holds as much as the path: half a window still fills the path.
    pub fn leave_path_full(self) -> bool {
        self.events > 0 && self.is_deep && self.longer <= MAX_LONGER
    }
}

impl FlowModel {
    /// How long the segments before losses waited. Without round trips that contain the queue, there are no events.
    pub fn waits_at_losses(&self) -> WaitsAtLosses {
        let is_near_receiver = self.is_near_receiver();
        let trips = [&self.to_receiver, &self.to_sender][usize::from(is_near_receiver)];
        if trips.count() < MIN_SAMPLES {
            return WaitsAtLosses::default();
        }
        let longer = longer_waits(&self.view, trips, is_near_receiver);
        let base_and_usual = trips.base_ns().zip(trips.percentile(50));
        WaitsAtLosses {
            events: longer.len(),
            longer: mean(&longer),
            is_deep: base_and_usual.is_some_and(|(base_ns, ns)| ns >= 2 * base_ns),
        }
    }
}

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
    if trips.count() < MIN_SAMPLES || usual_ns <= base_ns {
        return Vec::new();
    }
    let longer = longer_waits(view, trips, is_near_receiver);
    let most_ns = trips.percentile(100).unwrap_or(0);
    let is_bounded = most_ns - base_ns <= MOST_USUAL * (usual_ns - base_ns);
    let is_queue = usual_ns >= 2 * base_ns || is_bounded && choose_longest(&longer);
    let windows = waits(trips, base_ns, usual_ns - base_ns);
    let samples = trips.samples();
    let span_ns = samples[samples.len() - 1].0 - samples[0].0;
    let stands = total_ns(&windows) as f64 >= MIN_STANDING * span_ns as f64;
    let is_chosen = !longer.is_empty() && mean(&longer) <= MAX_LONGER;
    if stands && is_queue && is_chosen {
        windows
    } else {
        Vec::new()
    }
}

/// True if losses choose the longest waits; `longer` are their places, as shares of all that are longer.
fn choose_longest(longer: &[f64]) -> bool {
    let deviation = (UNIFORM_VARIANCE / longer.len().max(1) as f64).sqrt();
    !longer.is_empty() && mean(longer) <= 0.5 - SIGNIFICANT * deviation
}

fn mean(longer: &[f64]) -> f64 {
    stats::ratio(longer.iter().sum(), longer.len() as f64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::view::Acknowledgment;

    const MS: u64 = 1_000_000;

    #[test]
    fn losses_that_meet_a_full_queue_are_no_chance() {
        let waits = |events, longer, is_deep| WaitsAtLosses {
            events,
            longer,
            is_deep,
        };
        assert!(waits(20, 0.07, false).are_of_full_queue());
        assert!(!waits(20, 0.15, false).are_of_full_queue(), "some do not");
        assert!(waits(3, 0.01, false).are_of_full_queue());
        assert!(
            !waits(2, 0.05, false).are_of_full_queue(),
            "two may be chance"
        );
        assert!(!waits(0, 0.0, true).are_of_full_queue(), "nothing is known");
        assert!(waits(2, 0.1, true).leave_path_full());
        assert!(!waits(2, 0.5, true).leave_path_full(), "any wait");
        assert!(!waits(2, 0.1, false).leave_path_full(), "a short queue");
        assert!(!waits(0, 0.0, true).leave_path_full(), "nothing is known");
    }

    /// Segments of 1 kB, 1 ms apart, on a path of 20 ms near their sender, for 20 rounds. In each, segments wait 6 ms at first, and 0.1 ms
    /// more from one to the next; behind 100 segments the sender stops until they wait 10 ms less. The first `losing` rounds lose one. In
    /// the last round, the path holds back everything for a while.
    fn stands(lost: u64, losing: u64, held_ns: u64) -> bool {
        let mut view = DirectionView::default();
        let mut sent_ns = 0;
        for at in 0..2_000_u64 {
            let held_ns = if at < 1_950 { 0 } else { held_ns };
            let waits_ns = 6 * MS + at % 100 * MS / 10 + held_ns;
            sent_ns += if at % 100 == 0 { 11 * MS } else { MS };
            let segment = Transmission {
                number: (at * 4) as u32,
                ..Transmission::full(at, sent_ns)
            };
            view.sent.push(segment);
            if at % 100 == lost && at / 100 < losing {
                view.sent.push(Transmission {
                    time_ns: sent_ns + 40 * MS,
                    class: PacketClass::FastRetransmission,
                    ..segment
                });
            }
            view.acks.push(Acknowledgment {
                time_ns: sent_ns + 20 * MS + waits_ns,
                ack: (at + 1) * 1_000,
                window: 60_000,
                timestamp: 0,
                is_bare: true,
                options_len: 0,
                has_dsack: false,
                number: (at * 4 + 1) as u32,
            });
        }
        view.sent.sort_by_key(|it| it.time_ns);
        let new = view.sent.iter().filter(|it| !it.is_retransmission());
        let pairs = new.zip(&view.acks);
        let samples = pairs.map(|(sent, ack)| (ack.time_ns, ack.time_ns - sent.time_ns));
        let trips = RoundTrips::from_samples(samples.collect(), Some(20 * MS));
        !standing_queue(&view, &trips, false).is_empty()
    }

    #[test]
    fn a_queue_that_is_shorter_than_the_path_stands_if_losses_choose_the_longest_waits() {
        assert!(stands(99, 20, 0));
        assert!(!stands(50, 20, 0), "losses by chance meet any wait");
        assert!(!stands(99, 2, 0), "two may be chance");
        assert!(!stands(99, 20, 400 * MS), "an interruption");
    }
}

//! Data in flight, round trip by round trip: the same each time, or not.

use super::facts::FlowFacts;
use linerate_capture::model::{Limit, Transmission, WindowScale, percentile};
use linerate_capture::tcp::PacketClass;
use linerate_results::stats;
use std::ops::Range;

/// With fewer round trips, a congestion window in congestion avoidance does not grow by more than the data in flight varies.
const MIN_ROUND_TRIPS: u64 = 16;

/// Distances of segments behind one link differ by less than this factor from the shorter ones of them.
const EVEN_FACTOR: u64 = 3;
/// Beginning and end of a transfer take a smaller part of the time than the rest.
const MIN_EVEN_SHARE: f64 = 0.75;

/// A few segments come closer together by chance.
const BUSY_PERCENT: usize = 90;
/// Whoever gains less has no reason to look for a cause.
const MIN_IDLE_GAIN: f64 = 1.2;

/// Fewer round trips to the sender may all contain a wait of its program.
const MIN_SAMPLES: usize = 8;

/// Behind the last repetition, the window is what congestion control left of it after so many round trips: those of a recovery
/// (RFC 6675) and of its acknowledgment.
const REPAIR_ROUND_TRIPS: usize = 2;
/// Congestion control shrinks a window by a fifth at least (BIC), so that a smaller change is none of that.
const SHRUNK_DIVISOR: u64 = 8;
/// The longest time without losses shows what limits a transfer if it is this part of all.
const MIN_UNDISTURBED: f64 = 0.5;

/// The most data in flight, if it is the same in each round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConstantFlight {
    /// Octets.
    pub(super) bytes: u64,
    /// Typical round trip.
    pub(super) rtt_ns: u64,
    /// Round trips that it lasts.
    pub(super) round_trips: u64,
    /// The time without losses, in which it is the same.
    within_ns: Range<u64>,
}

impl ConstantFlight {
    /// The data in flight while nothing is lost. A congestion window grows by a segment in each round trip at least (RFC 5681
    /// section 3.1), or in each second one with delayed acknowledgments, also behind a loss that halved it.
    pub(super) fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let within_ns = undisturbed(facts)?;
        if !knows_round_trip(facts) {
            return None;
        }
        let rtt_ns = facts.model.round_trip_ns()?;
        let lasts_ns = (within_ns.end - within_ns.start).min(facts.active_ns);
        let round_trips = lasts_ns / rtt_ns.max(1);
        let peaks = facts.model.peaks(rtt_ns, within_ns.clone());
        // A block that a program writes may take two round trips: a large one and a small one.
        let pairs = peaks.windows(2);
        let peaks: Vec<u64> = pairs.map(|pair| pair[0].max(pair[1])).collect();
        // The window grows in slow start until it is as large as the data that the sender has for it. A window that a loss
        // shrank grows from its repair on.
        let is_behind_loss = within_ns.start > facts.model.view.sent.first()?.time_ns;
        let (begin, least) = if is_behind_loss {
            (REPAIR_ROUND_TRIPS.min(peaks.len()), 5)
        } else {
            (peaks.len() / 4, 20)
        };
        let late = &peaks[begin..];
        if round_trips < MIN_ROUND_TRIPS || (late.len() as u64) < MIN_ROUND_TRIPS / 2 {
            return None;
        }
        let (before, after) = late.split_at(late.len() / 2);
        let median = |peaks: &[u64]| percentile(peaks.to_vec(), 50);
        let growth = median(after)?.abs_diff(median(before)?);
        let (least, p98) = (
            percentile(late.to_vec(), least)?,
            percentile(late.to_vec(), 98)?,
        );
        // Adapters send blocks of segments.
        let blocks = 2 * facts.full.max(p98 / 12);
        let most = if within_ns == WHOLE {
            blocks
        } else {
            blocks.min(p98 / SHRUNK_DIVISOR)
        };
        let most_growth = if within_ns == WHOLE {
            facts.full
        } else {
            facts.frame_payload()
        };
        let is_constant = growth <= most_growth && p98 - least <= most;
        is_constant.then_some(Self {
            bytes: p98,
            rtt_ns,
            round_trips,
            within_ns,
        })
    }

    /// True if it is so all the time.
    pub(super) fn is_whole(&self) -> bool {
        self.within_ns == WHOLE
    }

    /// Share of the active time in which it limits the sender.
    pub(super) fn limited_share(&self, facts: &FlowFacts<'_>) -> f64 {
        self.share(facts, |limit| {
            matches!(limit, Limit::InFlight | Limit::SlowStart)
        })
    }

    /// Share of the active time with data in flight as the limit, for which no loss accounts.
    pub(super) fn in_flight_share(&self, facts: &FlowFacts<'_>) -> f64 {
        self.share(facts, |limit| limit == Limit::InFlight)
    }

    fn share(&self, facts: &FlowFacts<'_>, is_counted: impl Fn(Limit) -> bool) -> f64 {
        let spans = facts.model.spans.iter().filter(|it| is_counted(it.limit));
        let ns = spans.map(|span| {
            let (from_ns, until_ns) = (
                span.start_ns.max(self.within_ns.start),
                span.end_ns.min(self.within_ns.end),
            );
            until_ns.saturating_sub(from_ns)
        });
        facts.share_of(ns.sum())
    }

    /// True if the window permits more: it is known, or it changes while the data in flight does not.
    pub(super) fn is_below_window(&self, facts: &FlowFacts<'_>) -> bool {
        let model = &facts.model;
        if model.scale.shift().is_some() || matches!(model.scale, WindowScale::Ample(_)) {
            return true;
        }
        let acks = &model.view.acks[model.view.acks.len() / 4..];
        let shift = model.scale.least();
        let windows: Vec<u64> = acks
            .iter()
            .map(|it| u64::from(it.window) << shift)
            .collect();
        let range = percentile(windows.clone(), 10).zip(percentile(windows, 90));
        range.is_some_and(|(p10, p90)| p90 - p10 > 2 * facts.full.max(self.bytes / 12))
    }
}

/// All of the time.
const WHOLE: Range<u64> = 0..u64::MAX;

/// The longest time in which nothing that was lost is repeated, if it is most of the transfer.
fn undisturbed(facts: &FlowFacts<'_>) -> Option<Range<u64>> {
    let stats = facts.stats();
    if stats.retransmitted_segments <= stats.spurious_retransmissions {
        return Some(WHOLE);
    }
    let sent = &facts.model.view.sent;
    let (first, last) = (sent.first()?.time_ns, sent.last()?.time_ns);
    let is_repeated = |it: &&Transmission| {
        it.is_retransmission() && it.class != PacketClass::SpuriousRetransmission
    };
    let repeated = sent.iter().filter(is_repeated).map(|it| it.time_ns + 1);
    let mut from_ns = first;
    let between = repeated.chain([last]).map(|until_ns| {
        let range = from_ns..until_ns;
        from_ns = until_ns;
        range
    });
    let longest = between.max_by_key(|it| it.end.saturating_sub(it.start))?;
    let ns = longest.end.saturating_sub(longest.start);
    (ns as f64 >= MIN_UNDISTURBED * facts.active_ns as f64).then_some(longest)
}

/// True if new segments come at one distance for most of the time: no silence divides them into flights.
pub(super) fn arrives_evenly(facts: &FlowFacts<'_>) -> bool {
    even_share(facts) >= MIN_EVEN_SHARE
}

/// Share of the time in which new segments come at one distance.
pub(super) fn even_share(facts: &FlowFacts<'_>) -> f64 {
    let new = facts.model.view.sent.iter();
    let times: Vec<u64> = new
        .filter(|it| it.len > 0 && !it.is_retransmission())
        .map(|it| it.time_ns)
        .collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let gaps: Vec<u64> = gaps.collect();
    let close_ns = percentile(gaps.clone(), 25)
        .unwrap_or(0)
        .saturating_mul(EVEN_FACTOR);
    let near_ns: u64 = gaps.iter().filter(|ns| **ns <= close_ns).sum();
    stats::ratio(near_ns as f64, gaps.iter().sum::<u64>() as f64)
}

/// True if what arrives in the busiest halves of a round trip would come at a higher rate than what arrives in a whole one: a sender that
/// waits for acknowledgments leaves the path idle meanwhile. What a queue passes comes at the same rate in any time, more or less.
pub(super) fn leaves_path_idle(facts: &FlowFacts<'_>, rtt_ns: u64) -> bool {
    let new = facts.model.view.sent.iter();
    let new: Vec<&Transmission> = new
        .filter(|it| it.len > 0 && !it.is_retransmission())
        .collect();
    let busiest = |within_ns: u64| {
        let (mut first, mut octets) = (0, 0);
        let arrived = new.iter().map(|it| {
            octets += u64::from(it.len);
            while new[first].time_ns + within_ns < it.time_ns {
                octets -= u64::from(new[first].len);
                first += 1;
            }
            octets
        });
        percentile(arrived.collect(), BUSY_PERCENT).unwrap_or(0) as f64
    };
    busiest(rtt_ns / 2) >= MIN_IDLE_GAIN / 2.0 * busiest(rtt_ns)
}

/// True if the capture shows when acknowledgments reach the sender. Otherwise, bursts at intervals of a timer look like
/// those of each round trip.
fn knows_round_trip(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    facts.connection().handshake().legs_ns().is_some()
        || model.closed_ns.is_some() && model.closed_ns == model.to_sender.base_ns()
        || model.to_sender.count() >= MIN_SAMPLES
        || model.release_ns.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::synthetic::{MS, MSS, Script, US};
    use linerate_capture::tcp::End;

    /// Captured at the receiver: 20 segments in each round trip of 20 ms, each `at_us` of its place later than the first one.
    fn is_idle(at_us: impl Fn(u64) -> u64) -> bool {
        let mut upload = Script::open(End::First, 20 * US, 20 * MS, 60_000);
        for number in 0..1_000 {
            let round_ns = number / 20 * 20 * MS;
            upload.at(40 * MS + round_ns + at_us(number % 20) * US);
            upload.send(1, MSS, 0).ack_all();
        }
        let flow = upload.flow();
        leaves_path_idle(&FlowFacts::of(&flow).expect("payload"), 20 * MS)
    }

    #[test]
    fn a_path_is_idle_between_flights_and_not_behind_what_varies() {
        assert!(is_idle(|place| place * 400), "8 of 20 ms");
        assert!(!is_idle(|place| place * 1_000));
        let slots = |place| place / 5 * 5_000 + place % 5 * 100;
        assert!(!is_idle(slots), "a radio's slots");
    }
}

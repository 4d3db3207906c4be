//! Data in flight, round trip by round trip: the same each time, or not.

use super::facts::FlowFacts;
use linerate_capture::model::{WindowScale, percentile};

/// With fewer round trips, a congestion window in congestion avoidance does not grow by more than the data in flight varies.
const MIN_ROUND_TRIPS: u64 = 16;

/// Distances of segments behind one link differ by less than this factor from the shorter ones of them.
const EVEN_FACTOR: u64 = 3;
/// Beginning and end of a transfer take a smaller part of the time than the rest.
const MIN_EVEN_SHARE: f64 = 0.75;

/// Fewer round trips to the sender may all contain a wait of its program.
const MIN_SAMPLES: usize = 8;

/// The most data in flight, if it is the same in each round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConstantFlight {
    /// Octets.
    pub(super) bytes: u64,
    /// Typical round trip.
    pub(super) rtt_ns: u64,
    /// Round trips that the transfer takes.
    pub(super) round_trips: u64,
}

impl ConstantFlight {
    /// The data in flight of a transfer without losses. A congestion window grows by a segment in each round trip at least
    /// (RFC 5681 section 3.1), or in each second one with delayed acknowledgments.
    pub(super) fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let stats = facts.stats();
        if stats.retransmitted_segments > stats.spurious_retransmissions {
            return None;
        }
        if !knows_round_trip(facts) {
            return None;
        }
        let rtt_ns = facts.model.round_trip_ns()?;
        let round_trips = facts.active_ns / rtt_ns.max(1);
        let peaks = facts.model.peaks(rtt_ns);
        // A block that a program writes may take two round trips: a large one and a small one.
        let pairs = peaks.windows(2);
        let peaks: Vec<u64> = pairs.map(|pair| pair[0].max(pair[1])).collect();
        // The window grows in slow start until it is as large as the data that the sender has for it.
        let late = &peaks[peaks.len() / 4..];
        if round_trips < MIN_ROUND_TRIPS || (late.len() as u64) < MIN_ROUND_TRIPS / 2 {
            return None;
        }
        let (before, after) = late.split_at(late.len() / 2);
        let median = |peaks: &[u64]| percentile(peaks.to_vec(), 50);
        let growth = median(after)?.abs_diff(median(before)?);
        let (p20, p98) = (
            percentile(late.to_vec(), 20)?,
            percentile(late.to_vec(), 98)?,
        );
        // Adapters send blocks of segments.
        let is_constant = growth <= facts.full && p98 - p20 <= 2 * facts.full.max(p98 / 12);
        is_constant.then_some(Self {
            bytes: p98,
            rtt_ns,
            round_trips,
        })
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

/// True if new segments come at one distance for most of the time: no silence divides them into flights.
pub(super) fn arrives_evenly(facts: &FlowFacts<'_>) -> bool {
    let new = facts.model.view.sent.iter();
    let times: Vec<u64> = new
        .filter(|it| it.len > 0 && !it.is_retransmission())
        .map(|it| it.time_ns)
        .collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let gaps: Vec<u64> = gaps.collect();
    let close_ns = EVEN_FACTOR * percentile(gaps.clone(), 25).unwrap_or(0);
    let near_ns: u64 = gaps.iter().filter(|ns| **ns <= close_ns).sum();
    near_ns as f64 >= MIN_EVEN_SHARE * gaps.iter().sum::<u64>() as f64
}

/// True if the capture shows when acknowledgments reach the sender. Otherwise, bursts at intervals of a timer look like
/// those of each round trip.
fn knows_round_trip(facts: &FlowFacts<'_>) -> bool {
    let model = &facts.model;
    facts.connection().handshake().legs_ns().is_some()
        || model.to_sender.count() >= MIN_SAMPLES
        || model.release_ns.is_some()
}

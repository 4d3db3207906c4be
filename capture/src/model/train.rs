//! The rate of the slowest link, from the distance at which segments of one flight pass.
//!
//! Segments that leave together arrive at the distance that the slowest link sets (packet dispersion). The acknowledgments
//! of the receiver keep that distance on their way back.

use super::rate::Progress;
use super::view::{DirectionView, Transmission};

/// Rate of the slowest link, from the most frequent distance between segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainRate {
    /// Octets of payload per second.
    pub bytes_per_s: f64,
    /// Pairs of packets at this distance.
    pub pairs: usize,
    /// Their share of all pairs that are faster than the average.
    pub share: f64,
}

/// Pairs that pass at less than this multiple of the average rate are no train.
const MIN_SPEEDUP: f64 = 1.25;
/// Shorter distances are those of timestamps, of interrupts that are shared, and of segments merged by an adapter.
const MIN_GAP_NS: u64 = 20_000;
/// Full segments of a pair, at most: an acknowledgment of more may have been held back.
const MAX_SEGMENTS: u64 = 3;
/// Rates within this factor are equal: clocks and hosts jitter.
const WIDTH: f64 = 1.1;
/// Fewer pairs show nothing.
const MIN_PAIRS: usize = 12;
/// A distance is that of a link if this share of all pairs has it.
const MIN_MODE: f64 = 0.3;

impl TrainRate {
    /// The rate, from acknowledgments and, near the receiver, from segments; the slower one, because what was sent together
    /// may pass the capture point before the slowest link. `None` without a distance that stands out.
    pub(super) fn of(
        view: &DirectionView,
        acked: &Progress,
        is_near_receiver: bool,
    ) -> Option<Self> {
        let full = u64::from(view.full_segment());
        let average = acked.bytes() as f64 * 1e9 / acked.span_ns().max(1) as f64;
        let acks = acked.points().windows(2);
        let acks = acks.map(|pair| (pair[1].1 - pair[0].1, pair[1].0 - pair[0].0));
        let is_full = |it: &Transmission| u64::from(it.len) == full;
        let sent = view.sent.windows(2);
        let sent = sent.filter(|pair| pair.iter().all(is_full));
        let sent = sent.map(|pair| (full, pair[1].time_ns - pair[0].time_ns));
        let by_acks = mode(acks, full, average);
        let by_segments = is_near_receiver
            .then(|| mode(sent, full, average))
            .flatten();
        match (by_acks, by_segments) {
            (Some(acks), Some(sent)) if sent.bytes_per_s > acks.bytes_per_s => Some(acks),
            (acks, sent) => sent.or(acks),
        }
    }
}

/// The most frequent rate of these pairs of octets and nanoseconds, if it stands out.
fn mode(pairs: impl Iterator<Item = (u64, u64)>, full: u64, average: f64) -> Option<TrainRate> {
    let sizes = full..=MAX_SEGMENTS * full;
    let pairs = pairs.filter(|(bytes, gap_ns)| sizes.contains(bytes) && *gap_ns >= MIN_GAP_NS);
    let mut rates: Vec<f64> = pairs
        .map(|(bytes, gap_ns)| bytes as f64 * 1e9 / gap_ns as f64)
        .filter(|rate| *rate >= MIN_SPEEDUP * average)
        .collect();
    rates.sort_by(f64::total_cmp);
    let mut end = 0;
    let mut best: &[f64] = &[];
    for start in 0..rates.len() {
        while end < rates.len() && rates[end] <= rates[start] * WIDTH {
            end += 1;
        }
        if end - start > best.len() {
            best = &rates[start..end];
        }
    }
    let share = best.len() as f64 / rates.len().max(1) as f64;
    (best.len() >= MIN_PAIRS && share >= MIN_MODE).then(|| TrainRate {
        bytes_per_s: best[best.len() / 2],
        pairs: best.len(),
        share,
    })
}

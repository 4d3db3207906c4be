//! Whether losses depend on how much passed shortly before: a token bucket or a queue of a rate and a depth.
//!
//! For a rate, the level of a leaky bucket is computed at each segment: it rises by the segments that passed and falls at
//! the rate. If a policer or a queue of this rate dropped the lost segments, all of them met a high level, and no other
//! segment met a higher one. Random losses meet any level. A queue of this rate delays segments by the level; a policer
//! does not.

mod levels;
mod passages;

use super::queue::MIN_QUEUE_NS;
use super::view::DirectionView;
use levels::{Levels, Passage};
use passages::passages;

/// A leaky bucket that explains the losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBucket {
    /// Its rate, octets of payload per second.
    pub bytes_per_s: f64,
    /// Its depth in octets.
    pub depth_bytes: f64,
    /// Probability that a lost segment met a higher level than one that passed: 0.5 for random losses, 1 for a bucket.
    pub separation: f64,
    /// The same with three times the rate: nearly the same if bursts overflow a few buffers that are empty again before
    /// the next burst, whatever their rate.
    pub separation_of_faster: f64,
    /// The same with a rate at which so much passes sooner than round trips show: as good as that of any other rate, if a ring of a host
    /// overflows that is emptied fast.
    pub separation_of_unseen: f64,
    /// The best one of a bucket that is too small to be one, at any faster rate: a receiver with a buffer or two loses what comes close
    /// behind others.
    pub separation_of_shallow: f64,
    /// Delay of the segments that met a high level over those that met a low one, as a share of the level over the rate:
    /// about 1 for a queue, 0 for a policer. `None` without round trips.
    pub delay_share: Option<f64>,
    /// Share of the lost segments that are in a row for so long that a bucket of this rate would have let several pass.
    pub cut_share: f64,
    /// Lost segments.
    pub lost: usize,
    /// Octets of payload of a full packet: an adapter splits what its host sends.
    pub segment_bytes: f64,
}

/// Fewer losses show no dependence.
const MIN_LOST: usize = 6;

/// Rates to try, as multiples of the average one: close to it if the sender always has data, somewhat below it if a full
/// bucket passed at once in the beginning, and far above it if the sender repeats most of the time what was discarded.
fn factors(is_discarding: bool) -> impl Iterator<Item = f64> {
    let close = (0..57).map(|step| 0.8 + 0.01 * f64::from(step));
    let steps = if is_discarding { 48 } else { 10 };
    close.chain((0..steps).map(|step| 1.37 * 1.12_f64.powi(step)))
}

/// Changes of the rate in search of a better one: over some seconds, a rate that deviates by 1% changes the level by many
/// segments.
const REFINEMENTS: [f64; 8] = [0.06, 0.03, 0.015, 0.008, 0.004, 0.002, 0.001, 0.0005];

/// Segments that a bucket holds at least; a smaller one loses segments inside bursts.
const MIN_DEPTH: f64 = 2.5;
/// The same where each lost segment is known to be the first one that did not fit.
const MIN_DEPTH_OF_FIRST: f64 = 1.9;
/// Rates to try for it: up to 86 times the average one.
const SHALLOW_RATES: i32 = 18;
/// A rate shows if one that is this much faster does not separate as well.
const FASTER: f64 = 3.0;
/// Hosts take up to so long for a segment, whatever waits (as for queues of the model).
const UNSEEN_NS: f64 = MIN_QUEUE_NS as f64;
/// In the time of a row of lost segments, a bucket lets fewer pass: what it holds at its beginning, and what hosts and links shift.
const MOST_LET_PASS: f64 = 4.0;
/// The sender's clock is coarse: it must separate better by this much.
const MIN_ADVANTAGE: f64 = 0.1;

impl LossBucket {
    /// The bucket that separates the lost segments of `view` best from the others; `round_trips` are the times of
    /// acknowledgments and their round trips.
    pub fn of(view: &DirectionView, round_trips: &[(u64, u64)]) -> Option<Self> {
        let best = |times_ns: &[u64], round_trips| {
            Search::of(passages(view, times_ns), view.is_late)?.best(round_trips)
        };
        let captured: Vec<u64> = view.sent.iter().map(|it| it.time_ns).collect();
        let found = best(&captured, round_trips);
        // Behind a queue, only the sender's clock shows what it met.
        let stamped = view.stamped_times_ns().and_then(|times| best(&times, &[]));
        match stamped {
            Some(stamped)
                if found.is_none_or(|it| stamped.separation > it.separation + MIN_ADVANTAGE) =>
            {
                Some(Self {
                    delay_share: found.and_then(|it| it.delay_share),
                    ..stamped
                })
            }
            _ => found,
        }
    }
}

/// The search for the rate of a bucket.
struct Search {
    passages: Vec<Passage>,
    lost: usize,
    /// The capture lacks the beginning of the connection; else the bucket is empty before the first segment.
    is_late: bool,
    /// Octets that passed, and those of a full segment.
    passed: f64,
    full: f64,
    /// Some segments may have been lost.
    is_discarding: bool,
}

/// A bucket, and the level that each segment meets.
type Fit = (LossBucket, Levels);

impl Search {
    /// `None` if there are too few losses, or too many.
    fn of(passages: Vec<Passage>, is_late: bool) -> Option<Self> {
        let lost = passages.iter().filter(|it| it.is_lost).count();
        if lost < MIN_LOST || lost * 2 > passages.len() {
            return None;
        }
        let passed = passages.iter().filter(|it| !it.is_lost);
        Some(Self {
            lost,
            is_late,
            passed: passed.map(|it| it.bytes).sum(),
            full: passages.iter().map(|it| it.bytes).fold(0.0, f64::max),
            is_discarding: passages.iter().any(|it| it.is_open),
            passages,
        })
    }

    /// The bucket of the rate that separates the lost segments best.
    fn best(&self, round_trips: &[(u64, u64)]) -> Option<LossBucket> {
        let first_ns = self.passages.first()?.time_ns;
        let span_ns = self.passages.last()?.time_ns.saturating_sub(first_ns);
        let average = self.passed * 1e9 / span_ns.max(1) as f64;
        let better = |one: Fit, other: Fit| {
            if one.0.separation >= other.0.separation {
                one
            } else {
                other
            }
        };
        let rates: Vec<f64> = factors(self.is_discarding).map(|it| average * it).collect();
        let (together, rest) = rates.as_chunks::<4>();
        let coarse = together.iter().flat_map(|rates| self.of_rates(*rates));
        let coarse = coarse.chain(rest.iter().flat_map(|rate| self.of_rates([*rate])));
        let refine = |best: Fit, step: &f64| {
            let middle = best.0.bytes_per_s;
            let near = [middle * (1.0 - step), middle * (1.0 + step)];
            self.of_rates(near).fold(best, better)
        };
        let (mut best, met) = REFINEMENTS.iter().fold(coarse.reduce(better)?, refine);
        let unseen = best.depth_bytes * 1e9 / UNSEEN_NS;
        let rates = [FASTER * best.bytes_per_s, unseen.max(best.bytes_per_s)];
        let [faster, unseen] = Levels::of(&self.passages, rates, 0.0);
        best.separation_of_faster = faster.separation(&self.passages);
        best.separation_of_unseen = unseen.separation(&self.passages);
        best.separation_of_shallow = self.separation_of_shallow(average);
        best.cut_share = self.cut_share(best.bytes_per_s);
        best.delay_share = delay_share(&self.passages, &met.all, best.bytes_per_s, round_trips);
        Some(best)
    }

    /// See [`LossBucket::separation_of_shallow`].
    fn separation_of_shallow(&self, average: f64) -> f64 {
        let of = |step: i32| {
            let rate = average * 1.3_f64.powi(step);
            let [met] = Levels::of(&self.passages, [rate], 0.0);
            let is_shallow = met.median_at_loss() < MIN_DEPTH * self.full;
            is_shallow.then(|| met.separation(&self.passages))
        };
        (0..SHALLOW_RATES).filter_map(of).fold(0.0, f64::max)
    }

    /// Share of the lost segments in rows that a bucket of this rate would have interrupted: while its excess is dropped, it lets pass what
    /// its rate permits.
    fn cut_share(&self, bytes_per_s: f64) -> f64 {
        let rows = self
            .passages
            .chunk_by(|one, next| one.is_lost == next.is_lost);
        let is_cut = |row: &&[Passage]| {
            let ns = row[row.len() - 1].time_ns.saturating_sub(row[0].time_ns);
            row[0].is_lost && ns as f64 * bytes_per_s / 1e9 >= MOST_LET_PASS * self.full
        };
        let cut: usize = rows.filter(is_cut).map(<[Passage]>::len).sum();
        cut as f64 / self.lost as f64
    }

    /// The buckets of these rates that are deep enough.
    fn of_rates<const N: usize>(&self, rates: [f64; N]) -> impl Iterator<Item = Fit> {
        let met = Levels::of(&self.passages, rates, 0.0);
        let each = rates.into_iter().zip(met);
        each.filter_map(|(rate, met)| self.of_rate(rate, met))
    }

    /// The bucket of a rate that the segments `met` like this, if it is deep enough.
    fn of_rate(&self, rate: f64, mut met: Levels) -> Option<Fit> {
        let passages = &self.passages;
        // A capture that begins later does not show the level at its beginning; the first loss does.
        let first = passages.iter().position(|it| it.is_lost)?;
        let lacking = met.median_at_loss() - met.all[first];
        if self.is_late && lacking > 0.0 {
            let [raised] = Levels::of(passages, [rate], lacking);
            if raised.separation(passages) > met.separation(passages) {
                met = raised;
            }
        }
        let depth = met.median_at_loss();
        let least_depth = if self.is_discarding {
            MIN_DEPTH_OF_FIRST
        } else {
            MIN_DEPTH
        };
        // A level that only rises is no bucket's: between its first loss and the last, all of what it holds is replaced.
        let last = passages.iter().rposition(|it| it.is_lost)?;
        let drained = rate
            * passages[last]
                .time_ns
                .saturating_sub(passages[first].time_ns) as f64
            / 1e9;
        let is_deep = depth >= least_depth * self.full && depth <= drained.max(self.passed / 4.0);
        is_deep.then(|| {
            let bucket = LossBucket {
                bytes_per_s: rate,
                depth_bytes: depth,
                separation: met.separation(passages),
                separation_of_faster: 0.0,
                separation_of_unseen: 0.0,
                separation_of_shallow: 0.0,
                delay_share: None,
                cut_share: 0.0,
                lost: self.lost,
                segment_bytes: self.full,
            };
            (bucket, met)
        })
    }
}

/// See [`LossBucket::delay_share`].
fn delay_share(
    passages: &[Passage],
    levels: &[f64],
    rate: f64,
    round_trips: &[(u64, u64)],
) -> Option<f64> {
    // The level that the segment met whose acknowledgment ended a round trip.
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for (at_ns, rtt_ns) in round_trips {
        let sent_ns = at_ns - rtt_ns;
        let at = passages.partition_point(|it| it.time_ns < sent_ns);
        if passages
            .get(at)
            .is_some_and(|it| it.time_ns == sent_ns && !it.is_lost)
        {
            pairs.push((levels[at], *rtt_ns as f64));
        }
    }
    if pairs.len() < 20 {
        return None;
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = |pairs: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let part = (pairs.len() / 5).max(4);
    let (low, high) = (&pairs[..part], &pairs[pairs.len() - part..]);
    let level = median(high, |it| it.0) - median(low, |it| it.0);
    let delay_ns = median(high, |it| it.1) - median(low, |it| it.1);
    (level > 0.0).then(|| delay_ns / (level * 1e9 / rate))
}

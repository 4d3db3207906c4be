//! Whether losses depend on how much passed shortly before: a token bucket or a queue of a rate and a depth.
//!
//! For a rate, the level of a leaky bucket is computed at each segment: it rises by the segments that passed and falls at
//! the rate. If a policer or a queue of this rate dropped the lost segments, all of them met a high level, and no other
//! segment met a higher one. Random losses meet any level. A queue of this rate delays segments by the level; a policer
//! does not.

use super::view::DirectionView;
use crate::tcp::PacketClass;
use foldhash::HashMap;

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
    /// Delay of the segments that met a high level over those that met a low one, as a share of the level over the rate:
    /// about 1 for a queue, 0 for a policer. `None` without round trips.
    pub delay_share: Option<f64>,
    /// Lost segments.
    pub lost: usize,
}

/// A segment that passed or was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Passage {
    time_ns: u64,
    start: u64,
    bytes: f64,
    is_lost: bool,
    /// True if it may have been lost: the receiver had it repeated, whether it arrived or not.
    is_open: bool,
}

/// Fewer losses show no dependence.
const MIN_LOST: usize = 6;
/// Segments that are evaluated at most.
const MAX_PASSAGES: usize = 1 << 14;

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
/// Cells in which levels are looked up.
const CELLS: usize = 256;
/// A rate shows if one that is this much faster does not separate as well.
const FASTER: f64 = 3.0;
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
        let [faster] = Levels::of(&self.passages, [best.bytes_per_s * FASTER], 0.0);
        best.separation_of_faster = faster.separation(&self.passages);
        best.delay_share = delay_share(&self.passages, &met.all, best.bytes_per_s, round_trips);
        Some(best)
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
        // A level that only rises is no bucket's.
        let is_deep = depth >= least_depth * self.full && depth <= self.passed / 4.0;
        is_deep.then(|| {
            let bucket = LossBucket {
                bytes_per_s: rate,
                depth_bytes: depth,
                separation: met.separation(passages),
                separation_of_faster: 0.0,
                delay_share: None,
                lost: self.lost,
            };
            (bucket, met)
        })
    }
}

/// Segments in the order in which they met the bucket. What is missing is inserted where it was sent.
#[derive(Debug, Default)]
struct Passages {
    all: Vec<Passage>,
    /// Places in `all`.
    order: Vec<usize>,
    /// Last transmission by first octet: place in `all`.
    latest: HashMap<u64, usize>,
}

impl Passages {
    fn insert(&mut self, place: usize, passages: impl Iterator<Item = Passage>) {
        let first = self.all.len();
        for passage in passages {
            self.latest.insert(passage.start, self.all.len());
            self.all.push(passage);
        }
        self.order.splice(place..place, first..self.all.len());
    }

    /// Marks the last transmission of the segment that begins at `start`.
    fn mark(&mut self, start: u64, is_lost: bool, is_open: bool) {
        if let Some(at) = self.latest.get(&start) {
            self.all[*at].is_lost = is_lost;
            self.all[*at].is_open = is_open;
        }
    }
}

/// The segments in the order in which they were captured or are missing, at `times_ns`.
fn passages(view: &DirectionView, times_ns: &[u64]) -> Vec<Passage> {
    let full = f64::from(view.full_segment());
    let mut passages = Passages::default();
    let mut highest = view.sent.first().map_or(0, |it| it.start);
    let mut before_ns = times_ns.first().copied().unwrap_or(0);
    // Place and time of the segment with the highest octets: what is missing followed it.
    let (mut place, mut highest_ns) = (0, before_ns);
    for (sent, time_ns) in view.sent.iter().zip(times_ns).filter(|(it, _)| it.len > 0) {
        let time_ns = (*time_ns).max(before_ns);
        let passage = Passage {
            time_ns,
            start: sent.start,
            bytes: f64::from(sent.len),
            is_lost: false,
            is_open: false,
        };
        if sent.start > highest {
            // Lost before the capture point, or overtaken.
            let missing = ((sent.start - highest) as f64 / full).ceil().min(64.0) as u64;
            // What follows a full bucket is dropped at once; the next segment may come a round trip later, after repeated
            // ones.
            let lost = (0..missing).map(|at| Passage {
                time_ns: highest_ns,
                start: highest + at * full as u64,
                is_lost: true,
                ..passage
            });
            passages.insert(place, lost);
        }
        match sent.class {
            PacketClass::Reordered => {
                passages.mark(sent.start, false, false);
                continue;
            }
            // The last transmission of the same octets was lost, unless it is known to be missing.
            PacketClass::FastRetransmission | PacketClass::TimeoutRetransmission => {
                passages.mark(sent.start, !sent.is_discarded, sent.is_discarded);
            }
            PacketClass::NewData
            | PacketClass::NoData
            | PacketClass::SpuriousRetransmission
            | PacketClass::Probe => {}
        }
        passages.insert(passages.order.len(), std::iter::once(passage));
        before_ns = time_ns;
        if passages.order.len() >= MAX_PASSAGES {
            break;
        }
        if sent.end > highest {
            (highest, place, highest_ns) = (sent.end, passages.order.len(), time_ns);
        }
    }
    let Passages { all, order, .. } = passages;
    order.into_iter().map(|at| all[at]).collect()
}

/// The level that each segment meets, octets.
struct Levels {
    all: Vec<f64>,
    /// Those of the lost segments, in rising order. There are few.
    at_loss: Vec<f64>,
}

impl Levels {
    /// The levels of several rates, from `level` at the beginning; lost segments do not raise it. Each level depends on the
    /// one before: a processor computes those of several rates in the time of one.
    fn of<const N: usize>(passages: &[Passage], rates: [f64; N], level: f64) -> [Self; N] {
        let mut last_ns = passages.first().map_or(0, |it| it.time_ns);
        let (mut all, mut at_loss) = ([(); N].map(|()| Vec::new()), [(); N].map(|()| Vec::new()));
        for all in &mut all {
            all.reserve(passages.len());
        }
        let mut levels = [level; N];
        for it in passages {
            let gap_ns = it.time_ns.saturating_sub(last_ns) as f64;
            last_ns = it.time_ns;
            for (level, rate) in levels.iter_mut().zip(rates) {
                *level = (*level - gap_ns * rate / 1e9).max(0.0);
            }
            for (all, level) in all.iter_mut().zip(levels) {
                all.push(level);
            }
            if it.is_lost {
                for (at_loss, level) in at_loss.iter_mut().zip(levels) {
                    at_loss.push(level);
                }
            } else {
                for level in &mut levels {
                    *level += it.bytes;
                }
            }
        }
        let mut each = all.into_iter().zip(at_loss);
        [(); N].map(|()| {
            let (all, mut at_loss) = each.next().unwrap_or_default();
            at_loss.sort_unstable_by(f64::total_cmp);
            Self { all, at_loss }
        })
    }

    /// Median level that lost segments meet. A missing one stands right behind another one, so it always meets that one.
    fn median_at_loss(&self) -> f64 {
        self.at_loss[self.at_loss.len() / 2]
    }

    /// Probability that a lost segment met a higher level than one that passed (Mann-Whitney U over the product of the
    /// counts).
    fn separation(&self, passages: &[Passage]) -> f64 {
        let at_loss = &self.at_loss;
        // Cells of equal width over the levels of lost segments, with the number of those in lower cells: few levels
        // have to be compared.
        let (least, most) = (at_loss[0], at_loss[at_loss.len() - 1]);
        let cells_per_octet = CELLS as f64 / (most - least).max(1.0);
        let cell = |level: f64| (((level - least) * cells_per_octet) as usize).min(CELLS);
        let mut lower = [0_u32; CELLS + 1];
        for level in at_loss {
            if let Some(next) = lower.get_mut(cell(*level) + 1) {
                *next += 1;
            }
        }
        for at in 1..lower.len() {
            lower[at] += lower[at - 1];
        }
        let (mut passed, mut sum) = (0.0, 0.0);
        for (it, level) in passages.iter().zip(&self.all) {
            if it.is_lost || it.is_open {
                continue;
            }
            let near = &at_loss[lower[cell(*level)] as usize..];
            let lower = near.iter().take_while(|it| *it < level).count();
            let equal = near[lower..].iter().take_while(|it| *it <= level).count();
            // Equal levels count half.
            sum += (near.len() - lower - equal) as f64 + equal as f64 / 2.0;
            passed += 1.0;
        }
        sum / (at_loss.len() as f64 * passed).max(1.0)
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

#[cfg(test)]
mod tests {
    use super::{Levels, Passage};
    use std::cmp::Ordering;

    /// Of all pairs of a lost and a passed segment, those in which the lost one met more.
    fn of_pairs(passages: &[Passage], levels: &[f64]) -> f64 {
        let met = |is_lost: bool| {
            let all = passages.iter().zip(levels);
            all.filter(move |(it, _)| !it.is_open && it.is_lost == is_lost)
        };
        let above = met(true).flat_map(|(_, lost)| {
            met(false).map(move |(_, passed)| match lost.total_cmp(passed) {
                Ordering::Greater => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Less => 0.0,
            })
        });
        let pairs = met(true).count() * met(false).count();
        above.sum::<f64>() / pairs as f64
    }

    fn separation(passages: &[Passage], levels: &[f64]) -> f64 {
        levels_of(passages, levels).separation(passages)
    }

    fn levels_of(passages: &[Passage], levels: &[f64]) -> Levels {
        let at_loss = passages.iter().zip(levels).filter(|(it, _)| it.is_lost);
        let mut at_loss: Vec<f64> = at_loss.map(|(_, level)| *level).collect();
        at_loss.sort_unstable_by(f64::total_cmp);
        let all = levels.to_vec();
        Levels { all, at_loss }
    }

    #[test]
    fn separation_is_the_share_of_pairs_in_which_the_lost_segment_met_more() {
        let passage = |kind: u64| Passage {
            time_ns: 0,
            start: 0,
            bytes: 1.0,
            is_lost: kind == 0,
            is_open: kind == 1,
        };
        // Few levels, so that many are equal.
        let number = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        for seed in 0..20 {
            let at = |n: u64| number(1000 * seed + n);
            let passages: Vec<Passage> = (0..200).map(|n| passage(at(n) % 7)).collect();
            let levels: Vec<f64> = (200..400).map(|n| (at(n) % 13) as f64).collect();
            let (fast, slow) = (separation(&passages, &levels), of_pairs(&passages, &levels));
            assert!((fast - slow).abs() < 1e-12, "{fast} {slow}");
        }
        let ranked: Vec<Passage> = [2, 2, 0, 0].map(passage).to_vec();
        assert!((separation(&ranked, &[1.0, 2.0, 3.0, 4.0]) - 1.0).abs() < 1e-12);
    }
}

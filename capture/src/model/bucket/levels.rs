//! The levels of a leaky bucket that segments meet, and how well they separate lost segments from others.

/// A segment that passed or was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) time_ns: u64,
    pub(super) start: u64,
    pub(super) bytes: f64,
    pub(super) is_lost: bool,
    /// True if it may have been lost: the receiver had it repeated, whether it arrived or not.
    pub(super) is_open: bool,
}

/// Cells in which levels are looked up.
const CELLS: usize = 256;

/// The level that each segment meets, octets.
pub(super) struct Levels {
    pub(super) all: Vec<f64>,
    /// Those of the lost segments, in rising order. There are few.
    at_loss: Vec<f64>,
}

impl Levels {
    /// The levels of several rates, from `level` at the beginning; lost segments do not raise it. Each level depends on the
    /// one before: a processor computes those of several rates in the time of one.
    pub(super) fn of<const N: usize>(
        passages: &[Passage],
        rates: [f64; N],
        level: f64,
    ) -> [Self; N] {
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
    pub(super) fn median_at_loss(&self) -> f64 {
        self.at_loss[self.at_loss.len() / 2]
    }

    /// Probability that a lost segment met a higher level than one that passed (Mann-Whitney U over the product of the
    /// counts).
    pub(super) fn separation(&self, passages: &[Passage]) -> f64 {
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

//! The receiving side of a train of test messages.

use super::message::Report;
use crate::time::Instant;

/// Number of bins of gaps.
pub const GAP_BINS: usize = 12;
/// Upper limit of the first bin, microseconds; each following limit is twice the one before.
const FIRST_BIN_US: u32 = 32;

/// Index of the bin of a gap: 0 below 32 us, 1 below 64 us, and so on; the last one has everything from 32 ms on.
#[must_use]
pub const fn gap_bin(gap_us: u32) -> usize {
    let steps = (gap_us / FIRST_BIN_US).checked_ilog2();
    let bin = match steps {
        None => 0,
        Some(steps) => steps as usize + 1,
    };
    if bin < GAP_BINS { bin } else { GAP_BINS - 1 }
}

/// Gaps between messages that were sent back to back: the shortest, and the mean of those that are near it. Others
/// had something between them, so the mean is the time that one message takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Gaps {
    /// Shortest gap, microseconds.
    pub shortest_us: u32,
    /// Sum of the gaps within a sixteenth of it, microseconds.
    pub sum_us: u32,
    /// Number of them.
    pub count: u16,
}

impl Gaps {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        let near = |shortest: u32| shortest + shortest / 16;
        if self.count == 0 || near(other.shortest_us) < self.shortest_us {
            *self = other;
        } else if other.shortest_us <= near(self.shortest_us) {
            self.shortest_us = self.shortest_us.min(other.shortest_us);
            self.sum_us = self.sum_us.saturating_add(other.sum_us);
            self.count = self.count.saturating_add(other.count);
        }
    }

    /// Mean of the near ones, nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        (self.count > 0).then(|| u64::from(self.sum_us) * 1000 / u64::from(self.count))
    }
}

/// What came of one train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Arrivals {
    train: u8,
    expected: u32,
    received: u32,
    octets: u32,
    missing: u32,
    wrong: u32,
    first: Instant,
    last: Instant,
    gaps: Gaps,
    bins: [u16; GAP_BINS],
}

impl Arrivals {
    /// No train.
    pub(crate) const EMPTY: Self = Self {
        train: 0,
        expected: 0,
        received: 0,
        octets: 0,
        missing: 0,
        wrong: 0,
        first: Instant::from_us(0),
        last: Instant::from_us(0),
        gaps: Gaps {
            shortest_us: 0,
            sum_us: 0,
            count: 0,
        },
        bins: [0; GAP_BINS],
    };

    /// Adds a message that arrived at `now`; `wrong` of its octets are not those of the train. Another train begins
    /// with its first message, or with one whose predecessors are lost.
    pub fn add(&mut self, now: Instant, train: u8, index: u32, octets: u32, wrong: u32) {
        let is_other = train != self.train || index < self.expected;
        if self.received == 0 || is_other {
            *self = Self {
                train,
                first: now,
                ..Self::default()
            };
        } else if index == self.expected {
            let gap = now.us_since(self.last);
            self.gaps.add(Gaps {
                shortest_us: gap,
                sum_us: gap,
                count: 1,
            });
            if let Some(bin) = self.bins.get_mut(gap_bin(gap)) {
                *bin = bin.saturating_add(1);
            }
        }
        self.missing += index - self.expected;
        self.expected = index.wrapping_add(1);
        self.received += 1;
        self.octets = self.octets.wrapping_add(octets);
        self.wrong = self.wrong.wrapping_add(wrong);
        self.last = now;
    }

    /// The report on a train of which `sent` messages were sent; on no message if it is not the last one.
    #[must_use]
    pub fn report(&self, train: u8, sent: u32) -> Report {
        if train != self.train {
            return Report {
                train,
                missing: sent,
                ..Report::default()
            };
        }
        Report {
            train,
            received: self.received,
            octets: self.octets,
            missing: self.missing + sent.saturating_sub(self.expected),
            wrong: self.wrong,
            span_us: self.last.us_since(self.first),
            gaps: self.gaps,
            bins: self.bins,
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Gaps, gap_bin};
    use crate::time::Instant;

    #[test]
    fn gaps_have_bins_by_powers_of_two() {
        assert_eq!(
            [0, 31, 32, 63, 64, 32_767, 32_768, u32::MAX].map(gap_bin),
            [0, 0, 1, 1, 2, 10, 11, 11]
        );
    }

    #[test]
    fn missing_messages_are_counted_and_make_no_gap() {
        let mut arrivals = Arrivals::default();
        for (us, index) in [(0, 1), (1_000, 2), (3_000, 4), (4_010, 5)] {
            arrivals.add(Instant::from_us(us), 7, index, 100, 0);
        }
        let report = arrivals.report(7, 8);
        assert_eq!((report.received, report.missing), (4, 4));
        assert_eq!((report.octets, report.span_us), (400, 4_010));
        assert_eq!(
            (report.gaps.count, report.gaps.mean_ns()),
            (2, Some(1_005_000))
        );
        assert_eq!(arrivals.report(8, 3).missing, 3);
    }

    #[test]
    fn gaps_with_something_between_do_not_count() {
        let mut gaps = Gaps::default();
        for us in [1_500, 1_010, 1_030, 2_000, 1_000] {
            let one = Gaps {
                shortest_us: us,
                sum_us: us,
                count: 1,
            };
            gaps.add(one);
        }
        assert_eq!(
            (gaps.shortest_us, gaps.sum_us, gaps.count),
            (1_000, 3_040, 3)
        );
    }
}

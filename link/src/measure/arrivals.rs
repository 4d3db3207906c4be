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

/// Messages of a stretch of a train.
const STRETCH: usize = 4;

/// Time and octets of stretches in which the line was busy all the time: their quotient is the duration of an octet.
///
/// The octets are all that arrived, those of users, too, so traffic in between does not matter. A stretch with a pause
/// in it is slower than others and does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Pace {
    /// Least time for an octet, nanoseconds.
    pub fastest_ns: u32,
    /// Time and octets of the stretches within 1/64 of it.
    pub us: u32,
    /// See `us`.
    pub octets: u32,
    /// Number of those stretches.
    pub count: u16,
}

impl Pace {
    fn add(&mut self, us: u32, octets: u32) {
        self.merge(us, octets, 1);
    }

    /// Adds the stretches of another train.
    pub fn add_all(&mut self, other: &Self) {
        self.merge(other.us, other.octets, other.count);
    }

    fn merge(&mut self, us: u32, octets: u32, count: u16) {
        let Some(ns) = (u64::from(us) * 1000).checked_div(octets.into()) else {
            return;
        };
        let ns = u32::try_from(ns).unwrap_or(u32::MAX);
        let near = |fastest: u32| fastest.saturating_add(fastest / 64);
        if self.count == 0 || near(ns) < self.fastest_ns {
            *self = Self {
                fastest_ns: ns,
                us,
                octets,
                count,
            };
        } else if ns <= near(self.fastest_ns) {
            self.fastest_ns = self.fastest_ns.min(ns);
            self.us = self.us.saturating_add(us);
            self.octets = self.octets.saturating_add(octets);
            self.count = self.count.saturating_add(count);
        }
    }

    /// Mean duration of an octet, picoseconds.
    #[must_use]
    pub fn octet_ps(&self) -> Option<u32> {
        let ps = (u64::from(self.us) * 1_000_000).checked_div(self.octets.into())?;
        u32::try_from(ps).ok()
    }
}

/// What came of one train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arrivals {
    train: u8,
    expected: u32,
    received: u32,
    octets: u32,
    missing: u32,
    wrong: u32,
    first: Instant,
    last: Instant,
    /// The last messages, with the octets that had arrived on the line by then.
    recent: [(Instant, u32); STRETCH],
    pace: Pace,
    shortest_us: u32,
    bins: [u16; GAP_BINS],
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::EMPTY
    }
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
        recent: [(Instant::from_us(0), 0); STRETCH],
        pace: Pace {
            fastest_ns: 0,
            us: 0,
            octets: 0,
            count: 0,
        },
        shortest_us: u32::MAX,
        bins: [0; GAP_BINS],
    };

    /// Adds a message that arrived at `now`, when `line_octets` had arrived on the line in all; `wrong` of its octets are
    /// not those of the train. Another train begins with its first message, or with one whose predecessors are lost.
    pub fn add(
        &mut self,
        (now, line_octets): (Instant, u32),
        (train, index): (u8, u32),
        octets: u32,
        wrong: u32,
    ) {
        let is_other = train != self.train || index < self.expected;
        if self.received == 0 || is_other {
            *self = Self {
                train,
                first: now,
                ..Self::EMPTY
            };
        } else if index == self.expected {
            let gap = now.us_since(self.last);
            self.shortest_us = self.shortest_us.min(gap);
            if let Some(bin) = self.bins.get_mut(gap_bin(gap)) {
                *bin = bin.saturating_add(1);
            }
        }
        self.missing = self.missing.saturating_add(index - self.expected);
        self.expected = index.saturating_add(1);
        self.received = self.received.saturating_add(1);
        self.octets = self.octets.wrapping_add(octets);
        self.wrong = self.wrong.wrapping_add(wrong);
        self.last = now;
        let number = self.received as usize - 1;
        if let Some(earlier) = self.recent.get_mut(number % STRETCH) {
            let (time, octets) = core::mem::replace(earlier, (now, line_octets));
            if number >= STRETCH {
                self.pace
                    .add(now.us_since(time), line_octets.wrapping_sub(octets));
            }
        }
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
            missing: self
                .missing
                .saturating_add(sent.saturating_sub(self.expected)),
            wrong: self.wrong,
            span_us: self.last.us_since(self.first),
            pace: self.pace,
            shortest_us: self.shortest_us,
            bins: self.bins,
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Pace, gap_bin};
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
        let mut arrivals = Arrivals::EMPTY;
        for (us, index) in [(0, 1), (1_000, 2), (3_000, 4), (4_010, 5)] {
            let at = (Instant::from_us(us), 500 + us / 10);
            arrivals.add(at, (7, index), 100, 0);
        }
        let report = arrivals.report(7, 8);
        assert_eq!((report.received, report.missing), (4, 4));
        assert_eq!((report.octets, report.span_us), (400, 4_010));
        assert_eq!((report.shortest_us, report.pace.count), (1_000, 0));
        assert_eq!((report.bins[5], report.bins[6]), (2, 0));
        assert_eq!(arrivals.report(8, 3).missing, 3);
    }

    #[test]
    fn numbers_that_no_train_has_overflow_no_count() {
        let mut arrivals = Arrivals::EMPTY;
        for index in [u32::MAX - 1, u32::MAX, u32::MAX] {
            arrivals.add((Instant::from_us(0), 0), (7, index), 1, 0);
        }
        assert_eq!(arrivals.report(7, u32::MAX).missing, u32::MAX - 1);
        arrivals.add((Instant::from_us(0), 0), (7, 5), 1, 0);
        let report = arrivals.report(7, 6);
        assert_eq!((report.received, report.missing), (1, 5));
    }

    #[test]
    fn each_stretch_of_a_train_gives_a_duration_of_an_octet() {
        let mut arrivals = Arrivals::EMPTY;
        for index in 0..7 {
            let pause_us = if index < 2 { 0 } else { 500 };
            let at = (Instant::from_us(index * 1_000 + pause_us), index * 100);
            arrivals.add(at, (1, index), 90, 0);
        }
        let pace = arrivals.report(1, 7).pace;
        assert_eq!((pace.octet_ps(), pace.count), (Some(10_000_000), 1));
    }

    #[test]
    fn stretches_with_a_pause_do_not_count() {
        let mut pace = Pace::default();
        for (us, octets) in [
            (15_000, 1_000),
            (20_100, 2_000),
            (10_000, 1_000),
            (40_000, 3_000),
        ] {
            pace.add(us, octets);
        }
        assert_eq!((pace.octet_ps(), pace.count), (Some(10_033_333), 2));
    }
}

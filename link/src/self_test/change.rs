//! Comparison of a period with the baseline: what got worse, and its name.

use super::figures::{Direction, DirectionFigures, End, Figures, Spread};

/// Periods that make the baseline.
pub const BASELINE_PERIODS: u8 = 3;
/// Least number of stretches of long messages for a statement on the bit rate.
const MIN_STRETCHES: u16 = 3;
/// Least relative change of the bit rate that is reported, per mille.
const MIN_RATE_CHANGE: u32 = 7;
/// Standard deviations by which the number of damaged frames must exceed the baseline's.
const DEVIATIONS: u64 = 4;
/// Damaged frames by which it must, besides.
const MIN_DAMAGED: u64 = 4;
/// Octets of a FIFO by which it must be fuller, at least, and the share of its size.
const MIN_FULLER: u32 = 4;
const FULLER_SHARE: u32 = 16;
/// Microseconds by which the shortest round trip must be longer, at least.
const MIN_LONGER_US: u32 = 50;

/// The quantity that got worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Neither probes nor trains were answered. Values: answers in the baseline, and now.
    NoAnswer,
    /// The program of an end takes octets later from the hardware's FIFO: interrupts or other work hold it up. Values:
    /// most octets in the FIFO.
    InterruptLoad(End),
    /// The bit rate of a direction, as its receiver's clock sees it, changed. Values: picoseconds of an octet.
    BaudError(Direction),
    /// The shortest round trip is longer. Values: microseconds.
    AddedLatency,
    /// More frames are damaged. Values: damaged ones of a million frames.
    ErrorRate(Direction),
    /// Trains take longer, for no other reason that is known: user traffic, or the sender. Values: octets a second.
    Slower(Direction),
}

/// A quantity that got worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Change {
    /// The quantity.
    pub cause: Cause,
    /// Its value in the baseline.
    pub was: u32,
    /// Its value in this period.
    pub is: u32,
}

/// Most changes in a period.
pub const MAX_CHANGES: usize = 10;

/// Ranges of the figures of several periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Baseline {
    pub(super) periods: u8,
    answers: u32,
    round_trip: Spread,
    octet_ps: [Spread; 2],
    goodput: [Spread; 2],
    fullest: [Spread; 2],
    frames: [u32; 2],
    damaged: [u32; 2],
}

impl Baseline {
    /// True if it has enough periods to compare with.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.periods >= BASELINE_PERIODS
    }

    pub(super) fn add(&mut self, figures: &Figures) {
        self.periods = self.periods.saturating_add(1);
        self.answers += answers(figures);
        if figures.round_trip.count > 0 {
            self.round_trip.add(figures.round_trip.least);
        }
        for (n, it) in figures.directions.iter().enumerate() {
            if let Some(ps) = octet_ps(it) {
                self.octet_ps[n].add(ps);
            }
            if it.long_us > 0 {
                self.goodput[n].add(it.goodput_octets_per_s());
            }
            self.frames[n] = self.frames[n].saturating_add(it.frames);
            self.damaged[n] = self.damaged[n].saturating_add(it.damaged);
            self.fullest[n].add(figures.fullest[n].into());
        }
    }

    /// What is worse in this period, the most telling first: one change often causes several others. `fifos` are the
    /// octets of the hardware's FIFOs, 0 if unknown.
    pub(super) fn compare(
        &self,
        figures: &Figures,
        fifos: [u16; 2],
    ) -> [Option<Change>; MAX_CHANGES] {
        let mut changes = [None; MAX_CHANGES];
        let found = self.all(figures, fifos);
        for (place, change) in changes.iter_mut().zip(found.into_iter().flatten()) {
            *place = Some(change);
        }
        changes
    }

    fn all(&self, figures: &Figures, fifos: [u16; 2]) -> [Option<Change>; MAX_CHANGES] {
        let [own, peer] = End::ALL.map(|end| self.interrupt_load(figures, fifos, end));
        let [baud_to, baud_from] = Direction::ALL.map(|way| self.baud_error(figures, way));
        let [errors_to, errors_from] = Direction::ALL.map(|way| self.error_rate(figures, way));
        let [slower_to, slower_from] = Direction::ALL.map(|way| self.slower(figures, way));
        [
            self.no_answer(figures),
            own,
            peer,
            baud_to,
            baud_from,
            self.added_latency(figures),
            errors_to,
            errors_from,
            slower_to,
            slower_from,
        ]
    }

    fn no_answer(&self, figures: &Figures) -> Option<Change> {
        let is = answers(figures);
        (is == 0 && self.answers > 0).then_some(Change {
            cause: Cause::NoAnswer,
            was: self.answers / u32::from(self.periods.max(1)),
            is,
        })
    }

    fn interrupt_load(&self, figures: &Figures, fifos: [u16; 2], end: End) -> Option<Change> {
        let n = end as usize;
        let (before, is) = (self.fullest[n], u32::from(figures.fullest[n]));
        let more = (u32::from(fifos[n]) / FULLER_SHARE).max(MIN_FULLER);
        (before.greatest > 0 && is > before.greatest + before.width() + more).then_some(Change {
            cause: Cause::InterruptLoad(end),
            was: before.greatest,
            is,
        })
    }

    fn baud_error(&self, figures: &Figures, direction: Direction) -> Option<Change> {
        let before = self.octet_ps[direction as usize];
        let is = octet_ps(figures.direction(direction))?;
        let was = before.middle();
        let least = (was / 1000 * MIN_RATE_CHANGE).max(before.width().saturating_mul(2));
        (before.count > 0 && is.abs_diff(was) > least).then_some(Change {
            cause: Cause::BaudError(direction),
            was,
            is,
        })
    }

    fn added_latency(&self, figures: &Figures) -> Option<Change> {
        let (before, now) = (self.round_trip, figures.round_trip);
        let more = before.greatest / 8 + MIN_LONGER_US;
        let limit = [more, before.width()].into_iter();
        let limit = limit.fold(before.greatest, u32::saturating_add);
        (before.count > 0 && now.count > 0 && now.least > limit).then_some(Change {
            cause: Cause::AddedLatency,
            was: before.middle(),
            is: now.least,
        })
    }

    /// Damaged frames are rare and independent: their number has the variance of its mean, which the baseline only
    /// estimates.
    fn error_rate(&self, figures: &Figures, direction: Direction) -> Option<Change> {
        let n = direction as usize;
        let now = figures.direction(direction);
        let (damaged, all) = (u64::from(now.damaged), u64::from(now.damaged + now.frames));
        let (was, was_all) = (
            u64::from(self.damaged[n]),
            u64::from(self.damaged[n] + self.frames[n]),
        );
        if was_all == 0 || all == 0 {
            return None;
        }
        let expected = (was * all).div_ceil(was_all);
        let variance = expected + expected * all / was_all;
        let limit = expected + DEVIATIONS * variance.isqrt() + MIN_DAMAGED;
        (damaged > limit).then_some(Change {
            cause: Cause::ErrorRate(direction),
            was: (was * 1_000_000 / was_all) as u32,
            is: (damaged * 1_000_000 / all) as u32,
        })
    }

    fn slower(&self, figures: &Figures, direction: Direction) -> Option<Change> {
        let before = self.goodput[direction as usize];
        let now = figures.direction(direction);
        let is = now.goodput_octets_per_s();
        (before.count > 0 && now.long_us > 0 && is < before.least / 4 * 3).then_some(Change {
            cause: Cause::Slower(direction),
            was: before.middle(),
            is,
        })
    }
}

/// Duration of an octet, if there were enough stretches.
fn octet_ps(direction: &DirectionFigures) -> Option<u32> {
    let is_enough = direction.pace.count >= MIN_STRETCHES;
    direction.pace.octet_ps().filter(|_| is_enough)
}

/// Probes and trains that were answered.
fn answers(figures: &Figures) -> u32 {
    u32::from(figures.round_trip.count) + u32::from(figures.reports)
}

#[cfg(test)]
mod tests {
    use super::{Baseline, Direction, Figures};
    use crate::measure::{Pace, Report};

    /// Figures of a period in which the peer reported the number `n` everywhere, several times.
    fn reported(n: u32) -> Figures {
        let report = Report {
            received: 1,
            octets: n,
            missing: n,
            wrong: n,
            span_us: 1,
            pace: Pace {
                fastest_ns: n,
                us: n,
                octets: 1_000_000,
                count: u16::MAX,
            },
            frames: n,
            damaged: n,
            ..Report::default()
        };
        let mut figures = Figures::default();
        for direction in Direction::ALL {
            let figures = figures.direction_mut(direction);
            for received in [1, n, n] {
                figures.add_report(&Report { received, ..report }, 2);
            }
            figures.count_frames((n, n), (0, 0));
        }
        figures.round_trip.add(n);
        figures
    }

    #[test]
    fn no_numbers_in_a_report_are_too_large_to_be_compared() {
        for first in [0, 1, u32::MAX] {
            let mut baseline = Baseline::default();
            for n in [first, u32::MAX, u32::MAX] {
                baseline.add(&reported(n));
            }
            for n in [0, 1, u32::MAX / 2] {
                let _ = baseline.compare(&reported(n), [0, 0]);
            }
            let changes = baseline.compare(&reported(u32::MAX), [0, 0]);
            assert_eq!(changes.iter().flatten().count(), 0, "as before");
        }
    }
}

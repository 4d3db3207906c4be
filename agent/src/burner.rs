//! A CPU load while the device is measured, and the CPU time left over.
//!
//! The main loop calls [`Burner::burn`] in each round. Burned time is counted in units of constant work,
//! whose duration is measured once while the CPU is otherwise idle. No clock is read in between, and a unit
//! that an interrupt prolonged still counts as its nominal duration.

use core::hint::black_box;
use core::time::Duration;

use crate::Instant;

/// Backlog limit in units while the main loop is busy; anything beyond is counted as missed.
const MAX_BACKLOG_UNITS: u64 = 8;
/// A share is given in thousandths.
const PER_MILLE: u64 = 1000;

/// CPU load to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Nothing.
    None,
    /// A share of the time, in thousandths.
    Share(u16),
    /// One unit in each round, regardless of time: all CPU time that the main loop has to spare, if it calls
    /// [`Burner::burn`] only in idle rounds.
    Spare,
}

/// Load generated since it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burned {
    /// The requested load.
    pub load: Load,
    /// Time since the load was set.
    pub span: Duration,
    /// CPU time burned.
    pub cpu: Duration,
    /// CPU time that should have been burned but was not, because the device was busy.
    pub missed: Duration,
}

impl Burned {
    /// Share of the time that was burned, in thousandths. With [`Load::Spare`], the share of the CPU that was
    /// free.
    #[must_use]
    pub fn thousandths(&self) -> u16 {
        let share = self.cpu.as_nanos() * u128::from(PER_MILLE) / self.span.as_nanos().max(1);
        share.min(u128::from(PER_MILLE)) as u16
    }
}

/// Generates a CPU load.
#[derive(Debug, Clone)]
pub struct Burner {
    rounds: u32,
    unit_ns: u64,
    state: u32,
    load: Load,
    since: Instant,
    accrued_at: Instant,
    /// In 1 / 1000 ns.
    backlog: u64,
    units: u64,
    missed_ns: u64,
}

impl Burner {
    /// Creates a burner with units of `rounds` rounds: about 10 cycles each. It burns nothing before it is
    /// [calibrated](Self::calibrate).
    #[must_use]
    pub const fn new(rounds: u32) -> Self {
        Self {
            rounds,
            unit_ns: 0,
            state: 1,
            load: Load::None,
            since: Instant::from_ns(0),
            accrued_at: Instant::from_ns(0),
            backlog: 0,
            units: 0,
            missed_ns: 0,
        }
    }

    /// Does the work of one unit. For calibration: the driver measures the duration of several units with
    /// interrupts disabled.
    pub fn unit(&mut self) {
        let mut state = self.state;
        for _ in 0..self.rounds {
            // xorshift32: each round depends on the previous one, so none can be optimized away.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state = black_box(state);
        }
        self.state = state;
    }

    /// Sets the duration of a unit from a measurement of several.
    pub fn calibrate(&mut self, units: u32, took: Duration) {
        let ns = took.as_nanos() / u128::from(units.max(1));
        self.unit_ns = u64::try_from(ns).unwrap_or(u64::MAX / PER_MILLE / MAX_BACKLOG_UNITS);
    }

    /// Sets the load and restarts the counters.
    pub fn set(&mut self, load: Load, now: Instant) {
        self.load = load;
        self.since = now;
        self.accrued_at = now;
        self.backlog = 0;
        self.units = 0;
        self.missed_ns = 0;
    }

    /// Burns one unit if one is due; returns true if it did. Never more than one, so a received frame waits
    /// for one unit at most.
    pub fn burn(&mut self, now: Instant) -> bool {
        if self.unit_ns == 0 {
            return false;
        }
        match self.load {
            Load::None => return false,
            Load::Share(share) => {
                self.accrue(share, now);
                let unit = self.unit_ns.saturating_mul(PER_MILLE);
                if self.backlog < unit {
                    return false;
                }
                self.backlog -= unit;
            }
            Load::Spare => {}
        }
        self.units += 1;
        self.unit();
        true
    }

    /// Adds the time that has become due since the last call.
    fn accrue(&mut self, share: u16, now: Instant) {
        let passed = now.since(self.accrued_at).as_nanos();
        self.accrued_at = self.accrued_at.max(now);
        let share = u128::from(share).min(u128::from(PER_MILLE));
        let owed = u64::try_from(passed * share).unwrap_or(u64::MAX);
        let owed = self.backlog.saturating_add(owed);
        let max = self.unit_ns.saturating_mul(PER_MILLE * MAX_BACKLOG_UNITS);
        self.backlog = owed.min(max);
        self.missed_ns = self
            .missed_ns
            .saturating_add((owed - self.backlog) / PER_MILLE);
    }

    /// Load generated so far.
    #[must_use]
    pub fn burned(&self, now: Instant) -> Burned {
        Burned {
            load: self.load,
            span: now.since(self.since),
            cpu: Duration::from_nanos(self.units.saturating_mul(self.unit_ns)),
            missed: Duration::from_nanos(self.missed_ns),
        }
    }

    /// Time when the next unit is due; `None` if none ever is.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        match self.load {
            Load::Share(share) if share > 0 && self.unit_ns > 0 => {
                let unit = self.unit_ns.saturating_mul(PER_MILLE);
                let ns = unit.saturating_sub(self.backlog).div_ceil(share.into());
                Some(self.accrued_at.after(Duration::from_nanos(ns)))
            }
            Load::Spare if self.unit_ns > 0 => Some(self.accrued_at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Burned, Burner, Load, MAX_BACKLOG_UNITS};
    use crate::Instant;
    use core::time::Duration;
    use proptest::prelude::*;

    const UNIT: u64 = 20_000;

    fn burner() -> Burner {
        let mut burner = Burner::new(100);
        burner.calibrate(1000, Duration::from_nanos(1000 * UNIT));
        burner
    }

    /// Simulates a main loop: each round takes `turn` ns, a frame every `every` ns takes `frame` ns, and a
    /// burned unit takes its own time. Also returns the total time spent on frames.
    fn run(load: Load, turn: u64, every: u64, frame: u64, span: u64) -> (Burned, u64) {
        let mut burner = burner();
        let (mut now, mut next, mut frames) = (0, every, 0);
        burner.set(load, Instant::from_ns(0));
        while now < span {
            now += turn;
            if now >= next {
                next += every;
                now += frame;
                frames += frame + turn;
            } else if burner.burn(Instant::from_ns(now)) {
                now += UNIT;
            }
        }
        (burner.burned(Instant::from_ns(now)), frames)
    }

    #[test]
    fn the_spare_share_is_the_cpu_time_left_over() {
        // 300 us of each millisecond are frames; each unit costs a round of 100 ns as well.
        let (burned, frames) = run(Load::Spare, 100, 1_000_000, 300_000, 1_000_000_000);
        let left = 1000 - frames * 1000 / 1_000_000_000;
        assert!(
            (left - 8..=left).contains(&burned.thousandths().into()),
            "{burned:?}"
        );
        assert_eq!(burned.missed, Duration::ZERO);
    }

    #[test]
    fn load_that_cannot_be_generated_is_missed_not_made_up_for_later() {
        // Frames need 80 %, 50 % are to be burned.
        let (burned, _) = run(Load::Share(500), 100, 1_000_000, 800_000, 1_000_000_000);
        assert!((150..=205).contains(&burned.thousandths()), "{burned:?}");
        let all = burned.missed + burned.cpu;
        let owed = burned.span / 2;
        let rest = Duration::from_nanos(UNIT * MAX_BACKLOG_UNITS);
        assert!(
            all <= owed && all + rest + Duration::from_micros(100) >= owed,
            "{burned:?}"
        );
    }

    #[test]
    fn nothing_is_burned_uncalibrated_or_unrequested() {
        let mut burner = Burner::new(100);
        burner.set(Load::Spare, Instant::from_ns(0));
        assert!(!burner.burn(Instant::from_ns(1_000_000)));
        assert_eq!(burner.wake_at(), None);
        let mut burner = self::burner();
        assert!(!burner.burn(Instant::from_ns(1_000_000)));
        burner.set(Load::Share(0), Instant::from_ns(0));
        assert!(!burner.burn(Instant::from_ns(1_000_000)) && burner.wake_at().is_none());
    }

    #[test]
    fn a_unit_is_work_that_depends_on_all_of_it() {
        let mut burner = Burner::new(3);
        burner.unit();
        // xorshift32 from 1: 270369, 67634689, 2647435461.
        assert_eq!(burner.state, 2_647_435_461);
    }

    #[test]
    fn a_clock_that_stops_or_runs_backwards_accrues_nothing() {
        let mut burner = burner();
        burner.set(Load::Share(1000), Instant::from_ns(5_000_000));
        assert!(!burner.burn(Instant::from_ns(5_000_000)) && !burner.burn(Instant::from_ns(0)));
        assert!(!burner.burn(Instant::from_ns(5_000_000 + UNIT - 1)));
        assert!(burner.burn(Instant::from_ns(5_000_000 + UNIT)));
        let _ = burner.burn(Instant::from_ns(u64::MAX));
        assert!(burner.burned(Instant::from_ns(u64::MAX)).missed > Duration::from_secs(1));
    }

    proptest! {
        /// With time to spare, the share is accurate to a unit, whatever the timing of the main loop.
        #[test]
        fn a_share_is_kept(share in 1..900_u16, turn in 50..1900_u64) {
            let (burned, _) = run(Load::Share(share), turn, u64::MAX, 0, 200_000_000);
            let exact = burned.span * u32::from(share) / 1000;
            let slack = Duration::from_nanos(UNIT + turn + UNIT);
            prop_assert!(burned.cpu <= exact && burned.cpu + slack >= exact, "{burned:?} {exact:?}");
            prop_assert_eq!(burned.missed, Duration::ZERO);
        }

        /// A driver that sleeps until `wake_at` finds a unit due then and not before.
        #[test]
        fn it_is_due_at_its_wake_time(share in 1..=1000_u16, at in 0..1_000_000_u64) {
            let mut burner = burner();
            burner.set(Load::Share(share), Instant::from_ns(0));
            burner.burn(Instant::from_ns(at % UNIT));
            let due = burner.wake_at().unwrap();
            prop_assert!(!burner.burn(Instant::from_ns(due.ns() - 1)));
            prop_assert!(burner.burn(due));
        }
    }
}

//! The CPU's clock: cycles to virtual time and back.

use crate::time::{Instant, TICKS_PER_SECOND};

/// Counts cycles at a frequency that may change, without losing a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuClock {
    hertz: u64,
    ticks_per_cycle: u64,
    /// When `base_cycle` began.
    base_ticks: u64,
    base_cycle: u64,
}

impl CpuClock {
    /// Cycle 0 begins at power-on.
    pub fn new(hertz: u64) -> Self {
        let mut clock = Self {
            hertz: 0,
            ticks_per_cycle: 1,
            base_ticks: 0,
            base_cycle: 0,
        };
        clock.set_hertz(hertz, 0);
        clock
    }

    pub fn hertz(&self) -> u64 {
        self.hertz
    }

    /// Changes the frequency from `cycle` on. The periods of all clocks except the RC oscillator
    /// are a whole number of ticks; its period is rounded by less than 0.1%.
    pub fn set_hertz(&mut self, hertz: u64, cycle: u64) {
        self.base_ticks = self.instant(cycle).ticks();
        self.base_cycle = cycle;
        self.hertz = hertz;
        self.ticks_per_cycle = ((TICKS_PER_SECOND + hertz / 2) / hertz).max(1);
    }

    /// Start time of `cycle`.
    #[inline]
    pub fn instant(&self, cycle: u64) -> Instant {
        let cycles = cycle.saturating_sub(self.base_cycle);
        Instant::from_ticks(self.base_ticks + cycles * self.ticks_per_cycle)
    }

    /// The first cycle that begins at or after `at`.
    #[inline]
    pub fn cycle_at(&self, at: Instant) -> u64 {
        let ticks = at.ticks().saturating_sub(self.base_ticks);
        // A division by a constant is several times as fast.
        let cycles = match self.ticks_per_cycle {
            75 => ticks.div_ceil(75),
            other => ticks.div_ceil(other),
        };
        self.base_cycle + cycles
    }

    /// Duration of `ns` nanoseconds in cycles, rounded up.
    pub fn cycles_of_ns(&self, ns: u64) -> u64 {
        (ns * 12).div_ceil(self.ticks_per_cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_instants_agree_across_a_change() {
        let mut clock = CpuClock::new(80_000_000);
        assert_eq!(clock.instant(8), Instant::from_ns(100));
        clock.set_hertz(160_000_000, 8);
        assert_eq!(clock.instant(8), Instant::from_ns(100));
        assert_eq!(clock.instant(24), Instant::from_ns(200));
        assert_eq!(clock.cycle_at(Instant::from_ns(200)), 24);
        assert_eq!(clock.cycle_at(Instant::from_ns(201)), 25);
    }
}

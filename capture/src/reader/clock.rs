//! Clocks of a capture's interfaces that are set back while it is taken.

/// Packets of one interface are out of order by less than this: several queues of an adapter are read in turn.
const MIN_STEP_NS: u64 = 1_000_000;

/// One clock for each interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    clocks: Vec<Clock>,
    /// Number of times that a clock was set back.
    pub(super) steps: u64,
}

/// A clock of which time never steps back.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "the unit")]
struct Clock {
    /// The last timestamp.
    last_ns: u64,
    /// The last timestamp before the latest step.
    before_step_ns: u64,
    /// Size of the latest step.
    step_ns: u64,
    /// Sum of all steps.
    offset_ns: u64,
}

impl Clocks {
    /// The time of the packet of `interface` with this timestamp, if the clock had not been set back.
    #[inline]
    pub(super) fn correct(&mut self, interface: usize, stamp_ns: u64) -> u64 {
        if interface >= self.clocks.len() {
            self.clocks.resize(interface + 1, Clock::default());
        }
        let clock = &mut self.clocks[interface];
        if stamp_ns < clock.last_ns || clock.step_ns > 0 {
            self.steps = self.steps.saturating_add_signed(clock.follow(stamp_ns));
        }
        clock.last_ns = stamp_ns;
        stamp_ns.saturating_add(clock.offset_ns)
    }
}

impl Clock {
    /// Recognizes a step; returns the change of their number.
    #[cold]
    fn follow(&mut self, stamp_ns: u64) -> i64 {
        let back_ns = self.last_ns.saturating_sub(stamp_ns);
        if back_ns >= MIN_STEP_NS {
            self.offset_ns = self.offset_ns.saturating_add(back_ns);
            self.step_ns = back_ns;
            self.before_step_ns = self.last_ns;
            return 1;
        }
        // Back where it was before: these packets were out of order.
        let ahead_ns = stamp_ns.saturating_sub(self.last_ns);
        if self.step_ns > 0 && stamp_ns >= self.before_step_ns && ahead_ns >= self.step_ns / 2 {
            self.offset_ns = self.offset_ns.saturating_sub(self.step_ns);
            self.step_ns = 0;
            return -1;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn corrected(stamps_ms: &[u64]) -> (Vec<u64>, u64) {
        let mut clocks = Clocks::default();
        let times = stamps_ms.iter().map(|ms| clocks.correct(0, ms * MS) / MS);
        let times = times.collect();
        (times, clocks.steps)
    }

    #[test]
    fn after_a_step_back_time_goes_on() {
        let (times, steps) = corrected(&[5_000, 5_010, 3_010, 3_020, 5_100]);
        assert_eq!(times, [5_000, 5_010, 5_010, 5_020, 5_100]);
        assert_eq!(steps, 0, "the packets in between were out of order");
        let (times, steps) = corrected(&[5_000, 5_010, 3_010, 3_020, 3_040]);
        assert_eq!(times, [5_000, 5_010, 5_010, 5_020, 5_040]);
        assert_eq!(steps, 1);
    }

    #[test]
    fn each_interface_has_its_clock() {
        let mut clocks = Clocks::default();
        let times = [(0, 9_000), (1, 100), (0, 9_001), (1, 101)]
            .map(|(interface, ms)| clocks.correct(interface, ms * MS) / MS);
        assert_eq!(times, [9_000, 100, 9_001, 101]);
        assert_eq!(clocks.steps, 0);
    }
}

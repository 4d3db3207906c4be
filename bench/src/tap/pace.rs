//! Keeps virtual time in step with the wall clock.

/// Maximum virtual time per run, so that a frame from outside waits no longer than this.
const SLICE_NS: u64 = 500_000;
/// Minimum virtual time per run: below it the thread sleeps.
const GRAIN_NS: u64 = 100_000;
/// Maximum lag that is caught up: beyond it, real programs would see a jump in time instead of a
/// slow device.
const LAG_NS: u64 = 50_000_000;

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Run the machine until `until_ns` of its time.
    Run {
        /// When to look at the clock again.
        until_ns: u64,
    },
    /// The machine is ahead: wait.
    Sleep {
        /// Duration.
        ns: u64,
    },
}

/// Compares the clocks. Pure: both times are passed in.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    slipped_ns: u64,
}

impl Pacer {
    /// Both clocks at zero.
    pub const fn new() -> Self {
        Self { slipped_ns: 0 }
    }

    /// The next action when the wall clock is at `wall_ns` and the machine's at `virtual_ns`.
    pub fn next(&mut self, wall_ns: u64, virtual_ns: u64) -> Pace {
        let due_ns = wall_ns.saturating_sub(self.slipped_ns);
        let behind_ns = due_ns.saturating_sub(virtual_ns);
        if behind_ns > LAG_NS {
            self.slipped_ns += behind_ns - LAG_NS;
        }
        if behind_ns < GRAIN_NS {
            let ahead_ns = virtual_ns.saturating_sub(due_ns);
            return Pace::Sleep {
                ns: GRAIN_NS - behind_ns + ahead_ns,
            };
        }
        Pace::Run {
            until_ns: virtual_ns + behind_ns.min(SLICE_NS),
        }
    }

    /// Time by which the machine has fallen behind permanently.
    pub const fn slipped_ns(&self) -> u64 {
        self.slipped_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that needs `cost` wall nanoseconds for 1000 of its own, for a second.
    fn run(cost: u64) -> (u64, u64, u64) {
        let (mut wall_ns, mut virtual_ns, mut furthest_ns) = (0, 0, 0);
        let mut pacer = Pacer::new();
        while wall_ns < 1_000_000_000 {
            match pacer.next(wall_ns, virtual_ns) {
                Pace::Sleep { ns } => wall_ns += ns,
                Pace::Run { until_ns } => {
                    wall_ns += (until_ns - virtual_ns) * cost / 1_000;
                    virtual_ns = until_ns;
                }
            }
            let behind_ns = (wall_ns - pacer.slipped_ns()).saturating_sub(virtual_ns);
            furthest_ns = furthest_ns.max(behind_ns);
        }
        (virtual_ns, pacer.slipped_ns(), furthest_ns)
    }

    #[test]
    fn fast_target_keeps_wall_clock_time() {
        let (virtual_ns, slipped_ns, furthest_ns) = run(300);
        assert!(
            virtual_ns.abs_diff(1_000_000_000) < 1_000_000,
            "{virtual_ns}"
        );
        assert_eq!(slipped_ns, 0);
        assert!(furthest_ns < 1_000_000, "{furthest_ns}");
    }

    #[test]
    fn slow_target_slips_by_a_known_time() {
        let (virtual_ns, slipped_ns, furthest_ns) = run(2_000);
        assert!(virtual_ns.abs_diff(500_000_000) < 2_000_000, "{virtual_ns}");
        assert!(slipped_ns.abs_diff(450_000_000) < 2_000_000, "{slipped_ns}");
        assert!(
            furthest_ns <= LAG_NS + 2 * SLICE_NS,
            "the lag is bounded, {furthest_ns}"
        );
    }

    #[test]
    fn target_that_is_ahead_waits() {
        assert_eq!(
            Pacer::new().next(1_000_000, 1_300_000),
            Pace::Sleep { ns: 400_000 }
        );
    }
}

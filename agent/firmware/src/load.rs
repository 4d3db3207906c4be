//! The CPU load.

use core::time::Duration;
use linerate_agent::Instant;
use linerate_agent::burner::Burner;

/// Rounds of a unit: about 20 us, which is the time that a frame may have to wait.
const ROUNDS: u32 = 320;
/// Units timed in one measurement, and number of measurements: the shortest one was not interrupted.
const UNITS: u32 = 16;
const TIMES: u32 = 8;

/// Creates a calibrated burner.
#[must_use]
pub fn calibrated_burner(now: impl Fn() -> Instant) -> Burner {
    let mut burner = Burner::new(ROUNDS);
    let mut shortest = Duration::MAX;
    for _ in 0..TIMES {
        let began = now();
        for _ in 0..UNITS {
            burner.unit();
        }
        shortest = shortest.min(now().since(began));
    }
    burner.calibrate(UNITS, shortest);
    burner
}

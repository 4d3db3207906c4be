//! The load for the CPU.

use core::time::Duration;

use linerate_agent::burner::{Burner, Load};

use crate::event;

/// Rounds of a unit: some 20 us, which is what a frame may have to wait.
const ROUNDS: u32 = 320;
/// Units that are timed in one go, and how often: the shortest is the one that no interrupt was in.
const UNITS: u32 = 16;
const TIMES: u32 = 8;

/// A burner that knows what its units take.
pub fn calibrated() -> Burner {
    let mut burner = Burner::new(ROUNDS);
    let mut shortest = Duration::MAX;
    for _ in 0..TIMES {
        let began = super::now();
        for _ in 0..UNITS {
            burner.unit();
        }
        shortest = shortest.min(super::now().since(began));
    }
    burner.calibrated(UNITS, shortest);
    burner
}

/// Says what was burned since the load was set.
pub fn report(burner: &Burner) {
    let burned = burner.burned(super::now());
    let (what, share) = match burned.load {
        Load::None => ("none", 0),
        Load::Share(share) => ("share", share),
        Load::Spare => ("spare", 0),
    };
    event!(
        "burned",
        "\"load\":\"{what}\",\"share_thousandths\":{share},\"burned_thousandths\":{},\
         \"span_us\":{},\"cpu_us\":{},\"missed_us\":{}",
        burned.thousandths(),
        burned.span.as_micros() as u64,
        burned.cpu.as_micros() as u64,
        burned.missed.as_micros() as u64,
    );
}

//! Random number generator of the ESP32-C6: `RNG_DATA` in the LP peripherals' block.

use super::Device;
use crate::random::Random;
use crate::time::Instant;

const RNG_DATA: u32 = 0x08;

/// A seeded generator: each read gives the next number.
#[derive(Clone, Debug)]
pub struct Rng(Random);

impl Rng {
    /// A sequence that depends on `seed` only.
    pub const fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }
}

impl Device for Rng {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        (offset == RNG_DATA).then(|| self.0.next_u64() as u32)
    }

    fn write(&mut self, offset: u32, _: u32, _: Instant) -> bool {
        offset == RNG_DATA
    }
}

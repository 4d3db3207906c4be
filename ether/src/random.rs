//! Seeded random numbers: the only source of randomness in the simulator.

/// `SplitMix64` (Steele, Lea, Flood 2014): one word of state, the same sequence on every machine.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

/// Spreads the bits of `value` over the whole word; equal values give equal results.
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Random {
    /// A sequence that depends on `seed` only.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number from zero up to, but not including, `bound` (zero for a bound of zero).
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The upper half of a 128-bit product is uniform up to bound / 2^64.
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// True in `numerator` of `denominator` cases.
    pub const fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_fixed_and_differs_by_seed() {
        let mut random = Random::new(1);
        assert_eq!(random.next_u64(), 0x910A_2DEC_8902_5CC1);
        assert_ne!(Random::new(2).next_u64(), Random::new(3).next_u64());
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut random = Random::new(7);
        let mut counts = [0; 6];
        for _ in 0..6000 {
            counts[random.below(6) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&count| (900..1100).contains(&count)),
            "{counts:?}"
        );
        assert_eq!(random.below(0), 0);
    }
}

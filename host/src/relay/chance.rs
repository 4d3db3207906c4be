//! Seeded chance. Each setting draws from a sequence of its own: which frames are lost does not change
//! when a delay is added.

use super::impairment::BurstLoss;
use linerate_ether::random::{Random, mix};

/// The sequence of one setting.
#[derive(Clone, Debug)]
pub struct Dice(Random);

impl Dice {
    /// The sequence of setting number `which` in a link with this seed.
    pub fn new(seed: u64, which: u64) -> Self {
        Self(Random::new(mix(mix(seed) ^ which.wrapping_add(1))))
    }

    /// Evenly from 0 up to, but not including, 1.
    fn unit(&mut self) -> f64 {
        // 53 bits are what a double holds.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in this share of the cases.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Evenly from `-most` to `most`.
    pub fn around(&mut self, most: u64) -> i64 {
        self.0.below(2 * most + 1) as i64 - most as i64
    }
}

/// The model of Gilbert and Elliott.
#[derive(Clone, Debug)]
pub struct Bursts {
    dice: Dice,
    is_ill: bool,
}

impl Bursts {
    pub fn new(dice: Dice) -> Self {
        Self {
            dice,
            is_ill: false,
        }
    }

    /// Whether the next frame is lost.
    pub fn loses(&mut self, burst: &BurstLoss) -> bool {
        let leaves = if self.is_ill {
            burst.leave
        } else {
            burst.enter
        };
        self.is_ill ^= self.dice.chance(leaves);
        self.dice.chance(if self.is_ill { burst.loss } else { 0.0 })
    }
}

/// Independent bit errors, by the distance from one to the next: a draw for each error, not for each
/// bit.
#[derive(Clone, Debug)]
pub struct BitErrors {
    dice: Dice,
    /// Of `ln(1 - rate)`; zero where there are no errors.
    log_right: f64,
    /// Right bits until the next error.
    until: u64,
}

impl BitErrors {
    pub fn new(dice: Dice, rate: f64) -> Self {
        let mut errors = Self {
            dice,
            log_right: (-rate).ln_1p(),
            until: 0,
        };
        errors.until = errors.distance();
        errors
    }

    /// Right bits between two errors: geometrically distributed.
    fn distance(&mut self) -> u64 {
        if self.log_right == 0.0 {
            return u64::MAX;
        }
        // 1 - unit is never zero; the conversion saturates.
        ((1.0 - self.dice.unit()).ln() / self.log_right) as u64
    }

    /// Tells of each wrong one of the next `bits` bits; how many there are.
    pub fn of(&mut self, bits: u64, mut wrong: impl FnMut(u64)) -> u64 {
        let mut count = 0;
        while self.until < bits {
            wrong(self.until);
            count += 1;
            let distance = self.distance();
            self.until = self.until.saturating_add(1).saturating_add(distance);
        }
        self.until = self.until.saturating_sub(bits);
        if self.log_right == 0.0 {
            self.until = u64::MAX;
        }
        count
    }
}

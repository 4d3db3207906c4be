//! Seeded random numbers. Each setting draws from its own sequence: adding a delay does not change
//! which frames are lost.

use super::impairment::BurstLoss;
use linerate_ether::random::{Random, mix};

/// Random sequence of one setting.
#[derive(Clone, Debug)]
pub struct RandomSequence(Random);

impl RandomSequence {
    /// Returns the sequence of setting number `setting` on a link with this seed.
    pub fn new(seed: u64, setting: u64) -> Self {
        Self(Random::new(mix(mix(seed) ^ setting.wrapping_add(1))))
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        // A double has 53 bits of precision.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub fn draw(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform from `-max` to `max`.
    pub fn symmetric(&mut self, max: u64) -> i64 {
        self.0.below(2 * max + 1) as i64 - max as i64
    }
}

/// Gilbert-Elliott loss model.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    sequence: RandomSequence,
    is_bad: bool,
}

impl GilbertElliott {
    pub fn new(sequence: RandomSequence) -> Self {
        Self {
            sequence,
            is_bad: false,
        }
    }

    /// True if the next frame is lost.
    pub fn next_is_lost(&mut self, burst: &BurstLoss) -> bool {
        let leaves = if self.is_bad {
            burst.leave
        } else {
            burst.enter
        };
        self.is_bad ^= self.sequence.draw(leaves);
        self.sequence
            .draw(if self.is_bad { burst.loss } else { 0.0 })
    }
}

/// Independent bit errors, drawn as the distance from one error to the next: one draw for each error,
/// not for each bit.
#[derive(Clone, Debug)]
pub struct BitErrors {
    sequence: RandomSequence,
    /// `ln(1 - rate)`; zero if there are no errors.
    ln_correct: f64,
    /// Correct bits before the next error.
    until_error: u64,
}

impl BitErrors {
    pub fn new(sequence: RandomSequence, rate: f64) -> Self {
        let mut errors = Self {
            sequence,
            ln_correct: (-rate).ln_1p(),
            until_error: 0,
        };
        errors.until_error = errors.distance();
        errors
    }

    /// Correct bits between two errors: geometrically distributed.
    fn distance(&mut self) -> u64 {
        if self.ln_correct == 0.0 {
            return u64::MAX;
        }
        // 1 - unit is never zero; the cast saturates.
        ((1.0 - self.sequence.unit()).ln() / self.ln_correct) as u64
    }

    /// Calls `on_error` with the position of each error in the next `bits` bits; returns their number.
    pub fn advance(&mut self, bits: u64, mut on_error: impl FnMut(u64)) -> u64 {
        let mut count = 0;
        while self.until_error < bits {
            on_error(self.until_error);
            count += 1;
            let distance = self.distance();
            self.until_error = self.until_error.saturating_add(1).saturating_add(distance);
        }
        self.until_error = self.until_error.saturating_sub(bits);
        if self.ln_correct == 0.0 {
            self.until_error = u64::MAX;
        }
        count
    }
}

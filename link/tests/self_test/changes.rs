//! Changes of a link and their labels: drawn from fixed ranges by their seed.

use linerate_ether::random::Random;

/// Changes of each label, and links without a change.
pub const EACH: u64 = 8;

/// The name that the self-test has to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Nothing,
    BaudError,
    AddedLatency,
    ErrorRate,
    InterruptLoad,
}

pub const LABELS: [Label; 5] = [
    Label::Nothing,
    Label::BaudError,
    Label::AddedLatency,
    Label::ErrorRate,
    Label::InterruptLoad,
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    Nothing,
    /// The divisor of the sender of line `line`: 1.5% to 4.5% too fast or too slow.
    Divisor {
        line: usize,
        error: f64,
    },
    /// The clock of end `end`, that of its bit rate and of its time stamps: 1.5% to 4.5%.
    Clock {
        end: usize,
        error: f64,
    },
    /// 0.5 ms to 20 ms more in one line, or in both.
    Latency {
        ns: [u64; 2],
    },
    /// Wrong bits in line `line`: 2e-5 to 5e-4 of all; before, it has 1e-6.
    BitErrors {
        line: usize,
        rate: f64,
    },
    /// The program of end `end` is held up for 0.3 ms to 2 ms at random times, 10% to 50% of the time.
    Load {
        end: usize,
        hold_ns: u64,
        permille: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    pub seed: u64,
    pub label: Label,
    pub change: Change,
    /// Time of the change within its period, per mille.
    pub at_permille: u64,
    /// The peer has a self-test of its own, too, not only a responder.
    pub is_mutual: bool,
}

/// Uniform in the logarithm.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    let uniform = random.below(1 << 32) as f64 / f64::from(u32::MAX);
    low * (high / low).powf(uniform)
}

pub fn scenario(label: Label, number: u64) -> Scenario {
    let seed = 1000 * (label as u64 + 1) + number;
    let random = &mut Random::new(seed);
    let side = random.below(2) as usize;
    let sign = if random.chance(1, 2) { 1.0 } else { -1.0 };
    let change = match label {
        Label::Nothing => Change::Nothing,
        Label::BaudError => {
            let error = sign * between(random, 0.015, 0.045);
            if number.is_multiple_of(2) {
                Change::Divisor { line: side, error }
            } else {
                Change::Clock { end: side, error }
            }
        }
        Label::AddedLatency => {
            let ns = between(random, 0.5e6, 20e6) as u64;
            let mut both = [ns; 2];
            if number.is_multiple_of(2) {
                both[side] = 0;
            }
            Change::Latency { ns: both }
        }
        Label::ErrorRate => Change::BitErrors {
            line: side,
            rate: between(random, 2e-5, 5e-4),
        },
        Label::InterruptLoad => Change::Load {
            end: side,
            hold_ns: between(random, 0.3e6, 2e6) as u64,
            permille: between(random, 100.0, 500.0) as u64,
        },
    };
    Scenario {
        seed,
        label,
        change,
        at_permille: random.below(1000),
        is_mutual: random.chance(1, 2),
    }
}

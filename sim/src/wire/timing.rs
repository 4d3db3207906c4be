//! Where edges lie: the transmitter's clock, what the line adds to each edge, and noise.

use super::config::{Flap, Impairments};
use crate::random::mix;
use crate::time::{Instant, Span, TICKS_PER_NS};

/// Ticks of a nominal half-bit (50 ns).
pub const HALF_BIT_TICKS: u64 = 600;
/// Fraction bits of a period.
pub const FRACTION: u32 = 20;
/// How far an edge may lie from its place: less than half a half-bit, so that edges keep their
/// order.
const MOST_DISPLACEMENT: u64 = HALF_BIT_TICKS / 2 - 6;

const TICKS_PER_S: f64 = 1e9 * TICKS_PER_NS as f64;

fn ticks(ns: f64, most: u64) -> u64 {
    // A number that is negative, or none, becomes 0.
    ((ns * TICKS_PER_NS as f64) as u64).min(most)
}

/// The clock of a transmitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineClock {
    ppm: f64,
    drift_ppm_per_s: f64,
    bound_ppm: f64,
}

impl LineClock {
    /// The clock that `impairments` speaks of.
    #[must_use]
    pub fn new(impairments: &Impairments) -> Self {
        // Limits that keep edges in order, far beyond what a standard allows.
        let sane = |value: f64| {
            if value.is_finite() {
                value.clamp(-100_000.0, 100_000.0)
            } else {
                0.0
            }
        };
        Self {
            ppm: sane(impairments.clock_ppm),
            drift_ppm_per_s: sane(impairments.drift_ppm_per_s),
            bound_ppm: sane(impairments.drift_bound_ppm()),
        }
    }

    /// How much faster it runs at `at` than it should, parts per million.
    #[must_use]
    pub fn offset_ppm(&self, at: Instant) -> f64 {
        if self.drift_ppm_per_s == 0.0 {
            return self.ppm;
        }
        let gone = self.drift_ppm_per_s * (at.ticks() as f64 / TICKS_PER_S);
        // Folded at the bounds: up and down again.
        let round = 4.0 * self.bound_ppm;
        let along = (self.ppm + self.bound_ppm + gone).rem_euclid(round);
        along.min(round - along) - self.bound_ppm
    }

    /// Ticks of a half-bit of what is sent from `at` on, with [`FRACTION`] fraction bits.
    #[must_use]
    pub fn period(&self, at: Instant) -> u64 {
        let nominal = (HALF_BIT_TICKS << FRACTION) as f64;
        (nominal - nominal * self.offset_ppm(at) / 1e6) as u64
    }
}

/// How long `count` half-bits of `period` take.
#[must_use]
pub const fn half_bits(period: u64, count: u64) -> Span {
    Span::from_ticks((count * period) >> FRACTION)
}

/// What the line does to the place of each edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displacement {
    /// To either side.
    jitter: u64,
    /// Of a rising edge; a falling one moves the other way.
    rising: i64,
    seed: u64,
}

impl Displacement {
    /// What `impairments` speaks of.
    #[must_use]
    pub fn new(impairments: &Impairments, seed: u64) -> Self {
        let distortion = impairments.duty_cycle_distortion_ns / 2.0;
        let half = ticks(distortion.abs(), MOST_DISPLACEMENT);
        Self {
            jitter: ticks(impairments.jitter_ns, MOST_DISPLACEMENT - half),
            rising: if distortion > 0.0 {
                -(half as i64)
            } else {
                half as i64
            },
            seed,
        }
    }

    /// Every edge is in its place.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.jitter == 0 && self.rising == 0
    }

    /// The farthest that an edge can be from its place.
    #[must_use]
    pub const fn bound(&self) -> u64 {
        self.jitter + self.rising.unsigned_abs()
    }

    /// How much later a transmission starts than its sender thinks, so that its phase is any and no
    /// edge comes before the sender's start. `id` tells transmissions apart.
    #[must_use]
    pub const fn delay(&self, start: u64, id: u64) -> u64 {
        if self.is_none() {
            return 0;
        }
        self.bound() + mix(self.seed ^ mix(start ^ id << 32)) % HALF_BIT_TICKS
    }

    /// Sixteen random bits for each of four edges, numbers `4 * four` and on, of the transmission
    /// that began at `start`.
    #[must_use]
    pub const fn random(&self, start: u64, four: u64) -> u64 {
        mix(self.seed ^ start.rotate_left(24) ^ four.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Where the edge at `place` comes to lie. `random` has 16 random bits.
    #[must_use]
    pub const fn displace(&self, place: u64, rising: bool, random: u64) -> u64 {
        let jitter = ((random & 0xFFFF) * (2 * self.jitter + 1)) >> 16;
        let distortion = if rising { self.rising } else { -self.rising };
        (place + jitter).saturating_add_signed(distortion) - self.jitter
    }

    /// Where the edge with number `index` of the transmission that began at `start` comes to lie.
    #[must_use]
    pub const fn edge(&self, start: u64, index: u64, place: u64, rising: bool) -> u64 {
        if self.is_none() {
            return place;
        }
        let random = self.random(start, index / 4) >> (index % 4 * 16);
        self.displace(place, rising, random)
    }
}

/// Pulses that are nobody's, one at a random place in each stretch of `every` ticks. Where they are
/// follows from the seed alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoisePulses {
    every: u64,
    width: u64,
    seed: u64,
    flap: Flap,
}

impl NoisePulses {
    /// What `impairments` speaks of; `None` for a quiet line.
    #[must_use]
    pub fn new(impairments: &Impairments, seed: u64) -> Option<Self> {
        let noise = impairments.noise;
        let rate = noise.pulses_per_s.min(1e6);
        // Not a number is no noise.
        if rate.is_nan() || rate <= 0.0 {
            return None;
        }
        let every = (TICKS_PER_S / rate) as u64;
        let width = ticks(noise.width_ns, every / 2);
        (width > 0).then_some(Self {
            every,
            width,
            seed,
            flap: impairments.flap,
        })
    }

    /// From one pulse to the next on average, ticks.
    #[must_use]
    pub const fn every(&self) -> u64 {
        self.every
    }

    /// Pulse `number`, from and to; none while the cable is out.
    const fn pulse(&self, number: u64) -> Option<(u64, u64)> {
        let place = mix(self.seed ^ mix(number)) % (self.every - self.width);
        let from = number.saturating_mul(self.every) + place;
        if self.flap.is_down(Instant::from_ticks(from)) {
            return None;
        }
        Some((from, from + self.width))
    }

    /// Whether a pulse is under way at `at`.
    #[must_use]
    pub fn is_on(&self, at: u64) -> bool {
        self.pulse(at / self.every)
            .is_some_and(|(from, to)| (from..to).contains(&at))
    }

    /// The first time after `after` at which a pulse begins or ends, unless the cable is out for
    /// long.
    #[must_use]
    pub fn next_edge(&self, after: u64) -> u64 {
        let first = after / self.every;
        // A cable that is out has no noise; looking farther than this is not worth it.
        (first..first + 1000)
            .filter_map(|number| self.pulse(number))
            .flat_map(|(from, to)| [from, to])
            .find(|&edge| edge > after)
            .unwrap_or(u64::MAX)
    }

    /// Whether any pulse is under way between `from` and `to`.
    #[must_use]
    pub fn meets(&self, from: Instant, to: Instant) -> bool {
        let (from, to) = (from.ticks(), to.ticks());
        (from / self.every..=to / self.every)
            .filter_map(|number| self.pulse(number))
            .any(|(begins, ends)| begins < to && ends > from)
    }
}

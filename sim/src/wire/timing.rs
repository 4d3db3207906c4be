//! Timing of edges: the transmitter's clock, the line's displacement of edges, and noise.

use super::config::{Flap, Impairments};
use crate::random::mix;
use crate::time::{Instant, Span, TICKS_PER_NS};

/// Ticks of a nominal half-bit (50 ns).
pub const HALF_BIT_TICKS: u64 = 600;
/// Fraction bits of a period.
pub const FRACTION: u32 = 20;
/// Maximum displacement of an edge: less than half a half-bit, so that edges keep their order.
const MAX_DISPLACEMENT: u64 = HALF_BIT_TICKS / 2 - 6;

const TICKS_PER_S: f64 = 1e9 * TICKS_PER_NS as f64;

fn ticks(ns: f64, most: u64) -> u64 {
    // A negative number or NaN becomes 0.
    ((ns * TICKS_PER_NS as f64) as u64).min(most)
}

/// A transmitter's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineClock {
    ppm: f64,
    drift_ppm_per_s: f64,
    bound_ppm: f64,
}

impl LineClock {
    /// The clock described by `impairments`.
    #[must_use]
    pub fn new(impairments: &Impairments) -> Self {
        // Limits that keep edges in order, far beyond those of the standard.
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

    /// Offset at `at`, parts per million; positive is faster.
    #[must_use]
    pub fn offset_ppm(&self, at: Instant) -> f64 {
        if self.drift_ppm_per_s == 0.0 {
            return self.ppm;
        }
        let gone = self.drift_ppm_per_s * (at.ticks() as f64 / TICKS_PER_S);
        // Reflected at the bounds: up and down again.
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

/// Duration of `count` half-bits of `period`.
#[must_use]
pub const fn half_bits(period: u64, count: u64) -> Span {
    Span::from_ticks((count * period) >> FRACTION)
}

/// Displacement of edges by the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displacement {
    /// Maximum to either side.
    jitter: u64,
    /// Of a rising edge; a falling one moves the other way.
    rising: i64,
    seed: u64,
}

impl Displacement {
    /// The displacement described by `impairments`.
    #[must_use]
    pub fn new(impairments: &Impairments, seed: u64) -> Self {
        let distortion = impairments.duty_cycle_distortion_ns / 2.0;
        let half = ticks(distortion.abs(), MAX_DISPLACEMENT);
        Self {
            jitter: ticks(impairments.jitter_ns, MAX_DISPLACEMENT - half),
            rising: if distortion > 0.0 {
                -(half as i64)
            } else {
                half as i64
            },
            seed,
        }
    }

    /// True if no edge is displaced.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.jitter == 0 && self.rising == 0
    }

    /// Maximum distance of an edge from its nominal position.
    #[must_use]
    pub const fn bound(&self) -> u64 {
        self.jitter + self.rising.unsigned_abs()
    }

    /// Delay of a transmission's start, so that its phase is random and no edge precedes the sender's
    /// start. `id` distinguishes transmissions.
    #[must_use]
    pub const fn delay(&self, start: u64, id: u64) -> u64 {
        if self.is_zero() {
            return 0;
        }
        self.bound() + mix(self.seed ^ mix(start ^ id << 32)) % HALF_BIT_TICKS
    }

    /// Sixteen random bits for each of four edges, from number `4 * four` on, of the transmission
    /// that began at `start`.
    #[must_use]
    pub const fn random(&self, start: u64, four: u64) -> u64 {
        mix(self.seed ^ start.rotate_left(24) ^ four.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Displaced position of the edge at `place`. `random` has 16 random bits.
    #[must_use]
    pub const fn displace(&self, place: u64, rising: bool, random: u64) -> u64 {
        let jitter = ((random & 0xFFFF) * (2 * self.jitter + 1)) >> 16;
        let distortion = if rising { self.rising } else { -self.rising };
        (place + jitter).saturating_add_signed(distortion) - self.jitter
    }

    /// Displaced position of edge number `index` of the transmission that began at `start`.
    #[must_use]
    pub const fn edge(&self, start: u64, index: u64, place: u64, rising: bool) -> u64 {
        if self.is_zero() {
            return place;
        }
        let random = self.random(start, index / 4) >> (index % 4 * 16);
        self.displace(place, rising, random)
    }
}

/// Noise pulses, one at a random position in each interval of `interval` ticks. The positions depend
/// on the seed only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoisePulses {
    interval: u64,
    width: u64,
    seed: u64,
    flap: Flap,
}

impl NoisePulses {
    /// The noise described by `impairments`; `None` for a quiet line.
    #[must_use]
    pub fn new(impairments: &Impairments, seed: u64) -> Option<Self> {
        let noise = impairments.noise;
        let rate = noise.pulses_per_s.min(1e6);
        // NaN means no noise.
        if rate.is_nan() || rate <= 0.0 {
            return None;
        }
        let interval = (TICKS_PER_S / rate) as u64;
        let width = ticks(noise.width_ns, interval / 2);
        (width > 0).then_some(Self {
            interval,
            width,
            seed,
            flap: impairments.flap,
        })
    }

    /// Mean interval of pulses, ticks.
    #[must_use]
    pub const fn interval(&self) -> u64 {
        self.interval
    }

    /// Start and end of pulse `number`; none while the cable is unplugged.
    const fn pulse(&self, number: u64) -> Option<(u64, u64)> {
        let place = mix(self.seed ^ mix(number)) % (self.interval - self.width);
        let from = number.saturating_mul(self.interval) + place;
        if self.flap.is_down(Instant::from_ticks(from)) {
            return None;
        }
        Some((from, from + self.width))
    }

    /// True if there is a pulse at `at`.
    #[must_use]
    pub fn is_on(&self, at: u64) -> bool {
        self.pulse(at / self.interval)
            .is_some_and(|(from, to)| (from..to).contains(&at))
    }

    /// First time after `after` at which a pulse begins or ends, unless the cable is unplugged for
    /// long.
    #[must_use]
    pub fn next_edge(&self, after: u64) -> u64 {
        let first = after / self.interval;
        // An unplugged cable has no noise; the search is limited to 1000 pulses.
        (first..first + 1000)
            .filter_map(|number| self.pulse(number))
            .flat_map(|(from, to)| [from, to])
            .find(|&edge| edge > after)
            .unwrap_or(u64::MAX)
    }

    /// True if there is any pulse between `from` and `to`.
    #[must_use]
    pub fn overlaps(&self, from: Instant, to: Instant) -> bool {
        let (from, to) = (from.ticks(), to.ticks());
        (from / self.interval..=to / self.interval)
            .filter_map(|number| self.pulse(number))
            .any(|(begins, ends)| begins < to && ends > from)
    }
}

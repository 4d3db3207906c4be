//! Virtual time, in ticks that are a divisor of every clock period of the bench.
//!
//! A tick is 1/12 ns (12 GHz), so the periods of 160 MHz (75 ticks), 150 MHz (80), 125 MHz (96), 20
//! MHz (600) and a nanosecond (12) are whole numbers. A `u64` of ticks lasts 48 years.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Ticks in a second.
pub const TICKS_PER_SECOND: u64 = 12_000_000_000;
/// Ticks in a nanosecond.
pub const TICKS_PER_NS: u64 = 12;

/// A point in virtual time, counted from power-on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A duration of virtual time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Instant {
    /// Power-on.
    pub const ZERO: Self = Self(0);
    /// A time that is never reached: the deadline when nothing is scheduled.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ticks` after power-on.
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// The instant `ns` nanoseconds after power-on.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * TICKS_PER_NS)
    }

    /// Ticks since power-on.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds since power-on, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / TICKS_PER_NS
    }

    /// Seconds since power-on.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero duration.
    pub const ZERO: Self = Self(0);

    /// A span of `ticks`.
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * TICKS_PER_NS)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self::from_ns(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self::from_us(ms * 1_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self::from_ms(s * 1_000)
    }

    /// The span in ticks.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / TICKS_PER_NS
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(
            f,
            "{}.{:02} ns",
            self.as_ns(),
            self.0 % TICKS_PER_NS * 100 / TICKS_PER_NS
        )
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Instant(self.0), f)
    }
}

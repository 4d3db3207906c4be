//! Points in time. Spans are nanoseconds inside of this crate: 64 bits take half of what a `Duration` takes,
//! in memory and in code.

use core::time::Duration;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A span in nanoseconds, or as many as there are.
#[inline(never)]
pub(crate) const fn ns(span: Duration) -> u64 {
    if span.as_secs() > u64::MAX / SECOND {
        return u64::MAX;
    }
    (span.as_secs() * SECOND).saturating_add(span.subsec_nanos() as u64)
}

/// So many nanoseconds.
#[inline(never)]
pub(crate) const fn span(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// A point in time, in nanoseconds on a clock that runs forward, whatever its zero is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// Later than anything that happens.
    pub(crate) const NEVER: Self = Self::from_ns(u64::MAX);

    /// So many nanoseconds after the clock's zero.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds since the clock's zero.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.ns
    }

    /// What has passed since `earlier`; nothing if that is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        span(self.ns_since(earlier))
    }

    /// The same in nanoseconds.
    #[inline(never)]
    pub(crate) const fn ns_since(self, earlier: Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }

    /// `span` later, or the last point there is.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        self.after_ns(ns(span))
    }

    /// So many nanoseconds later, or the last point there is.
    #[inline(never)]
    pub(crate) const fn after_ns(self, ns: u64) -> Self {
        Self::from_ns(self.ns.saturating_add(ns))
    }

    /// The earlier one.
    #[inline(never)]
    pub(crate) fn or(self, other: Self) -> Self {
        self.min(other)
    }

    /// It, unless it is never.
    pub(crate) fn ever(self) -> Option<Self> {
        (self != Self::NEVER).then_some(self)
    }

    /// A time that was written as seconds and microseconds.
    pub(crate) const fn from_seconds_and_micros(seconds: u32, micros: u32) -> Self {
        Self::from_ns(seconds as u64 * SECOND + micros as u64 * 1_000)
    }

    /// Seconds and microseconds, as most protocols here write a time: both wrap with their fields.
    #[must_use]
    pub const fn to_seconds_and_micros(self) -> (u32, u32) {
        ((self.ns / SECOND) as u32, (self.ns % SECOND / 1_000) as u32)
    }
}

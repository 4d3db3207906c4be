//! Points in time. Inside this crate, durations are nanoseconds in 64 bits: half the size of a `Duration`, in
//! memory and in code.

use core::time::Duration;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of a duration; saturates.
#[inline(never)]
pub(crate) const fn ns(span: Duration) -> u64 {
    if span.as_secs() > u64::MAX / SECOND {
        return u64::MAX;
    }
    (span.as_secs() * SECOND).saturating_add(span.subsec_nanos() as u64)
}

/// Duration of `ns` nanoseconds.
#[inline(never)]
pub(crate) const fn span(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// A point in time, in nanoseconds on a monotonic clock with an arbitrary zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// Later than any event.
    pub(crate) const NEVER: Self = Self::from_ns(u64::MAX);

    /// The time `ns` nanoseconds after the clock's zero.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds since the clock's zero.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.ns
    }

    /// Duration since `earlier`; zero if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        span(self.ns_since(earlier))
    }

    /// Nanoseconds since `earlier`; zero if that is later.
    #[inline(never)]
    pub(crate) const fn ns_since(self, earlier: Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }

    /// The time `span` later; saturates.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        self.after_ns(ns(span))
    }

    /// The time `ns` nanoseconds later; saturates.
    #[inline(never)]
    pub(crate) const fn after_ns(self, ns: u64) -> Self {
        Self::from_ns(self.ns.saturating_add(ns))
    }

    /// The earlier of the two.
    #[inline(never)]
    pub(crate) fn earlier(self, other: Self) -> Self {
        self.min(other)
    }

    /// `None` for [`NEVER`](Self::NEVER).
    pub(crate) fn finite(self) -> Option<Self> {
        (self != Self::NEVER).then_some(self)
    }

    /// Converts seconds and microseconds.
    pub(crate) const fn from_seconds_and_micros(seconds: u32, micros: u32) -> Self {
        Self::from_ns(seconds as u64 * SECOND + micros as u64 * 1_000)
    }

    /// Converts to seconds and microseconds, the common wire format here; both wrap with their fields.
    #[must_use]
    pub const fn to_seconds_and_micros(self) -> (u32, u32) {
        ((self.ns / SECOND) as u32, (self.ns % SECOND / 1_000) as u32)
    }
}

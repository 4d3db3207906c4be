use core::time::Duration;

/// A point in time, in nanoseconds on a clock that runs forward, whatever its zero is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant {
    ns: u64,
}

impl Instant {
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
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }

    /// `span` later, or the last point there is.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        let ns = span.as_nanos();
        if ns > u64::MAX as u128 {
            return Self::from_ns(u64::MAX);
        }
        Self::from_ns(self.ns.saturating_add(ns as u64))
    }

    /// Seconds and microseconds, as most protocols here write a time: both wrap with their fields.
    #[must_use]
    pub const fn to_seconds_and_micros(self) -> (u32, u32) {
        (
            (self.ns / 1_000_000_000) as u32,
            (self.ns % 1_000_000_000 / 1_000) as u32,
        )
    }
}

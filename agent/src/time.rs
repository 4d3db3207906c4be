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

/// Duration of `ns` nanoseconds. By words of 32 bits, whose division takes a few instructions.
#[inline(never)]
pub(crate) const fn span(ns: u64) -> Duration {
    /// 2^32 ns are 4 s and this many nanoseconds; as a fraction of a second, in units of 2^-32.
    const BEYOND_NS: u64 = (1 << 32) - 4 * SECOND;
    const BEYOND: u64 = (BEYOND_NS << 32) / SECOND;
    let (high, low) = (ns >> 32, ns as u32);
    let mut seconds = 4 * high + ((high * BEYOND) >> 32) + (low / SECOND as u32) as u64;
    // At most two seconds too few: three numbers were rounded towards zero.
    let mut rest = low.wrapping_sub((seconds as u32).wrapping_mul(SECOND as u32));
    while rest >= SECOND as u32 {
        rest -= SECOND as u32;
        seconds += 1;
    }
    Duration::new(seconds, rest)
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
        let span = span(self.ns);
        (span.as_secs() as u32, span.subsec_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::{Instant, SECOND, span};
    use core::time::Duration;
    use proptest::prelude::*;

    #[test]
    fn spans_at_the_limits_of_seconds_and_words_are_exact() {
        let words = [1, 2, 3, 1 << 20, u64::from(u32::MAX)].map(|high| high << 32);
        let seconds = [1, 4, 5, 1_700_000_000, 4_294_967_295, 18_446_744_073].map(|at| at * SECOND);
        for at in words.into_iter().chain(seconds).chain([0, u64::MAX]) {
            for ns in [at.wrapping_sub(1), at, at.wrapping_add(1), at | 0xffff_ffff] {
                assert_eq!(span(ns), Duration::from_nanos(ns), "{ns}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_span_is_a_duration(ns: u64, shift in 0..64) {
            let ns = ns >> shift;
            prop_assert_eq!(span(ns), Duration::from_nanos(ns));
            let (seconds, micros) = Instant::from_ns(ns).to_seconds_and_micros();
            prop_assert_eq!(seconds, (ns / SECOND) as u32);
            prop_assert_eq!(u64::from(micros), ns % SECOND / 1_000);
        }
    }
}

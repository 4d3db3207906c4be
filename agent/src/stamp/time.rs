//! Timestamps and their error estimates.

use core::time::Duration;

use crate::{Instant, span};

/// Seconds from the NTP epoch (1900) to the Unix epoch (RFC 5905 section 6).
const NTP_TO_UNIX_S: u64 = 2_208_988_800;
const NS_PER_S: u64 = 1_000_000_000;

/// Timestamp format (RFC 8762 section 4.2.1, the bit Z).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Seconds and units of 2^-32 s (RFC 5905 section 6).
    Ntp,
    /// Seconds and nanoseconds: `PTPv2`, truncated (RFC 8186).
    Ptp,
}

/// Error estimate of a clock, sent behind each timestamp (RFC 4656 section 4.1.2, RFC 8186).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEstimate {
    /// S: the clock is synchronised to UTC by an external source.
    pub synchronised: bool,
    /// Z: the timestamp format.
    pub format: Format,
    /// A power of two, 6 bits.
    pub scale: u8,
    /// Never 0.
    pub multiplier: u8,
}

impl ErrorEstimate {
    /// Error estimate of an NTP timestamp with an error of at most `bound`: the smallest encodable value that
    /// is not less.
    #[must_use]
    pub fn of(bound: Duration, synchronised: bool) -> Self {
        // In 2^-32 s; values above 2^31 s are clamped.
        let seconds = bound.as_secs().min(1 << 31);
        let mut units = (seconds << 32) + fraction(bound);
        let mut scale = 0;
        while units > 255 {
            units = units.div_ceil(2);
            scale += 1;
        }
        Self {
            synchronised,
            format: Format::Ntp,
            scale,
            multiplier: units.max(1) as u8,
        }
    }

    /// Maximum error of the clock: multiplier * 2^-32 * 2^scale seconds.
    #[must_use]
    pub fn bound(self) -> Duration {
        let units = u128::from(self.multiplier) << self.scale;
        let ns = (units * u128::from(NS_PER_S)).div_ceil(1 << 32);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Decodes the field. `None` if its multiplier is 0, which marks it as invalid.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Option<Self> {
        let [upper, multiplier] = bits.to_be_bytes();
        if multiplier == 0 {
            return None;
        }
        Some(Self {
            synchronised: upper & 0x80 != 0,
            format: if upper & 0x40 != 0 {
                Format::Ptp
            } else {
                Format::Ntp
            },
            scale: upper & 0x3f,
            multiplier,
        })
    }

    /// Encodes the field.
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        let s = (self.synchronised as u8) << 7;
        let z = (matches!(self.format, Format::Ptp) as u8) << 6;
        u16::from_be_bytes([s | z | self.scale & 0x3f, self.multiplier])
    }
}

/// Maps the device's time to timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Nanoseconds since 1900 at the device's time zero.
    zero_ns: u64,
    error: ErrorEstimate,
}

impl Clock {
    /// A free-running clock since the device's start; `resolution` is its error over a round trip.
    #[must_use]
    pub fn free(resolution: Duration) -> Self {
        Self {
            // A timestamp of 0 means "unknown" (RFC 5905 section 6).
            zero_ns: NS_PER_S,
            error: ErrorEstimate::of(resolution, false),
        }
    }

    /// A clock synchronised to UTC within `error`; at its zero the Unix time was `unix_ns`.
    #[must_use]
    pub fn synchronised(unix_ns: u64, error: Duration) -> Self {
        Self {
            zero_ns: unix_ns.wrapping_add(NTP_TO_UNIX_S * NS_PER_S),
            error: ErrorEstimate::of(error, true),
        }
    }

    /// Error estimate of the clock.
    #[must_use]
    pub const fn error(&self) -> ErrorEstimate {
        self.error
    }

    /// Timestamp of a point in time.
    #[inline(never)]
    pub(super) const fn stamp(&self, at: Instant) -> u64 {
        let time = span(self.zero_ns.wrapping_add(at.ns()));
        time.as_secs() << 32 | fraction(time)
    }
}

/// Part of a time below a second, in units of 2^-32 s, rounded up.
#[inline(never)]
const fn fraction(time: Duration) -> u64 {
    /// A nanosecond is 4 units and this many of 2^-32 units, rounded down.
    const BEYOND: u64 = (((1 << 32) - 4 * NS_PER_S) << 32) / NS_PER_S;
    let ns = time.subsec_nanos() as u64;
    // Three too few at most, as two numbers were rounded down. The compiler turns an open loop into a division.
    let mut units = 4 * ns + ((ns * BEYOND) >> 32);
    let mut left = 3;
    while left > 0 {
        if units * NS_PER_S < ns << 32 {
            units += 1;
        }
        left -= 1;
    }
    units
}

/// Nanoseconds of a timestamp since the start of its era.
pub(super) const fn ns(stamp: u64, format: Format) -> u64 {
    let (seconds, fraction) = (stamp >> 32, stamp & 0xffff_ffff);
    let fraction = match format {
        Format::Ntp => (fraction * NS_PER_S) >> 32,
        Format::Ptp => fraction,
    };
    seconds * NS_PER_S + fraction
}

/// Nanoseconds from `earlier` to `later`, which may be in the next era of 2^32 seconds.
pub(super) const fn between(earlier: u64, later: u64) -> i64 {
    const ERA: i128 = (1 << 32) * NS_PER_S as i128;
    let span = later as i128 - earlier as i128;
    let span = if span > ERA / 2 {
        span - ERA
    } else if span < -ERA / 2 {
        span + ERA
    } else {
        span
    };
    span as i64
}

#[cfg(test)]
mod tests {
    use super::{Clock, ErrorEstimate, Format, between, ns};
    use crate::Instant;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn the_zero_of_unix_is_seventy_years_after_that_of_ntp() {
        let clock = Clock::synchronised(0, Duration::from_micros(1));
        assert_eq!(
            clock.stamp(Instant::from_ns(500_000_000)),
            0x83AA_7E80_8000_0000
        );
    }

    #[test]
    fn a_span_over_the_end_of_an_era_is_short() {
        let before = ns(0xffff_ffff_0000_0000, Format::Ntp);
        assert_eq!(between(before, ns(0, Format::Ntp)), 1_000_000_000);
        assert_eq!(between(ns(0, Format::Ntp), before), -1_000_000_000);
    }

    proptest! {
        #[test]
        fn a_timestamp_keeps_its_nanosecond(at in 0..1_u64 << 61) {
            let clock = Clock::free(Duration::from_nanos(1));
            let read = ns(clock.stamp(Instant::from_ns(at)), Format::Ntp);
            prop_assert_eq!(read, (at + 1_000_000_000) % ((1 << 32) * 1_000_000_000));
        }

        #[test]
        fn an_error_is_never_stated_too_small(bound in 0..1_u64 << 62) {
            let bound = Duration::from_nanos(bound).min(Duration::from_secs(1 << 31));
            let error = ErrorEstimate::of(bound, true);
            prop_assert!(error.multiplier > 0);
            prop_assert!(error.bound() >= bound);
            // And at most 1 / 127 too large, plus a nanosecond.
            prop_assert!(error.bound() <= bound + bound / 127 + Duration::from_nanos(1));
        }

        #[test]
        fn the_field_is_read_as_written(bits: u16) {
            let read = ErrorEstimate::from_bits(bits).map(ErrorEstimate::to_bits);
            prop_assert_eq!(read, (bits & 0xff != 0).then_some(bits));
        }

        #[test]
        fn no_timestamps_overflow(one: u64, other: u64) {
            for format in [Format::Ntp, Format::Ptp] {
                let span = between(ns(one, format), ns(other, format));
                prop_assert!(span.unsigned_abs() < 1 << 62);
            }
        }
    }
}

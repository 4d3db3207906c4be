//! When the next datagram is due.

use crate::Instant;

/// A constant rate, kept by absolute deadlines: what is sent late does not move what follows, and no
/// rounding accumulates.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    rate_bits_per_s: u64,
    due: Instant,
    /// What of `due` lies behind whole nanoseconds, in 1 / rate of one.
    rest: u64,
}

impl Pace {
    /// Begins at `now` with a datagram, followed by others at `rate_bits_per_s`; 0 = as fast as it
    /// goes.
    #[must_use]
    pub const fn new(rate_bits_per_s: u64, now: Instant) -> Self {
        Self {
            rate_bits_per_s,
            due: now,
            rest: 0,
        }
    }

    /// When the next datagram is due.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// The same, of what waits for nothing but its rate: never without one.
    pub(crate) const fn timer(&self) -> Instant {
        if self.rate_bits_per_s == 0 {
            return Instant::NEVER;
        }
        self.due
    }

    /// A datagram of so many octets, as the rate counts them, was sent.
    pub fn sent(&mut self, octets: usize) {
        if self.rate_bits_per_s == 0 {
            return;
        }
        // Up to a gigaoctet at once this needs no more than 64 bits, whose division is small.
        let octets = octets.min(1 << 30) as u64;
        let span = (octets * 8 * 1_000_000_000).saturating_add(self.rest);
        self.rest = span % self.rate_bits_per_s;
        self.due = self.due.after_ns(span / self.rate_bits_per_s);
    }
}

/// Whether what is due waits for room on its connection. No timer brings that, so that the driver is not to
/// be woken for it, or it would be at once and for ever. Time may pass between its giving room and its
/// looking: what was due at two looks, in different turns, had its chance between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// There is some, as far as is known.
    Some,
    /// Something was due at the last look.
    Asked,
    /// And another turn has begun.
    AskedBefore,
    /// And still it was.
    Awaited,
}

impl Room {
    /// The driver begins another turn.
    pub(crate) const fn turn(&mut self) {
        if matches!(self, Self::Asked) {
            *self = Self::AskedBefore;
        }
    }

    /// The driver has given what room it has in this turn.
    pub(crate) fn look(&mut self, is_due: bool) {
        *self = match *self {
            _ if !is_due => Self::Some,
            Self::Some => Self::Asked,
            Self::AskedBefore => Self::Awaited,
            as_it_was => as_it_was,
        };
    }
}

/// Says that a look has changed what becomes of a connection: the driver may have asked about that before,
/// and is to take another turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Again {
    at: Instant,
    has_turned: bool,
}

impl Again {
    pub(crate) const fn new() -> Self {
        Self {
            at: Instant::NEVER,
            has_turned: false,
        }
    }

    /// The driver begins another turn.
    pub(crate) const fn turn(&mut self) {
        self.has_turned = true;
    }

    /// The driver has asked what becomes of the connection, or will.
    pub(crate) fn look(&mut self, has_changed: bool, now: Instant) {
        if has_changed {
            *self = Self {
                at: now,
                has_turned: false,
            };
        } else if self.has_turned {
            self.at = Instant::NEVER;
        }
    }

    /// When to take it.
    pub(crate) const fn at(&self) -> Instant {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::Instant;

    /// 1470 octets at 7 bit/s more than a megabit: no whole number of nanoseconds apart.
    #[test]
    fn a_million_datagrams_later_nothing_was_rounded_away() {
        let rate = 1_000_007;
        let mut pace = Pace::new(rate, Instant::from_ns(5));
        for _ in 0..1_000_000 {
            pace.sent(1470);
        }
        let exact = 1_000_000 * 1470 * 8 * 1_000_000_000_u128 / u128::from(rate);
        assert_eq!(u128::from(pace.due().ns()), exact + 5);
    }

    #[test]
    fn without_a_rate_everything_is_due() {
        let mut pace = Pace::new(0, Instant::from_ns(5));
        pace.sent(1470);
        assert_eq!(pace.due(), Instant::from_ns(5));
    }
}

//! Send times at a constant rate.

use crate::Instant;

/// A constant rate, kept by absolute deadlines: a late datagram does not delay the following ones, and no
/// rounding error accumulates.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    rate_bits_per_s: u64,
    due: Instant,
    /// Fraction of `due` below a nanosecond, in units of 1 / rate ns.
    rest: u64,
}

impl Pace {
    /// Creates a pace whose first datagram is due at `now`, the others at `rate_bits_per_s`; 0 = as fast as
    /// possible.
    #[must_use]
    pub const fn new(rate_bits_per_s: u64, now: Instant) -> Self {
        Self {
            rate_bits_per_s,
            due: now,
            rest: 0,
        }
    }

    /// Time when the next datagram is due.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// As [`due`](Self::due) for a sender limited only by its rate: never, without a rate.
    pub(crate) const fn timer(&self) -> Instant {
        if self.rate_bits_per_s == 0 {
            return Instant::NEVER;
        }
        self.due
    }

    /// Records that a datagram of `octets` octets, as the rate counts them, was sent.
    pub fn sent(&mut self, octets: usize) {
        if self.rate_bits_per_s == 0 {
            return;
        }
        // Up to a gigaoctet at once this needs 64 bits only, whose division is cheap.
        let octets = octets.min(1 << 30) as u64;
        let span = (octets * 8 * 1_000_000_000).saturating_add(self.rest);
        self.rest = span % self.rate_bits_per_s;
        self.due = self.due.after_ns(span / self.rate_bits_per_s);
    }
}

/// Tracks whether due data wait for space on the connection. No timer ends that wait, so the driver must not
/// be woken for it, or it would be woken at once and forever. Time may pass between the driver's offering
/// space and the check: data that were due at two checks in different turns had an opportunity in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendSpace {
    /// Space is available, as far as is known.
    Available,
    /// Data were due at the last check.
    Due,
    /// Data were due at the last check, and another turn has begun.
    DueLastTurn,
    /// Data were still due: waiting for space.
    Blocked,
}

impl SendSpace {
    /// The driver begins another turn.
    pub(crate) const fn turn(&mut self) {
        if matches!(self, Self::Due) {
            *self = Self::DueLastTurn;
        }
    }

    /// Called when the driver has offered all its space in this turn.
    pub(crate) fn check(&mut self, is_due: bool) {
        *self = match *self {
            _ if !is_due => Self::Available,
            Self::Available => Self::Due,
            Self::DueLastTurn => Self::Blocked,
            unchanged => unchanged,
        };
    }
}

/// Requests another turn because a check has changed a connection's close state, which the driver may have
/// read before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnRequest {
    at: Instant,
    has_turned: bool,
}

impl TurnRequest {
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

    /// Called when the driver has read the close state, or is about to.
    pub(crate) fn check(&mut self, has_changed: bool, now: Instant) {
        if has_changed {
            *self = Self {
                at: now,
                has_turned: false,
            };
        } else if self.has_turned {
            self.at = Instant::NEVER;
        }
    }

    /// Time of the next turn; `NEVER` if none is requested.
    pub(crate) const fn at(&self) -> Instant {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::Instant;

    /// 1470 octets at 7 bit/s more than a megabit: not a whole number of nanoseconds apart.
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

//! Send times at a constant rate.

use crate::Instant;
use crate::octets::divide;

/// A constant rate, kept by absolute deadlines: a late datagram does not delay the following ones, and no
/// rounding error accumulates.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    rate_bits_per_s: u64,
    due: Instant,
    /// Fraction of `due` below a nanosecond, in units of 1 / rate ns.
    rest: u64,
    /// Size of the last datagram in octets, and its time: most have the same, so few take a division.
    octets: u32,
    step_ns: u64,
    /// In units of 1 / rate ns.
    step_rest: u64,
}

impl Pace {
    /// Creates a pace whose first datagram is due at `now`, the others at `rate_bits_per_s`; 0 = as fast as
    /// possible.
    #[must_use]
    pub const fn new(rate_bits_per_s: u64, now: Instant) -> Self {
        Self {
            // Two fractions below it must not overflow.
            rate_bits_per_s: if rate_bits_per_s > u64::MAX / 2 {
                u64::MAX / 2
            } else {
                rate_bits_per_s
            },
            due: now,
            rest: 0,
            octets: 0,
            step_ns: 0,
            step_rest: 0,
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
        // Up to a gigaoctet at once this needs 64 bits only.
        let octets = octets.min(1 << 30) as u32;
        if octets != self.octets {
            self.octets = octets;
            self.step_ns = u64::from(octets) * 8_000_000_000;
            self.step_rest = divide(&mut self.step_ns, self.rate_bits_per_s);
        }
        self.rest += self.step_rest;
        let carry = self.rest >= self.rate_bits_per_s;
        if carry {
            self.rest -= self.rate_bits_per_s;
        }
        self.due = self.due.after_ns(self.step_ns + u64::from(carry));
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnRequest {
    None,
    /// Another turn is to begin.
    Open,
    /// It has begun.
    Met,
}

impl TurnRequest {
    /// The driver begins another turn.
    pub(crate) fn turn(&mut self) {
        if *self == Self::Open {
            *self = Self::Met;
        }
    }

    /// Called when the driver has read the close state, or is about to.
    pub(crate) fn check(&mut self, has_changed: bool) {
        if has_changed {
            *self = Self::Open;
        } else if *self == Self::Met {
            *self = Self::None;
        }
    }

    /// Time of the next turn: at once, or `NEVER` if none is requested.
    pub(crate) fn at(self) -> Instant {
        match self {
            Self::None => Instant::NEVER,
            _ => Instant::from_ns(0),
        }
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
    fn datagrams_of_changing_sizes_and_extreme_rates_keep_the_rate() {
        for rate in [1, 7, 1_000_007, 10_000_000_000, u64::MAX / 2] {
            let mut pace = Pace::new(rate, Instant::from_ns(0));
            let mut octets = 0;
            for size in [1, 1470, 1470, 0, 64, 1470, 1 << 20] {
                pace.sent(size);
                octets += size as u128;
            }
            let exact = octets * 8 * 1_000_000_000 / u128::from(rate);
            assert_eq!(u128::from(pace.due().ns()), exact, "{rate}");
        }
        let mut pace = Pace::new(u64::MAX, Instant::from_ns(0));
        pace.sent(1);
        pace.sent(1 << 40);
        assert_eq!(pace.due(), Instant::from_ns(0));
    }

    #[test]
    fn without_a_rate_everything_is_due() {
        let mut pace = Pace::new(0, Instant::from_ns(5));
        pace.sent(1470);
        assert_eq!(pace.due(), Instant::from_ns(5));
    }
}

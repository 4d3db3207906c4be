//! The time to wait for an acknowledgment, from measured round trips: as in RFC 6298, but with the
//! greatest recent deviation instead of a mean one, and without the floor of a second.

/// Longest time-out.
pub(crate) const MAX_TIMEOUT_US: u32 = 2_000_000;

/// Times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct RoundTrip {
    /// Smoothed round trip; 0 before the first.
    smoothed: u32,
    variation: u32,
}

impl RoundTrip {
    /// Adds a measurement: from the end of a frame that was sent once to the end of its acknowledgment.
    pub(crate) fn add(&mut self, us: u32) {
        let us = us.clamp(1, MAX_TIMEOUT_US);
        if self.smoothed == 0 {
            self.smoothed = us;
            self.variation = us / 2;
            return;
        }
        let deviation = us.abs_diff(self.smoothed);
        // Up at once, down slowly: acknowledgments of urgent channels come sooner than others, and many in a row must
        // not make the next other one look late.
        self.variation = deviation.max(self.variation - self.variation / 16);
        self.smoothed = self.smoothed - self.smoothed / 8 + us / 8;
    }

    pub(crate) const fn smoothed_us(self) -> u32 {
        self.smoothed
    }

    /// Time-out, at least `min`; `initial` before the first measurement.
    pub(crate) fn timeout_us(self, initial: u32, min: u32) -> u32 {
        if self.smoothed == 0 {
            return initial;
        }
        let timeout = self.smoothed + 4 * self.variation;
        timeout.max(min).min(MAX_TIMEOUT_US)
    }
}

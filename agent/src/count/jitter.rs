/// Interarrival jitter as RTP defines it (RFC 3550 section 6.4.1 and A.8): a running mean of how much
/// the transit time differs from one datagram to the next, with a gain of 1/16.
///
/// The clocks of sender and receiver need not agree.
#[derive(Debug, Clone, Copy)]
pub struct Jitter {
    /// Transit time of the last datagram.
    transit_ns: u64,
    /// 16 times the jitter, plus 1; 0 before the first datagram.
    scaled_ns_plus_1: u64,
}

impl Default for Jitter {
    fn default() -> Self {
        Self::new()
    }
}

impl Jitter {
    /// Nothing has arrived yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            transit_ns: 0,
            scaled_ns_plus_1: 0,
        }
    }

    /// Records a datagram with the send time `sent_ns` on the sender's clock and the arrival time
    /// `arrived_ns` on the local clock.
    pub fn arrived(&mut self, sent_ns: u64, arrived_ns: u64) {
        let transit = arrived_ns.wrapping_sub(sent_ns);
        let difference = transit.wrapping_sub(self.transit_ns) as i64;
        self.transit_ns = transit;
        let Some(scaled_ns) = self.scaled_ns_plus_1.checked_sub(1) else {
            self.scaled_ns_plus_1 = 1;
            return;
        };
        // A clock step must not spoil the mean permanently.
        let difference = difference.unsigned_abs().min(1 << 40);
        self.scaled_ns_plus_1 += difference;
        self.scaled_ns_plus_1 -= (scaled_ns + 8) / 16;
    }

    /// The jitter in nanoseconds.
    #[must_use]
    pub const fn ns(&self) -> u64 {
        self.scaled_ns_plus_1.saturating_sub(1) / 16
    }
}

#[cfg(test)]
mod tests {
    use super::Jitter;

    #[test]
    fn a_constant_transit_has_none_whatever_the_clocks_say() {
        let mut jitter = Jitter::new();
        for n in 0..100 {
            jitter.arrived(n * 1_000_000 + 77, n * 1_000_000);
        }
        assert_eq!(jitter.ns(), 0);
    }

    /// Every other datagram is 100 us late: every difference is 100 us, and so is the mean.
    #[test]
    fn alternating_transits_approach_their_difference() {
        let mut jitter = Jitter::new();
        for n in 0..1000 {
            jitter.arrived(n * 1_000_000, n * 1_000_000 + n % 2 * 100_000);
        }
        assert!((99_900..=100_000).contains(&jitter.ns()), "{}", jitter.ns());
    }

    #[test]
    fn no_time_in_a_datagram_overflows_anything() {
        let mut jitter = Jitter::new();
        for sent in [0, u64::MAX, 1, i64::MAX as u64, 1 << 63] {
            jitter.arrived(sent, 5);
        }
        assert!(jitter.ns() <= 1 << 40);
    }
}

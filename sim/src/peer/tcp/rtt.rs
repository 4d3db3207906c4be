//! Round-trip time and retransmission timeout as in Linux.
//!
//! RFC 6298 with four differences that are visible in a capture: the deviation falls more slowly than
//! it rises, its maximum within a round trip is used, and the floor of 200 ms applies to the
//! *variance*, so the timeout is never less than `srtt + 200 ms`, and it is in whole ticks of the kernel.

use super::timers::in_ticks;
use crate::time::Span;

/// Minimum of the variance term, and so of the timeout minus the smoothed round trip.
pub const RTO_MIN: Span = Span::from_ms(200);
/// Maximum timeout, backed off or not.
pub const RTO_MAX: Span = Span::from_secs(120);
/// The timeout before the first measurement (RFC 6298 section 2.1).
pub const RTO_INITIAL: Span = Span::from_secs(1);

/// The timeout after a handshake whose SYN was repeated, so that no round trip is known (RFC 6298 section 5.7).
const RTO_FALLBACK: Span = Span::from_secs(3);

/// Round-trip estimator of one connection. All times are in ticks.
#[derive(Debug, Clone)]
pub struct RttEstimator {
    /// Eight times the smoothed round trip; zero before the first measurement.
    smoothed_x8: u64,
    /// Four times the mean deviation.
    deviation_x4: u64,
    /// Four times the maximum deviation of this round trip.
    deviation_max_x4: u64,
    variance_x4: u64,
    /// Stream position that ends the round trip over which the maximum is taken.
    window_end: u64,
    min: Span,
    timeout: Span,
}

impl Default for RttEstimator {
    fn default() -> Self {
        Self {
            smoothed_x8: 0,
            deviation_x4: 0,
            deviation_max_x4: 0,
            variance_x4: 0,
            window_end: 0,
            min: Span::from_ticks(u64::MAX),
            timeout: RTO_INITIAL,
        }
    }
}

impl RttEstimator {
    /// Adds a measurement of a segment that was sent once (Karn). `acknowledged` and `next` are the
    /// first stream positions not acknowledged and not sent. Resets the back-off.
    pub fn update(&mut self, sample: Span, acknowledged: u64, next: u64) {
        let sample = sample.ticks().max(1);
        self.min = self.min.min(Span::from_ticks(sample));
        let floor = RTO_MIN.ticks();
        if self.smoothed_x8 == 0 {
            self.smoothed_x8 = sample * 8;
            self.deviation_x4 = sample * 2;
            self.variance_x4 = self.deviation_x4.max(floor);
            self.deviation_max_x4 = self.variance_x4;
            self.window_end = next;
        } else {
            let error = sample as i64 - (self.smoothed_x8 / 8) as i64;
            self.smoothed_x8 = (self.smoothed_x8 as i64 + error).max(1) as u64;
            let mut change = error.abs() - (self.deviation_x4 / 4) as i64;
            if error < 0 && change > 0 {
                // A sudden drop of the round trip must not raise the timeout.
                change /= 8;
            }
            self.deviation_x4 = (self.deviation_x4 as i64 + change).max(0) as u64;
            if self.deviation_x4 > self.deviation_max_x4 {
                self.deviation_max_x4 = self.deviation_x4;
                self.variance_x4 = self.variance_x4.max(self.deviation_max_x4);
            }
            if acknowledged > self.window_end {
                let excess = self.variance_x4.saturating_sub(self.deviation_max_x4);
                self.variance_x4 -= excess / 4;
                self.window_end = next;
                self.deviation_max_x4 = floor;
            }
        }
        let timeout = Span::from_ticks(self.smoothed_x8 / 8 + self.variance_x4);
        self.timeout = in_ticks(timeout).min(RTO_MAX);
    }

    /// The handshake gave no measurement, because its SYN was repeated.
    pub fn fall_back(&mut self) {
        self.timeout = RTO_FALLBACK;
    }

    /// Adds a round trip for the minimum only: that of the last of several segments covered by one
    /// acknowledgment, which waited less for it than the first.
    pub fn update_min(&mut self, sample: Span) {
        self.min = self.min.min(sample.max(Span::from_ticks(1)));
    }

    /// Doubles the timeout (RFC 6298 section 5.5). It stays doubled until the next measurement.
    pub fn back_off(&mut self) {
        self.timeout = Span::from_ticks(self.timeout.ticks().saturating_mul(2)).min(RTO_MAX);
    }

    /// The retransmission timeout.
    #[must_use]
    pub const fn timeout(&self) -> Span {
        self.timeout
    }

    /// The smoothed round trip, once measured.
    #[must_use]
    pub fn smoothed(&self) -> Option<Span> {
        (self.smoothed_x8 != 0).then(|| Span::from_ticks(self.smoothed_x8 / 8))
    }

    /// Minimum round trip; the greatest possible span before the first measurement.
    #[must_use]
    pub const fn min(&self) -> Span {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_the_round_trip_plus_at_least_200_ms() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(), RTO_INITIAL);
        for round in 0..50 {
            rtt.update(Span::from_ms(3), round, round + 1);
        }
        assert_eq!(rtt.smoothed(), Some(Span::from_ms(3)));
        assert_eq!(rtt.timeout(), Span::from_ms(204), "in whole ticks");
    }

    #[test]
    fn a_back_off_lasts_until_the_next_measurement() {
        let mut rtt = RttEstimator::default();
        rtt.update(Span::from_ms(10), 1, 2);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), Span::from_ms(848));
        rtt.update(Span::from_ms(10), 2, 3);
        assert_eq!(rtt.timeout(), Span::from_ms(212));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(), RTO_MAX);
    }

    #[test]
    fn variance_rises_at_once_and_falls_slowly() {
        let mut rtt = RttEstimator::default();
        rtt.update(Span::from_ms(10), 1, 2);
        rtt.update(Span::from_ms(900), 2, 3);
        let raised = rtt.timeout();
        assert!(raised > Span::from_ms(300), "{raised:?}");
        for round in 3..6 {
            rtt.update(Span::from_ms(10), round, round + 1);
        }
        assert!(rtt.timeout() > Span::from_ms(250), "{:?}", rtt.timeout());
        for round in 6..200 {
            rtt.update(Span::from_ms(10), round, round + 1);
        }
        assert!(rtt.timeout() < Span::from_ms(215), "{:?}", rtt.timeout());
    }
}

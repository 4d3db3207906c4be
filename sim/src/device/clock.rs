//! Clocks of any frequency, without drift, and the sources that several devices select.

use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Frequency of the crystal in hertz.
pub const XTAL_HZ: u64 = 40_000_000;
/// Nominal frequency of the fast RC oscillator in hertz.
pub const RC_FAST_HZ: u64 = 17_500_000;

/// A counter that runs at a rational frequency. Edges are derived from counts, never added up, so
/// that a clock whose period is no whole number of ticks keeps its long-term rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDomain {
    /// Frequency in hertz: `numerator / denominator`.
    numerator: u64,
    denominator: u64,
    /// Ticks of a period, if that is a whole number; else 0.
    whole_period: u64,
    /// When the counter was `base`.
    origin: Instant,
    base: u64,
}

impl ClockDomain {
    /// A clock of `hertz` whose counter is 0 at power-on.
    pub const fn new(hertz: u64) -> Self {
        Self::ratio(hertz, 1)
    }

    /// A clock of `numerator / denominator` hertz whose counter is 0 at power-on. A zero in either
    /// place is a stopped clock.
    pub const fn ratio(numerator: u64, denominator: u64) -> Self {
        Self {
            numerator,
            denominator,
            whole_period: whole_period(numerator, denominator),
            origin: Instant::ZERO,
            base: 0,
        }
    }

    /// Sets the counter to `count` at `now`.
    pub fn load(&mut self, count: u64, now: Instant) {
        self.origin = now;
        self.base = count;
    }

    /// Changes the frequency at `now`; the counter continues, its phase restarts.
    pub fn set_ratio(&mut self, numerator: u64, denominator: u64, now: Instant) {
        if (numerator, denominator) != (self.numerator, self.denominator) {
            self.load(self.count(now), now);
            (self.numerator, self.denominator) = (numerator, denominator);
            self.whole_period = whole_period(numerator, denominator);
        }
    }

    /// True if the clock is stopped.
    pub const fn is_stopped(&self) -> bool {
        self.numerator == 0 || self.denominator == 0
    }

    /// The counter at `now`.
    pub fn count(&self, now: Instant) -> u64 {
        if self.is_stopped() {
            return self.base;
        }
        let elapsed = now.since(self.origin).ticks();
        if let Some(counts) = elapsed.checked_div(self.whole_period) {
            return self.base + counts;
        }
        let period = u128::from(TICKS_PER_SECOND) * u128::from(self.denominator);
        self.base + (u128::from(elapsed) * u128::from(self.numerator) / period) as u64
    }

    /// The first instant at which the counter is at least `count`; [`Instant::NEVER`] if the clock
    /// is stopped below `count`.
    pub fn instant(&self, count: u64) -> Instant {
        let Some(ahead) = count.checked_sub(self.base).filter(|&ahead| ahead > 0) else {
            return self.origin;
        };
        if self.is_stopped() {
            return Instant::NEVER;
        }
        self.origin + self.span(ahead)
    }

    /// Duration of `counts` periods, rounded up to a tick.
    pub fn span(&self, counts: u64) -> Span {
        if self.is_stopped() {
            return Span::from_ticks(u64::MAX);
        }
        if self.whole_period != 0 {
            return Span::from_ticks(counts.saturating_mul(self.whole_period));
        }
        let period = u128::from(TICKS_PER_SECOND) * u128::from(self.denominator);
        let ticks = (u128::from(counts) * period).div_ceil(u128::from(self.numerator));
        Span::from_ticks(ticks.min(u128::from(u64::MAX)) as u64)
    }
}

const fn whole_period(numerator: u64, denominator: u64) -> u64 {
    let Some(period) = TICKS_PER_SECOND.checked_mul(denominator) else {
        return 0;
    };
    match (period.checked_rem(numerator), period.checked_div(numerator)) {
        (Some(0), Some(whole)) => whole,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_without_a_whole_period_keeps_its_rate() {
        let clock = ClockDomain::new(136_000);
        assert_eq!(
            clock.count(Instant::ZERO + Span::from_secs(1000)),
            136_000_000
        );
        for count in [1, 2, 3, 1000, 136_001] {
            let at = clock.instant(count);
            assert_eq!(clock.count(at), count);
            assert_eq!(clock.count(at - Span::from_ticks(1)), count - 1);
        }
    }

    #[test]
    fn a_change_of_rate_keeps_the_count() {
        let mut clock = ClockDomain::new(16_000_000);
        let at = Instant::ZERO + Span::from_us(10);
        clock.set_ratio(40_000_000, 1, at);
        assert_eq!(clock.count(at), 160);
        assert_eq!(clock.count(at + Span::from_us(1)), 200);
        assert_eq!(clock.instant(200), at + Span::from_us(1));
    }

    #[test]
    fn a_stopped_clock_never_arrives() {
        let mut clock = ClockDomain::new(0);
        clock.load(5, Instant::from_ns(9));
        assert_eq!(clock.count(Instant::from_ns(1000)), 5);
        assert_eq!(clock.instant(6), Instant::NEVER);
        assert_eq!(clock.instant(5), Instant::from_ns(9));
    }
}

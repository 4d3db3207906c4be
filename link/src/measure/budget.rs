//! The share of a link that tests may take.

use crate::time::Instant;

/// A token bucket: octets of the wire that may be sent now. It grows with the time and a share of the line's rate, up
/// to a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    octets_per_s: u32,
    permille: u16,
    burst: u32,
    /// May be negative: short messages are sent without asking, and paid for later.
    available: i32,
    /// Up to here, time was turned into octets.
    at: Instant,
    is_started: bool,
}

impl Budget {
    /// A share of a line; `burst` octets are the most that are sent at once. A share of 1000 is no limit.
    #[must_use]
    pub const fn new(octets_per_s: u32, permille: u16, burst: u32) -> Self {
        Self {
            octets_per_s,
            permille,
            burst,
            available: 0,
            at: Instant::from_us(0),
            is_started: false,
        }
    }

    /// True if `octets` may be sent now.
    pub fn allows(&mut self, now: Instant, octets: u32) -> bool {
        if self.permille >= 1000 {
            return true;
        }
        self.refill(now);
        self.available >= octets.min(self.burst) as i32
    }

    /// Counts octets that are sent.
    pub fn spend(&mut self, octets: u32) {
        if self.permille < 1000 {
            self.available = self.available.saturating_sub_unsigned(octets);
        }
    }

    fn refill(&mut self, now: Instant) {
        if !self.is_started {
            self.is_started = true;
            self.at = now;
        }
        let rate = u64::from(self.octets_per_s) * u64::from(self.permille);
        let elapsed = now.us_since(self.at);
        let octets = u64::from(elapsed) * rate / 1_000_000_000;
        if octets > 0 {
            // The rest of the time stays for the next octet.
            self.at = self.at.after_us((octets * 1_000_000_000 / rate) as u32);
            let all = i64::from(self.available) + octets as i64;
            self.available = all.min(i64::from(self.burst)) as i32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use crate::time::Instant;

    #[test]
    fn a_share_is_kept_over_any_time() {
        let mut budget = Budget::new(100_000, 50, 2_000);
        let mut sent = 0;
        for us in (0..10_000_000).step_by(37) {
            if budget.allows(Instant::from_us(us), 1_000) {
                budget.spend(1_000);
                sent += 1_000;
            }
        }
        assert!((48_000..=50_000).contains(&sent), "{sent}");
    }

    #[test]
    fn what_is_saved_is_limited_and_a_debt_is_paid() {
        let mut budget = Budget::new(100_000, 50, 2_000);
        assert!(!budget.allows(Instant::from_us(0), 1));
        let late = Instant::from_us(100_000_000);
        assert!(budget.allows(late, 2_000));
        budget.spend(3_000);
        assert!(!budget.allows(late.after_us(199_000), 1));
        assert!(budget.allows(late.after_us(201_000), 1));
    }
}

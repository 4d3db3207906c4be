//! How regularly a stream's datagrams are lost.

use linerate_results::stats;

/// Numbers in a window.
const WINDOW: u64 = 64;
/// Fewer windows may be even by chance: the variance of 16 numbers is below a quarter of its expectation once in 600
/// times (chi-squared distribution with 15 degrees of freedom).
const MIN_WINDOWS: u64 = 16;

/// Losses by windows of consecutive numbers, from the first loss on: before it, queues and buckets fill.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossWindows {
    /// The number after the current window.
    end: Option<u64>,
    /// Losses in it so far.
    lost: u64,
    windows: u64,
    sum: u64,
    squares: u64,
}

impl LossWindows {
    /// Records the datagram `number`, before which `missing` ones are missing.
    #[inline]
    pub(super) fn record(&mut self, number: u64, missing: u64) {
        let end = match self.end {
            Some(end) => end,
            None if missing == 0 => return,
            None => {
                self.end = Some(number.saturating_add(WINDOW));
                return;
            }
        };
        if number < end {
            self.lost += missing;
            return;
        }
        // A hole across the end belongs to both windows; several windows may be lost entirely.
        let after = (number - end).min(missing);
        self.close(self.lost + (missing - after));
        let entire = after / WINDOW;
        self.windows += entire;
        self.sum = self.sum.saturating_add(entire.saturating_mul(WINDOW));
        self.squares = self
            .squares
            .saturating_add(entire.saturating_mul(WINDOW * WINDOW));
        self.lost = after % WINDOW;
        let steps = (number - end) / WINDOW + 1;
        self.end = Some(end.saturating_add(steps.saturating_mul(WINDOW)));
    }

    fn close(&mut self, lost: u64) {
        let lost = lost.min(WINDOW);
        self.windows += 1;
        self.sum = self.sum.saturating_add(lost);
        self.squares = self.squares.saturating_add(lost * lost);
    }

    /// Variance of the losses per window in relation to that of independent losses (binomial distribution): 1 if each
    /// datagram is lost by chance, near 0 if a fixed share is lost, larger if losses come in groups.
    pub(super) fn dispersion(&self) -> Option<f64> {
        if self.windows < MIN_WINDOWS {
            return None;
        }
        let windows = self.windows as f64;
        let mean = self.sum as f64 / windows;
        let variance = (self.squares as f64 - windows * mean * mean) / (windows - 1.0);
        let by_chance = mean * (1.0 - mean / WINDOW as f64);
        (by_chance > 0.0).then(|| stats::ratio(variance.max(0.0), by_chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispersion(is_lost: impl Fn(u64) -> bool) -> Option<f64> {
        let (mut windows, mut missing) = (LossWindows::default(), 0);
        for number in 0..5_000 {
            if is_lost(number) {
                missing += 1;
            } else {
                windows.record(number, missing);
                missing = 0;
            }
        }
        windows.dispersion()
    }

    #[test]
    fn a_fixed_share_is_even_and_chance_is_not() {
        assert!(dispersion(|number| number % 3 == 0).is_some_and(|it| it < 0.1));
        // The mixing function of splitmix64 as the dice.
        let dice = |number: u64| {
            let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        };
        let by_chance = dispersion(|number| dice(number) % 100 < 30).expect("windows");
        assert!((0.5..1.6).contains(&by_chance), "{by_chance}");
        let grouped = dispersion(|number| number % 400 < 100).expect("windows");
        assert!(grouped > 5.0, "{grouped}");
        assert_eq!(dispersion(|_| false), None);
    }
}

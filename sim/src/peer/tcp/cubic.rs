//! The congestion window: slow start and CUBIC (RFC 9438), in integers.
//!
//! Linux's default. At the window sizes of a 10 Mbit/s link CUBIC's Reno-friendly region decides,
//! so windows grow as with Reno but fall by 30% instead of 50%. `HyStart` is left out: it does
//! nothing below 16 segments, and a microcontroller's receive window is smaller.

use crate::time::{Instant, Span};

/// Initial window (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// Window after a loss, in parts of 1000 of the window before (RFC 9438 section 4.6).
const BETA: u64 = 700;
/// `3 * (1 - beta) / (1 + beta)` in parts of 1000: Reno's rate for this beta (section 4.3).
const ALPHA: u64 = 529;
const THOUSAND: u64 = 1000;

/// Growth of a window between losses. Windows are in segments, or in thousandths where named so.
#[derive(Debug, Clone, Default)]
pub struct Cubic {
    /// The window at the last loss, in thousandths; zero before the first.
    window_max_milli: u64,
    /// What Reno's window would be.
    reno_milli: u64,
    /// Since when the window has grown without loss.
    epoch: Option<Instant>,
    /// Milliseconds from `epoch` to the plateau at `window_max_milli`.
    plateau_ms: u64,
    /// Growth not yet worth a segment, in thousandths of a segment.
    credit_milli: u64,
}

impl Cubic {
    /// A loss with `window` segments allowed: returns the new slow-start threshold.
    pub fn loss(&mut self, window: u32) -> u32 {
        let milli = u64::from(window) * THOUSAND;
        // Fast convergence (section 4.7): a window that fell before reaching its last maximum
        // makes room for others.
        self.window_max_milli = if milli < self.window_max_milli {
            milli * (THOUSAND + BETA) / (2 * THOUSAND)
        } else {
            milli
        };
        self.epoch = None;
        self.credit_milli = 0;
        ((milli * BETA / THOUSAND / THOUSAND) as u32).max(2)
    }

    /// The connection was idle until `now`: time without data does not count as growth.
    pub fn idle(&mut self) {
        self.epoch = None;
    }

    /// `acknowledged` segments arrived in congestion avoidance; returns the new window.
    pub fn avoid(&mut self, window: u32, acknowledged: u32, now: Instant, round_trip: Span) -> u32 {
        let window_milli = u64::from(window) * THOUSAND;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.reno_milli = window_milli;
            // W_cubic(K) = W_max with C = 0.4 per s^3: K = cbrt((W_max - cwnd) / C).
            let missing_milli = self.window_max_milli.saturating_sub(window_milli);
            self.window_max_milli = self.window_max_milli.max(window_milli);
            self.plateau_ms = cube_root(missing_milli * 2_500_000);
            now
        });

        let rate = if self.reno_milli >= self.window_max_milli {
            THOUSAND
        } else {
            ALPHA
        };
        self.reno_milli += rate * u64::from(acknowledged) * THOUSAND / window_milli.max(1);

        let ms = (now.since(epoch).as_ns() + round_trip.as_ns()) / 1_000_000;
        let offset = i128::from(ms) - i128::from(self.plateau_ms);
        // 0.4 segments/s^3 is 0.4e-6 thousandths/ms^3.
        let curve = i128::from(self.window_max_milli) + offset.pow(3) * 4 / 10_000_000;
        let target = (curve.max(0) as u64)
            .clamp(window_milli, window_milli * 3 / 2)
            .max(self.reno_milli);

        // (target - cwnd) / cwnd per acknowledged segment.
        self.credit_milli += target.saturating_sub(window_milli) * u64::from(acknowledged)
            / u64::from(window.max(1));
        let grown = self.credit_milli / THOUSAND;
        self.credit_milli %= THOUSAND;
        window + grown as u32
    }
}

/// The integer cube root, rounded down.
fn cube_root(value: u64) -> u64 {
    let (mut low, mut high) = (0_u64, 2_642_245);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if middle * middle * middle <= value {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for root in [0, 1, 2, 3, 999, 2_642_245_u64] {
            let cube = root.pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube.saturating_sub(1)), root.saturating_sub(1));
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_never_less_than_two() {
        let mut cubic = Cubic::default();
        assert_eq!(cubic.loss(100), 70);
        assert_eq!(cubic.loss(10), 7);
        assert_eq!(cubic.loss(1), 2);
    }

    /// Grows a window for `rounds` round trips without loss.
    fn grow(cubic: &mut Cubic, mut window: u32, rounds: u64, rtt: Span) -> Vec<u32> {
        let mut now = Instant::ZERO;
        (0..rounds)
            .map(|_| {
                now += rtt;
                window = cubic.avoid(window, window, now, rtt);
                window
            })
            .collect()
    }

    #[test]
    fn on_a_short_round_trip_it_grows_like_reno() {
        let mut cubic = Cubic::default();
        let start = cubic.loss(20);
        let windows = grow(&mut cubic, start, 40, Span::from_ms(4));
        // About half a segment a round trip up to the old maximum, then a whole one.
        assert_eq!(start, 14);
        assert!((16..=21).contains(&windows[9]), "{windows:?}");
        assert!((46..=50).contains(&windows[39]), "{windows:?}");
    }

    #[test]
    fn on_a_long_round_trip_it_stays_near_the_plateau() {
        let mut cubic = Cubic::default();
        let start = cubic.loss(1000);
        // K = cbrt(300 / 0.4) = 9.1 s: 45 round trips of 200 ms.
        let windows = grow(&mut cubic, start, 45, Span::from_ms(200));
        assert!((960..=1010).contains(&windows[44]), "{windows:?}");
        assert!(windows.is_sorted());
    }
}

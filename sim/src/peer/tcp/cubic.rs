//! The congestion window: slow start and CUBIC (RFC 9438), in whole segments as Linux counts them.
//!
//! Linux's default. At the window sizes of a 10 Mbit/s link CUBIC's Reno-friendly region applies,
//! so windows grow as with Reno but fall by 30% instead of 50%. `HyStart` is omitted: it does
//! nothing below 16 segments, and a microcontroller's receive window is smaller.
//!
//! Linux deviates from the RFC in ways that are visible at windows of two or three segments: growth is
//! counted in whole segments, Reno's rate stays that of the reduced window, and a timeout resets all
//! state.

use super::credit::Credit;
use crate::time::{Instant, Span};

/// Initial window (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// Window after a loss, in parts of 1000 of the window before (RFC 9438 section 4.6).
const BETA: u64 = 700;
const THOUSAND: u64 = 1000;
/// Acknowledged segments per segment of window, in eighths, after which Reno's window would grow by
/// one: `(1 + beta) / (3 * (1 - beta))` (section 4.3).
const W_EST_EIGHTHS: u32 = 15;
/// A computed growth rate is valid this long, unless the window changes.
const RATE_LIFETIME: Span = Span::from_us(31_250);
/// Minimum number of acknowledged segments per segment of growth: at most 1.5 times the window per
/// round trip.
const MIN_ACKS_PER_SEGMENT: u32 = 2;
/// Maximum before the first loss: growth of at least 5% per round trip.
const MAX_ACKS_BEFORE_LOSS: u32 = 20;

/// Growth of a window between losses. Windows are in segments.
#[derive(Debug, Clone, Default)]
pub struct Cubic {
    /// The window at the last loss; zero before the first and after a timeout.
    w_max: u32,
    /// Start of the current growth without loss.
    epoch: Option<Instant>,
    /// Milliseconds from `epoch` to the plateau.
    k_ms: u64,
    /// The window at the plateau.
    plateau: u32,
    /// Reno's estimated window, and the acknowledged segments not yet counted in it.
    w_est: u32,
    w_est_credit: u32,
    /// Acknowledged segments not yet turned into growth.
    credit: Credit,
    /// Time and window for which `acks_per_segment` was computed.
    rate_valid_for: Option<(Instant, u32)>,
    acks_per_segment: u32,
}

impl Cubic {
    /// A loss with `window` segments allowed: returns the new slow-start threshold.
    pub fn on_loss(&mut self, window: u32) -> u32 {
        // Fast convergence (section 4.7): a window that fell before reaching its last maximum
        // makes room for others.
        self.w_max = if window < self.w_max {
            (u64::from(window) * (THOUSAND + BETA) / (2 * THOUSAND)) as u32
        } else {
            window
        };
        self.epoch = None;
        ((u64::from(window) * BETA / THOUSAND) as u32).max(2)
    }

    /// The retransmission timer expired: resets all state.
    pub fn on_timeout(&mut self) {
        *self = Self::default();
    }

    /// The connection was idle until `now`: time without data does not count as growth.
    pub fn on_idle(&mut self) {
        self.epoch = None;
    }

    /// `acknowledged` segments arrived in congestion avoidance; returns the new window.
    pub fn on_ack(
        &mut self,
        window: u32,
        acknowledged: u32,
        now: Instant,
        round_trip: Span,
    ) -> u32 {
        self.w_est_credit += acknowledged;
        let holds = |(at, then): (Instant, u32)| then == window && now.since(at) <= RATE_LIFETIME;
        if !self.rate_valid_for.is_some_and(holds) {
            self.rate_valid_for = Some((now, window));
            self.acks_per_segment =
                self.compute_acks_per_segment(window.max(1), acknowledged, now, round_trip);
        }
        let acks_per_segment = self.acks_per_segment;
        window + self.credit.add(acknowledged, acks_per_segment)
    }

    /// Number of segments that must be acknowledged to grow by one segment.
    fn compute_acks_per_segment(
        &mut self,
        window: u32,
        acknowledged: u32,
        now: Instant,
        round_trip: Span,
    ) -> u32 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_est_credit = acknowledged;
            self.w_est = window;
            self.plateau = self.w_max.max(window);
            // W_cubic(K) = W_max with C = 0.4 per s^3: K = cbrt((W_max - cwnd) / C).
            let missing = u64::from(self.plateau - window);
            self.k_ms = cube_root(missing * 2_500_000_000);
            now
        });

        let ms = (now.since(epoch).as_ns() + round_trip.as_ns()) / 1_000_000;
        let offset = i128::from(ms) - i128::from(self.k_ms);
        let target = i128::from(self.plateau) + offset.pow(3) * 4 / 10_000_000_000;
        let above = (target - i128::from(window)).clamp(0, i128::from(window)) as u32;
        let mut acks_per_segment = window.checked_div(above).unwrap_or(100 * window);
        if self.w_max == 0 {
            acks_per_segment = acks_per_segment.min(MAX_ACKS_BEFORE_LOSS);
        }

        let step = (window * W_EST_EIGHTHS / 8).max(1);
        while self.w_est_credit > step {
            self.w_est_credit -= step;
            self.w_est += 1;
        }
        if self.w_est > window {
            acks_per_segment = acks_per_segment.min(window / (self.w_est - window));
        }
        acks_per_segment.max(MIN_ACKS_PER_SEGMENT)
    }
}

/// Integer cube root, rounded down.
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
        assert_eq!(cubic.on_loss(100), 70);
        assert_eq!(cubic.on_loss(10), 7);
        assert_eq!(cubic.on_loss(1), 2);
    }

    /// Grows a window for `rounds` round trips without loss.
    fn grow(cubic: &mut Cubic, mut window: u32, rounds: u64, rtt: Span) -> Vec<u32> {
        let mut now = Instant::ZERO;
        (0..rounds)
            .map(|_| {
                now += rtt;
                window = cubic.on_ack(window, window, now, rtt);
                window
            })
            .collect()
    }

    #[test]
    fn on_a_short_round_trip_it_grows_like_reno() {
        let mut cubic = Cubic::default();
        let start = cubic.on_loss(20);
        let windows = grow(&mut cubic, start, 40, Span::from_ms(40));
        // About half a segment per round trip (which is longer than `RATE_LIFETIME`).
        assert_eq!(start, 14);
        assert!((18..=20).contains(&windows[9]), "{windows:?}");
        assert!((32..=36).contains(&windows[39]), "{windows:?}");
        assert!(windows.is_sorted());
    }

    #[test]
    fn on_a_long_round_trip_it_stays_near_the_plateau() {
        let mut cubic = Cubic::default();
        let start = cubic.on_loss(1000);
        // K = cbrt(300 / 0.4) = 9.1 s: 45 round trips of 200 ms.
        let windows = grow(&mut cubic, start, 45, Span::from_ms(200));
        assert!((960..=1010).contains(&windows[44]), "{windows:?}");
        assert!(windows.is_sorted());
    }

    #[test]
    fn a_window_of_two_stays_for_the_few_segments_between_two_timeouts() {
        let mut cubic = Cubic::default();
        for second in 1..10 {
            assert_eq!(cubic.on_loss(2), 2);
            cubic.on_timeout();
            let at = Instant::ZERO + Span::from_secs(second);
            let rtt = Span::from_ms(4);
            // As in the published capture: three at once, then one, and the next is lost.
            assert_eq!(cubic.on_ack(2, 3, at, rtt), 2);
            assert_eq!(cubic.on_ack(2, 1, at + rtt, rtt), 2);
        }
    }
}

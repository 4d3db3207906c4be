//! How long a transfer would take without a cause.

use super::facts::{FlowFacts, MIN_FULL};
use linerate_capture::model::Limit;

/// Estimated time of a transfer without a cause, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeWithout {
    /// The rate of the path is known, or does not matter.
    About(u64),
    /// The path may be faster than what passed.
    AtMost(u64),
}

/// What limits a transfer when a cause is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextLimit {
    /// The rate of the path, all the time.
    Path,
    /// The congestion window, until it has grown to what the path carries.
    Growth,
    /// The same, and then the receiver's window.
    Window,
}

impl TimeWithout {
    /// Nanoseconds.
    pub(super) fn ns(self) -> u64 {
        match self {
            Self::About(ns) | Self::AtMost(ns) => ns,
        }
    }

    /// The same as a bound.
    pub(super) fn at_most(self) -> Self {
        Self::AtMost(self.ns())
    }

    /// The time of both.
    pub(super) fn plus(self, other: Self) -> Self {
        let ns = self.ns() + other.ns();
        match (self, other) {
            (Self::About(_), Self::About(_)) => Self::About(ns),
            _ => Self::AtMost(ns),
        }
    }
}

/// A sender that paces its segments spaces them at up to twice the rate of its window (Linux: `tcp_pacing_ss_ratio`, 200%),
/// and clocks deviate.
const PACED: f64 = 2.2;
/// Without a window or a wait, a transfer is this many times faster at most: beyond three doublings of its window, other
/// limits that did not show (buffers, queues, processors) come first, and only a bound is given.
const MOST_EXTRAPOLATED: u64 = 8;
/// The largest initial window in common use, in segments (RFC 6928 section 2).
const MOST_INITIAL: u64 = 10;

impl FlowFacts<'_> {
    /// Active time without `share` of it, but at least what all payload takes on the path: near the receiver, that is part
    /// of the rest, elsewhere of what is taken away. `None` if the rate of the path is unknown and would decide.
    pub(super) fn time_without(&self, share: f64, next: NextLimit) -> Option<TimeWithout> {
        let rest_ns = self.active_ns as f64 * (1.0 - share);
        let at = |rate: f64| {
            let least_ns = match next {
                NextLimit::Path => self.bytes() as f64 * 1e9 / rate,
                NextLimit::Growth => self.growing_ns(rate),
                NextLimit::Window => {
                    self.growing_ns(self.window_rate().map_or(rate, |it| it.min(rate)))
                }
            };
            let least_ns = if next == NextLimit::Growth {
                least_ns + self.blocked_ns() as f64
            } else {
                least_ns
            };
            (rest_ns.max(least_ns) as u64).min(self.active_ns)
        };
        // Segments of a window that was always full may be apart because their sender paces them.
        let was_full = self.model.is_queued && self.share(Limit::PathRate) >= MIN_FULL;
        let is_paced = |rate: &f64| *rate < PACED * self.goodput();
        let rate = self.path_rate();
        if let Some(rate) = rate.filter(|it| next == NextLimit::Path || was_full || !is_paced(it)) {
            let without_ns = at(rate);
            let is_far = without_ns.saturating_mul(MOST_EXTRAPOLATED) < self.active_ns;
            return Some(if next != NextLimit::Path && !was_full && is_far {
                TimeWithout::AtMost(without_ns)
            } else {
                TimeWithout::About(without_ns)
            });
        }
        let without_ns = at(self.fastest()?);
        Some(if without_ns as f64 <= rest_ns {
            TimeWithout::About(without_ns)
        } else {
            TimeWithout::AtMost(without_ns)
        })
    }

    /// Time that all payload takes at this rate if nothing but the congestion window delays its beginning: it doubles in
    /// each round trip (RFC 3465 section 2.2, also where each second segment is acknowledged), from what was in flight, but
    /// from [`MOST_INITIAL`] at most.
    fn growing_ns(&self, rate: f64) -> f64 {
        let rtt_ns = self.model.base_rtt_ns().unwrap_or(0) as f64;
        // As the sender saw it: near the receiver, hardly anything is unacknowledged.
        let most = self.model.flights().into_iter().max().unwrap_or(0);
        let mut window = most.clamp(self.full, MOST_INITIAL * self.full) as f64;
        let (mut rest, mut ns) = (self.bytes() as f64, 0.0);
        while rest > window && window * 1e9 < rate * rtt_ns {
            rest -= window;
            ns += rtt_ns;
            window *= 2.0;
        }
        ns + rest * 1e9 / rate
    }

    /// Time in which nothing is sent, whatever the receiver's window: it stays, and what passes takes its time beside it.
    fn blocked_ns(&self) -> u64 {
        let limits = [Limit::Timeout, Limit::SenderIdle, Limit::ClosedWindow];
        limits.iter().map(|limit| self.model.time_ns(*limit)).sum()
    }

    /// Rate that the largest window permits, octets per second, if the round trip is known.
    fn window_rate(&self) -> Option<f64> {
        let rtt_ns = self.model.round_trip_ns().filter(|ns| *ns > 0)?;
        Some(self.model.largest_window() as f64 * 1e9 / rtt_ns as f64)
    }
}

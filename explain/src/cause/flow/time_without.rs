//! How long a transfer would take without a cause.

use super::facts::{FlowFacts, MIN_FULL};
use linerate_capture::model::{Limit, Span, WindowScale};

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
    /// The same, which does not show where the pace of a program that reads does.
    Reader,
    /// What passes in the rest of the time: messages, which hardly use the path.
    Rest,
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
/// How fast a window grows depends on its first size, on `HyStart` (RFC 9406) and on paces that do not show: where that takes a
/// third of the time, only a bound is given.
const MOST_GROWING: f64 = 1.5;
/// A window of a fixed buffer varies by less.
const GROWN: u64 = 2;
/// A full link sets the distance of most segments, which differs from its rate on average by less: clocks and hosts jitter.
const SPACED: f64 = 1.3;

impl FlowFacts<'_> {
    /// Active time without `share` of it, but at least what all payload takes on the path: near the receiver, that is part
    /// of the rest, elsewhere of what is taken away. `None` if the rate of the path is unknown and would decide.
    pub(super) fn time_without(&self, share: f64, next: NextLimit) -> Option<TimeWithout> {
        let rest_ns = self.active_ns as f64 * (1.0 - share);
        // Least time at a rate of the path, and true if it is a bound because the window grows for too much of it.
        let least_ns = |rate: f64| {
            let rate = match next {
                NextLimit::Window => self.window_rate().map_or(rate, |it| it.min(rate)),
                _ => rate,
            };
            let passing_ns = self.bytes() as f64 * 1e9 / rate;
            let (least_ns, grows) = match next {
                NextLimit::Growth | NextLimit::Window => self.growing_ns(rate, passing_ns),
                _ => (passing_ns, false),
            };
            let blocked_ns = match next {
                NextLimit::Growth => self.blocked_ns() as f64,
                _ => 0.0,
            };
            (least_ns + blocked_ns, grows)
        };
        let at = |rate: f64| {
            let (least_ns, grows) = least_ns(rate);
            let without_ns = (rest_ns.max(least_ns) as u64).min(self.active_ns);
            (without_ns, least_ns > rest_ns, grows)
        };
        // Segments of a window that was always full may be apart because their sender paces them.
        let was_full = self.model.is_queued && self.share(Limit::PathRate) >= MIN_FULL;
        let is_paced = |rate: &f64| *rate < PACED * self.goodput();
        let is_plain = matches!(next, NextLimit::Path | NextLimit::Rest);
        let rate = self.path_rate();
        if let Some(rate) = rate.filter(|it| is_plain || was_full || !is_paced(it)) {
            let (without_ns, decides, grows) = at(rate);
            let is_far = without_ns.saturating_mul(MOST_EXTRAPOLATED) < self.active_ns
                && matches!(next, NextLimit::Growth | NextLimit::Window);
            let is_of_window = next == NextLimit::Window
                && decides
                && self.window_rate().is_some_and(|it| it < rate);
            let is_bound = if was_full {
                decides && !self.is_spaced()
            } else {
                is_far || is_of_window && !self.is_fixed_window()
            };
            return Some(if is_bound || decides && grows {
                TimeWithout::AtMost(without_ns)
            } else {
                TimeWithout::About(without_ns)
            });
        }
        let (without_ns, decides, _) = at(self.fastest()?);
        Some(if decides && next != NextLimit::Rest {
            TimeWithout::AtMost(without_ns)
        } else {
            TimeWithout::About(without_ns)
        })
    }

    /// True if segments stand at the distance that a link with the fastest rate sets, or pass at that rate all the time: otherwise, it may
    /// be the rate of a window.
    fn is_spaced(&self) -> bool {
        let Some(fastest) = self.fastest() else {
            return false;
        };
        let train = self.model.train.map(|train| train.bytes_per_s);
        train.is_some_and(|train| train <= SPACED * fastest) || fastest <= SPACED * self.goodput()
    }

    /// Time that all payload takes at this rate, `passing_ns` beside what delays its beginning: the congestion window doubles in
    /// each round trip (RFC 3465 section 2.2, also where each second segment is acknowledged), from what was in flight, but
    /// from [`MOST_INITIAL`] at most. It has grown where the capture begins late. Also true if it grows for so long that the
    /// time is a bound.
    fn growing_ns(&self, rate: f64, passing_ns: f64) -> (f64, bool) {
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
        let grown_ns = ns + rest * 1e9 / rate;
        let is_bound = grown_ns >= MOST_GROWING * passing_ns;
        if self.begins_late() && !is_bound {
            (passing_ns, false)
        } else {
            (grown_ns, is_bound)
        }
    }

    /// Time in which nothing is sent, whatever the receiver's window: it stays, and what passes takes its time beside it.
    fn blocked_ns(&self) -> u64 {
        let model = &self.model;
        // Near the receiver, segments of one window arrive at the distance of a link, and all of them within a round trip.
        let burst_ns = model.base_rtt_ns().filter(|_| model.is_near_receiver());
        let is_burst = |span: &Span| {
            span.limit == Limit::SenderIdle && burst_ns.is_some_and(|ns| span.ns() < ns)
        };
        let limits = [Limit::Timeout, Limit::SenderIdle, Limit::ClosedWindow];
        let blocked = model
            .spans
            .iter()
            .filter(|span| limits.contains(&span.limit));
        blocked.filter(|span| !is_burst(span)).map(Span::ns).sum()
    }

    /// True if the largest window is known, and that of a buffer of some size. One that has grown with what arrived would grow further
    /// (Linux: `tcp_moderate_rcvbuf`).
    fn is_fixed_window(&self) -> bool {
        let (WindowScale::Known(shift) | WindowScale::Inferred(shift)) = self.model.scale else {
            return false;
        };
        let first = self.model.view.acks.first();
        let first = first.map_or(0, |ack| u64::from(ack.window) << shift);
        self.model.largest_window() < GROWN * first
    }

    /// Rate that the largest window permits, octets per second, if the round trip is known.
    fn window_rate(&self) -> Option<f64> {
        let rtt_ns = self.model.round_trip_ns().filter(|ns| *ns > 0)?;
        Some(self.model.largest_window() as f64 * 1e9 / rtt_ns as f64)
    }
}

//! The sender's timer: retransmission, tail-loss probe, reordering, window probe.

use super::Kernel;
use super::rtt::{RTO_INITIAL, RTO_MAX, RTO_MIN};
use super::sender::{CongestionState, Forced, Sender};
use crate::time::{Instant, Span};

/// A tick of the host's kernel: 250 Hz, a usual setting. All its timers count in ticks.
pub(super) const TICK: Span = Span::from_ms(4);

/// Margin that Linux adds to a tail-loss probe's two round trips and to the wait for reordered
/// segments: two ticks in the older versions, 2 ms in the newer.
pub(super) const fn margin(kernel: Kernel) -> Span {
    match kernel {
        Kernel::Before6_10 => Span::from_ms(8),
        Kernel::Since6_10 => Span::from_ms(2),
    }
}

/// Each level of the kernel's timers has one eighth of the resolution of the level below, ...
const LEVEL_FACTOR: u64 = 8;
/// ... and the finest, of one tick, serves timers of fewer ticks than this.
const LEVEL_TICKS: u64 = 63;

/// `span` rounded up to whole ticks.
pub(super) const fn in_ticks(span: Span) -> Span {
    Span::from_ticks(span.ticks().div_ceil(TICK.ticks()) * TICK.ticks())
}

/// Time at which a kernel timer runs that was set at `now` to expire at `at`: never early, and late by up to one eighth
/// of the wait. The kernel counts whole ticks from the last one, and keeps long timers with a coarser resolution.
pub(super) const fn kernel_expiry(now: Instant, at: Instant) -> Instant {
    let tick = TICK.ticks();
    let wait = at.since(now).ticks().div_ceil(tick);
    let expires = now.ticks() / tick + wait;
    let (mut resolution, mut level_ends) = (1, LEVEL_TICKS);
    while wait >= level_ends {
        resolution *= LEVEL_FACTOR;
        level_ends *= LEVEL_FACTOR;
    }
    Instant::from_ticks((expires / resolution + 1) * resolution * tick)
}

/// Purpose of a sender's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The retransmission timeout (RFC 6298).
    Retransmission,
    /// The tail-loss probe (RFC 8985 section 7).
    Probe,
    /// The end of RACK's reordering window.
    Reordering,
    /// The window probe (RFC 9293 section 3.8.6.1).
    Persist,
}

impl Sender {
    /// Time at which [`Self::on_timer`] is due.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.timer.map_or(Instant::NEVER, |(_, at)| at)
    }

    /// Handles the timer if it is due.
    pub fn on_timer(&mut self, now: Instant) {
        let Some((timer, _)) = self.timer.filter(|&(_, at)| at <= now) else {
            return;
        };
        match timer {
            Timer::Retransmission => {
                self.timer = None;
                if self.queue.is_empty() {
                    return;
                }
                self.enter_loss(now);
                self.consecutive_timeouts += 1;
                self.round_trip.back_off();
                self.forced = Some(Forced::Head);
            }
            Timer::Probe => {
                if self.recovery.tlp_end.is_some() {
                    self.arm_retransmission_timer(now);
                } else {
                    self.timer = None;
                    self.forced = Some(Forced::Probe);
                }
            }
            Timer::Reordering => {
                self.timer = None;
                self.on_reordering_timer(now);
                if self.timer.is_none() {
                    self.arm_retransmission_timer(now);
                }
            }
            Timer::Persist => {
                self.timer = None;
                self.persist_backoff += 1;
                self.forced = Some(Forced::Window);
            }
        }
    }

    pub(super) fn set_timer(&mut self, timer: Timer, at: Instant, now: Instant) {
        self.timer = Some((timer, kernel_expiry(now, at)));
    }

    /// Starts the retransmission timer, or stops it if nothing is outstanding. If it replaces a probe or
    /// reordering timer, it counts from the time the first segment was sent.
    pub(super) fn arm_retransmission_timer(&mut self, now: Instant) {
        let Some(head) = self.queue.head() else {
            self.timer = None;
            return;
        };
        let timeout = self.round_trip.timeout();
        let from = match self.timer {
            Some((Timer::Probe | Timer::Reordering, _)) => head.sent_at,
            _ => now,
        };
        let at = (from + timeout).max(now + Span::from_ms(1));
        self.set_timer(Timer::Retransmission, at, now);
    }

    /// Sets the timer for a tail-loss probe in place of the timeout, if the conditions for one are met.
    pub(super) fn schedule_probe(&mut self, after_progress: bool, now: Instant) -> bool {
        let Some(head) = self.queue.head() else {
            return false;
        };
        let calm = matches!(
            self.congestion_state,
            CongestionState::Open | CongestionState::Cwr
        );
        if !self.parameters.sack || !calm || self.queue.sacked() > 0 {
            return false;
        }
        // A lone segment's acknowledgment may be delayed by the receiver.
        let margin = if self.queue.len() == 1 {
            RTO_MIN
        } else {
            margin(self.parameters.kernel)
        };
        // Without a measured round trip, a second (RFC 8985 section 7.2).
        let probe_at = self
            .round_trip
            .smoothed()
            .map_or(now + RTO_INITIAL, |smoothed| {
                now + smoothed + smoothed + margin
            });
        let timeout = self.round_trip.timeout();
        let timeout_at = if after_progress { now } else { head.sent_at } + timeout;
        self.set_timer(
            Timer::Probe,
            if timeout_at > now {
                probe_at.min(timeout_at)
            } else {
                probe_at
            },
            now,
        );
        true
    }

    pub(super) fn arm_persist_timer(&mut self, now: Instant) {
        let base = self.round_trip.timeout().max(RTO_MIN).ticks();
        let wait = base
            .saturating_mul(1 << self.persist_backoff.min(20))
            .min(RTO_MAX.ticks());
        self.set_timer(Timer::Persist, now + Span::from_ticks(wait), now);
    }

    /// The peer's window was updated: stops the persist timer if data can be sent, and resets its
    /// back-off.
    pub(super) fn on_window_update(&mut self) {
        if matches!(self.timer, Some((Timer::Persist, _))) && self.sendable(true).is_some() {
            self.timer = None;
        }
        if self.window > 0 {
            self.persist_backoff = 0;
        }
    }
}

//! The sender of a TCP test.

use super::header::SendLimits;
use crate::Instant;
use crate::octets::zero;
use crate::pace::{Pace, SendSpace};

/// Limits and progress of a TCP sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct TcpSender {
    max_octets: u64,
    octets: u64,
    began: Instant,
    /// Time when it ends at the latest.
    until: Instant,
    /// `NEVER` before its end.
    ended: Instant,
    pace: Pace,
    space: SendSpace,
}

impl TcpSender {
    /// Creates a sender that begins at `now`.
    pub(super) const fn new(limits: SendLimits, now: Instant) -> Self {
        Self {
            max_octets: limits.octets,
            octets: 0,
            began: now,
            until: now.after_ns(limits.ns),
            ended: Instant::NEVER,
            pace: Pace::new(limits.rate_bits_per_s, now),
            space: SendSpace::Available,
        }
    }

    /// Start time.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// True if everything was written to the connection.
    pub(super) fn is_over(&self) -> bool {
        self.ended != Instant::NEVER
    }

    /// Octets so far, and their duration in nanoseconds.
    pub(super) fn sent(&self, now: Instant) -> (u64, u64) {
        (self.octets, self.ended.earlier(now).ns_since(self.began))
    }

    /// Counts octets of data written elsewhere: the request.
    pub(super) fn count(&mut self, octets: usize) {
        self.octets += octets as u64;
    }

    /// The driver begins another turn.
    pub(super) const fn turn(&mut self) {
        self.space.turn();
    }

    /// Ends it when its time is over, even without buffer space; returns true then.
    pub(super) fn step(&mut self, now: Instant) -> bool {
        self.space.check(now >= self.pace.timer());
        let ends = !self.is_over() && now >= self.until;
        if ends {
            self.ended = now;
        }
        ends
    }

    /// Time when more data are due; without a rate, the start time.
    pub(super) const fn pace_due(&self) -> Instant {
        self.pace.due()
    }

    /// Fills `buffer` with data due now.
    pub(super) fn fill(&mut self, buffer: &mut [u8], now: Instant) -> usize {
        let len = self.zeros(buffer.len(), now);
        zero(buffer, len)
    }

    /// Number of octets due now, `most` at most: zeros, which cannot be mistaken for a request.
    pub(super) fn zeros(&mut self, most: usize, now: Instant) -> usize {
        if self.is_over() || now < self.pace.due() {
            return 0;
        }
        let left = if now >= self.until {
            0
        } else {
            self.max_octets.saturating_sub(self.octets)
        };
        let len = most.min(usize::try_from(left).unwrap_or(usize::MAX));
        self.pace.sent(len);
        if len > 0 {
            self.space = SendSpace::Available;
        }
        self.octets += len as u64;
        if len as u64 == left {
            self.ended = now;
        }
        len
    }

    /// Time when more data are due or the test ends; `NEVER` if it only waits for buffer space.
    pub(super) fn due(&self) -> Instant {
        if self.is_over() {
            return Instant::NEVER;
        }
        if self.space == SendSpace::Blocked {
            return self.until;
        }
        self.until.earlier(self.pace.timer())
    }
}

//! The sender of a TCP test.

use core::time::Duration;

use super::header::SendLimits;
use crate::pace::{Pace, SendSpace, TurnRequest};
use crate::{Instant, span};

/// Limits and progress of a TCP sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct TcpSender {
    /// Maximum octets and duration.
    max_octets: u64,
    max_ns: u64,
    began: Instant,
    ended: Option<Instant>,
    pace: Pace,
    space: SendSpace,
    turn_request: TurnRequest,
    octets: u64,
}

impl TcpSender {
    /// Creates a sender that begins at `now`.
    pub(super) const fn new(limits: SendLimits, now: Instant) -> Self {
        Self {
            max_octets: limits.octets,
            max_ns: limits.ns,
            began: now,
            ended: None,
            pace: Pace::new(limits.rate_bits_per_s, now),
            space: SendSpace::Available,
            turn_request: TurnRequest::new(),
            octets: 0,
        }
    }

    /// Start time.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// True if everything was written to the connection.
    pub(super) const fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// Octets so far, and their duration.
    pub(super) fn sent(&self, now: Instant) -> (u64, Duration) {
        let ended = self.ended.unwrap_or(now);
        (self.octets, span(ended.ns_since(self.began)))
    }

    /// Counts octets of data written elsewhere: the request.
    pub(super) fn count(&mut self, octets: usize) {
        self.octets += octets as u64;
    }

    fn is_late(&self, now: Instant) -> bool {
        now.ns_since(self.began) >= self.max_ns
    }

    /// The driver begins another turn.
    pub(super) const fn turn(&mut self) {
        self.space.turn();
        self.turn_request.turn();
    }

    /// Ends it when its time is over, even without buffer space.
    pub(super) fn step(&mut self, now: Instant) {
        let ends = !self.is_over() && self.is_late(now);
        if ends {
            self.ended = Some(now);
        }
        self.turn_request.check(ends, now);
        self.space.check(now >= self.pace.timer());
    }

    /// Time when more data are due; without a rate, the start time.
    pub(super) const fn pace_due(&self) -> Instant {
        self.pace.due()
    }

    /// Fills `buffer` with data due now.
    pub(super) fn fill(&mut self, buffer: &mut [u8], now: Instant) -> usize {
        let len = self.zeros(buffer.len(), now);
        buffer[..len].fill(0);
        len
    }

    /// Number of octets due now, `most` at most: zeros, which cannot be mistaken for a request.
    pub(super) fn zeros(&mut self, most: usize, now: Instant) -> usize {
        if self.is_over() || now < self.pace.due() {
            return 0;
        }
        let left = if self.is_late(now) {
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
            self.ended = Some(now);
        }
        len
    }

    /// Time when more data are due or the test ends; `NEVER` if it only waits for buffer space.
    pub(super) fn due(&self) -> Instant {
        if self.is_over() {
            return self.turn_request.at();
        }
        let end = self.began.after_ns(self.max_ns);
        if self.space == SendSpace::Blocked {
            return end;
        }
        end.earlier(self.pace.timer())
    }
}

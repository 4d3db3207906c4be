//! The sending end of a TCP test.

use core::time::Duration;

use super::header::{Amount, Test};
use crate::Instant;
use crate::pace::{Again, Pace, Room};

/// What is sent, and how much of it has been given to the connection.
#[derive(Debug)]
pub(super) struct Sending {
    amount: Amount,
    began: Instant,
    ended: Option<Instant>,
    /// However much is to be sent: not longer.
    longest: Duration,
    /// For a test with a rate.
    pace: Option<Pace>,
    room: Room,
    again: Again,
    octets: u64,
}

impl Sending {
    /// Sends what `test` says from `now` on.
    pub(super) fn new(test: &Test, now: Instant) -> Self {
        Self {
            amount: test.amount,
            began: now,
            ended: None,
            longest: Duration::MAX,
            pace: (test.rate_bits_per_s > 0).then(|| Pace::new(test.rate_bits_per_s, now)),
            room: Room::Some,
            again: Again::default(),
            octets: 0,
        }
    }

    /// Ends it after so long at the latest.
    pub(super) const fn within(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    fn span_at_most(&self) -> Option<Duration> {
        let longest = (self.longest < Duration::MAX).then_some(self.longest);
        match self.amount {
            Amount::Octets(_) => longest,
            Amount::Span(span) => Some(span.min(self.longest)),
        }
    }

    /// When it began.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// Everything was given to the connection.
    pub(super) const fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// Octets so far, and the time that they took.
    pub(super) fn sent(&self, now: Instant) -> (u64, Duration) {
        (self.octets, self.ended.unwrap_or(now).since(self.began))
    }

    /// So many octets of the data are there already: the request.
    pub(super) fn count(&mut self, octets: usize) {
        self.octets += octets as u64;
    }

    fn is_late(&self, now: Instant) -> bool {
        let span = self.span_at_most();
        span.is_some_and(|span| now.since(self.began) >= span)
    }

    /// The driver begins another turn.
    pub(super) const fn turn(&mut self) {
        self.room.turn();
        self.again.turn();
    }

    /// Ends it when its time is over, whether there is room or not.
    pub(super) fn step(&mut self, now: Instant) {
        let ends = !self.is_over() && self.is_late(now);
        if ends {
            self.ended = Some(now);
        }
        self.again.look(ends, now);
        self.room
            .look(self.pace_due().is_some_and(|due| now >= due));
    }

    /// When more is due of what has a rate.
    pub(super) fn pace_due(&self) -> Option<Instant> {
        self.pace.map(|pace| pace.due())
    }

    /// Fills `room` with what is to be sent now: zeros, in which nobody finds a request.
    pub(super) fn fill(&mut self, room: &mut [u8], now: Instant) -> usize {
        if self.is_over() || self.pace.is_some_and(|pace| now < pace.due()) {
            return 0;
        }
        let left = match self.amount {
            _ if self.is_late(now) => 0,
            Amount::Octets(octets) => u64::from(octets).saturating_sub(self.octets),
            Amount::Span(_) => u64::MAX,
        };
        let len = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        room[..len].fill(0);
        if let Some(pace) = &mut self.pace {
            pace.sent(len);
        }
        if len > 0 {
            self.room = Room::Some;
        }
        self.octets += len as u64;
        if len as u64 == left {
            self.ended = Some(now);
        }
        len
    }

    /// When there is more to send or the end comes, if it has not: not what only waits for room.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.is_over() {
            return self.again.at();
        }
        let due = self.pace_due().filter(|_| self.room != Room::Awaited);
        let end = self.span_at_most().map(|span| self.began.after(span));
        due.into_iter().chain(end).min()
    }
}

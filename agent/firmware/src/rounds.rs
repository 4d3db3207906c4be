//! Progress of the main loop: an overloaded receiver makes none.

use crate::console::event;
use core::fmt::Write;
use core::time::Duration;
use linerate_agent::Instant;

/// Counts rounds of the main loop, and frames between two of them.
#[derive(Debug)]
pub struct Rounds {
    since: Instant,
    last: Instant,
    /// Received frames at the last round; wraps at 2^32.
    received: u32,
    count: u32,
    longest: Duration,
    max_frames: u32,
}

impl Rounds {
    /// Creates zeroed counters. `received`: frames so far, by the driver's ledger.
    #[must_use]
    pub const fn new(now: Instant, received: u32) -> Self {
        Self {
            since: now,
            last: now,
            received,
            count: 0,
            longest: Duration::ZERO,
            max_frames: 0,
        }
    }

    /// Counts a round.
    #[inline]
    pub fn count_round(&mut self, now: Instant, received: u32) {
        self.count = self.count.wrapping_add(1);
        self.update(now, received);
    }

    #[inline]
    fn update(&mut self, now: Instant, received: u32) {
        self.longest = self.longest.max(now.since(self.last));
        let frames = received.wrapping_sub(self.received);
        self.max_frames = self.max_frames.max(frames);
        (self.last, self.received) = (now, received);
    }

    /// Prints the counters, including those since the last round, and resets them.
    pub fn report(&mut self, to: &mut impl Write, now: Instant, received: u32) {
        self.update(now, received);
        let span = now.since(self.since);
        event(
            to,
            "rounds",
            format_args!(
                "\"rounds\":{},\"span_us\":{},\"longest_us\":{},\"max_frames\":{}",
                self.count,
                span.as_micros() as u64,
                self.longest.as_micros() as u64,
                self.max_frames,
            ),
        );
        *self = Self::new(now, received);
    }
}

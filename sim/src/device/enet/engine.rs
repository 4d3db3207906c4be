//! The two DMA paths and their arbiter.
//!
//! Each path alone moves data at its own rate. A burst occupies the arbiter for its duration; a change from one
//! path to the other takes a turnaround. While both wait they alternate. So the sum of both directions can be less
//! than what the receive path reaches alone (erratum ERR004512 gives 470 Mbit/s for the sum).

use super::{Parameters, RECEIVE, TRANSMIT};
use crate::time::{Instant, Span, TICKS_PER_NS, TICKS_PER_SECOND};

#[derive(Debug)]
pub(super) struct Engine {
    rates: [u64; 2],
    turnaround: Span,
    /// When the arbiter is free, and the path that it served last.
    free: Instant,
    last: usize,
    /// The last burst of each path: its start, end and octets.
    bursts: [(Instant, Instant, u32); 2],
}

impl Engine {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            rates: parameters.rates,
            turnaround: Span::from_ticks(parameters.turnaround_ns * TICKS_PER_NS),
            free: Instant::ZERO,
            last: RECEIVE,
            bursts: [(Instant::ZERO, Instant::ZERO, 0); 2],
        }
    }

    /// The earliest start of the next transfer of `port`, where `ready` has the time since which each port waits; `None`
    /// if it does not wait, or the other one is next.
    pub fn grant(&self, port: usize, ready: [Option<Instant>; 2]) -> Option<Instant> {
        let own = ready[port]?;
        let other = ready[TRANSMIT - port];
        if port != self.last {
            return Some(own.max(self.free + self.turnaround));
        }
        let start = own.max(self.free);
        // The other one waits since before this one could begin.
        (other.is_none_or(|other| other > start)).then_some(start)
    }

    /// A burst of `port` began at `from`.
    pub fn occupy(&mut self, port: usize, from: Instant, bytes: u32) {
        let ticks = u64::from(bytes) * 8 * TICKS_PER_SECOND / self.rates[port];
        self.free = from + Span::from_ticks(ticks);
        self.last = port;
        if bytes > 0 {
            self.bursts[port] = (from, self.free, bytes);
        }
    }

    /// Octets of the last burst of `port` that have not left at `now`: they leave at the path's rate.
    pub fn leaving(&self, port: usize, now: Instant) -> u32 {
        let (start, end, bytes) = self.bursts[port];
        if now >= end {
            return 0;
        }
        let left = end.since(now.max(start)).ticks() * u64::from(bytes);
        left.div_ceil(end.since(start).ticks()) as u32
    }
}

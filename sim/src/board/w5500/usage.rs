//! Use of the SPI in time: what part its clock runs, and why it does not.

use crate::pads::SpiOctets;
use crate::time::{Instant, Span};

/// Time by what the SPI does. The four add up to the time since [`Board::reset_usage`](super::Board::reset_usage).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpiTime {
    /// The clock runs.
    pub clocking: Span,
    /// Chip select is low and the clock is stopped: within a transaction.
    pub within: Span,
    /// Chip select is high although a received frame waits in the W5500: between transactions.
    pub between: Span,
    /// Chip select is high and no received frame waits.
    pub free: Span,
}

impl SpiTime {
    /// Sum of all.
    pub fn total(&self) -> Span {
        self.clocking + self.within + self.between + self.free
    }
}

/// A change of a line of the SPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpiEdge {
    /// Time of the change.
    pub at: Instant,
    /// The line.
    pub line: SpiLine,
    /// True if chip select or the interrupt becomes active, or the clock starts.
    pub active: bool,
}

/// A line of the SPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpiLine {
    /// Chip select.
    Select,
    /// The clock.
    Clock,
    /// The interrupt pin.
    Interrupt,
}

/// The account of the SPI's time.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub time: SpiTime,
    until: Instant,
    selected: bool,
    waiting: bool,
    pub transactions: u64,
    pub octets: u64,
    /// End of the last transaction, and the time from each to the next.
    released_at: Option<Instant>,
    pub gaps: Vec<Span>,
    /// Edges up to a time, if they are recorded.
    pub recorded: Option<(Instant, Vec<SpiEdge>)>,
    clock_until: Instant,
    interrupted: bool,
}

impl Usage {
    /// Starts again at `now`.
    pub fn restart(&mut self, now: Instant) {
        self.time = SpiTime::default();
        self.until = now;
        (self.transactions, self.octets) = (0, 0);
        self.released_at = None;
        self.gaps.clear();
    }

    /// Adds the time until `at` to what the SPI does without a clock.
    pub fn elapse(&mut self, at: Instant) {
        let span = at.since(self.until);
        let time = match (self.selected, self.waiting) {
            (true, _) => &mut self.time.within,
            (false, true) => &mut self.time.between,
            (false, false) => &mut self.time.free,
        };
        *time = *time + span;
        self.until = self.until.max(at);
    }

    pub fn set_waiting(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    pub fn select(&mut self, selected: bool, at: Instant) {
        if selected == self.selected {
            return;
        }
        self.elapse(at);
        self.selected = selected;
        if selected {
            self.transactions += 1;
            if let Some(released_at) = self.released_at {
                self.gaps.push(at.since(released_at));
            }
        } else {
            self.released_at = Some(at);
        }
        self.record(at, SpiLine::Select, selected);
    }

    pub fn clock(&mut self, octets: &SpiOctets<'_>) {
        self.elapse(octets.start);
        let len = octets.sent.len() as u64;
        let span = Span::from_ticks(octets.octet.ticks() * len);
        let end = octets.start + span;
        let begins = self.until.max(octets.start);
        self.time.clocking = self.time.clocking + end.since(begins);
        self.until = self.until.max(end);
        self.octets += len;
        if octets.start > self.clock_until {
            self.record(self.clock_until, SpiLine::Clock, false);
            self.record(octets.start, SpiLine::Clock, true);
        }
        self.clock_until = end;
    }

    pub fn set_interrupt(&mut self, since: Option<Instant>, now: Instant) {
        if since.is_some() != self.interrupted {
            self.interrupted = since.is_some();
            self.record(since.unwrap_or(now), SpiLine::Interrupt, self.interrupted);
        }
    }

    fn record(&mut self, at: Instant, line: SpiLine, active: bool) {
        if let Some((until, edges)) = &mut self.recorded
            && at <= *until
        {
            edges.push(SpiEdge { at, line, active });
        }
    }
}

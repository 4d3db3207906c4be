//! Figures of one period.

use crate::measure::{GAP_BINS, Pace, Report};
use crate::probe::Probe;

/// Sizes of test messages: short, middle, long.
pub const SIZES: usize = 3;

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From this end to the peer.
    ToPeer,
    /// From the peer to this end.
    FromPeer,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ToPeer, Self::FromPeer];
}

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// This end.
    Own,
    /// The other end.
    Peer,
}

impl End {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Own, Self::Peer];
}

/// Least and greatest of some values, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Spread {
    /// Least one.
    pub least: u32,
    /// Greatest one.
    pub greatest: u32,
    /// Number of values; 0: the others mean nothing.
    pub count: u16,
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: u32) {
        if self.count == 0 {
            (self.least, self.greatest) = (value, value);
        }
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        self.count = self.count.saturating_add(1);
    }

    /// Distance of greatest and least.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.greatest - self.least
    }

    /// Middle between greatest and least.
    #[must_use]
    pub const fn middle(&self) -> u32 {
        self.least + self.width() / 2
    }
}

/// Figures of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DirectionFigures {
    /// Test messages received, and their octets.
    pub received: u32,
    /// See `received`.
    pub octets: u32,
    /// Test messages that did not arrive.
    pub missing: u32,
    /// Octets of test messages with a wrong value that the check did not detect.
    pub wrong: u32,
    /// Good frames, of user data, too.
    pub frames: u32,
    /// Damaged ones.
    pub damaged: u32,
    /// Duration of octets by the receiver's clock, of trains of long messages.
    pub pace: Pace,
    /// Gaps between messages: number in each bin, by size of message.
    pub bins: [[u16; GAP_BINS]; SIZES],
    /// Octets and time of trains of long messages: their quotient is the goodput beside user traffic.
    pub long_octets: u32,
    /// See `long_octets`; microseconds.
    pub long_us: u32,
    /// One-way delay plus the offset of the clocks, microseconds modulo 2^32: only the spread means something. It is
    /// relative to the first probe of the period.
    pub one_way: Spread,
    /// The value of the first probe.
    one_way_zero: u32,
}

/// Offset that keeps values around the first one from being negative: 35 minutes.
const MIDDLE: u32 = 1 << 31;
/// Most frames of a period, whatever a peer reports: more than ten seconds of a line of 50 Mbit/s have.
const MOST_FRAMES: u32 = 1 << 24;

impl DirectionFigures {
    /// Octets of test messages a second, within trains of long ones; 0 without one.
    #[must_use]
    pub fn goodput_octets_per_s(&self) -> u32 {
        let octets = u64::from(self.long_octets) * 1_000_000;
        let rate = octets.checked_div(self.long_us.into()).unwrap_or(0);
        u32::try_from(rate).unwrap_or(u32::MAX)
    }

    /// Counts the good and the damaged frames since `begin`.
    pub(super) fn count_frames(&mut self, end: (u32, u32), begin: (u32, u32)) {
        self.frames = end.0.wrapping_sub(begin.0).min(MOST_FRAMES);
        self.damaged = end.1.wrapping_sub(begin.1).min(MOST_FRAMES);
    }

    pub(super) fn add_report(&mut self, report: &Report, size: usize) {
        self.received = self.received.saturating_add(report.received);
        self.octets = self.octets.saturating_add(report.octets);
        self.missing = self.missing.saturating_add(report.missing);
        self.wrong = self.wrong.saturating_add(report.wrong);
        if let Some(bins) = self.bins.get_mut(size) {
            for (sum, count) in bins.iter_mut().zip(report.bins) {
                *sum = sum.saturating_add(count);
            }
        }
        if size + 1 == SIZES {
            self.pace.add_all(&report.pace);
            // The first message of a train came before its time began.
            let first = report.octets.checked_div(report.received).unwrap_or(0);
            self.long_octets = self.long_octets.saturating_add(report.octets - first);
            self.long_us = self.long_us.saturating_add(report.span_us);
        }
    }

    fn add_one_way(&mut self, us: u32) {
        if self.one_way.count == 0 {
            self.one_way_zero = us;
        }
        self.one_way
            .add(us.wrapping_sub(self.one_way_zero).wrapping_add(MIDDLE));
    }
}

/// Figures of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Figures {
    /// Round trip of probes without the peer's time, microseconds.
    pub round_trip: Spread,
    /// The directions, as in [`Direction::ALL`].
    pub directions: [DirectionFigures; 2],
    /// Most octets that an end's program took from its hardware's FIFO at a time, as in [`End::ALL`]; 0 if unknown.
    /// The rest of the FIFO is the time that the interrupt handler had left.
    pub fullest: [u16; 2],
    /// Most octets of unread messages on a channel of an end.
    pub high_water: [u16; 2],
    /// Reports of the peer.
    pub reports: u16,
}

impl Figures {
    /// The figures of a direction.
    #[must_use]
    pub const fn direction(&self, direction: Direction) -> &DirectionFigures {
        &self.directions[direction as usize]
    }

    pub(super) fn direction_mut(&mut self, direction: Direction) -> &mut DirectionFigures {
        &mut self.directions[direction as usize]
    }

    pub(super) fn add_probe(&mut self, probe: &Probe) {
        self.round_trip.add(probe.round_trip_us());
        self.direction_mut(Direction::ToPeer)
            .add_one_way(probe.forward_us());
        self.direction_mut(Direction::FromPeer)
            .add_one_way(probe.backward_us());
    }
}

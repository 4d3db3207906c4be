//! Frames on the line.

use std::sync::Arc;

use linerate_ether::ledger::DropCause;

use crate::device::port::{self, LinkMode};
use crate::time::{Instant, Span, TICKS_PER_NS};

/// Octets before a frame: preamble and start delimiter; least gap after it (IEEE 802.3 clause 4.4.2).
const PREAMBLE: u64 = 8;
const GAP: u64 = 12;

/// Rate of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineRate {
    /// 10 Mbit/s.
    Mbit10,
    /// 100 Mbit/s.
    Mbit100,
    /// 1000 Mbit/s.
    Mbit1000,
}

impl LineRate {
    /// Time of this many octets.
    pub const fn octets(self, count: u64) -> Span {
        let ns = match self {
            Self::Mbit10 => 800,
            Self::Mbit100 => 80,
            Self::Mbit1000 => 8,
        };
        Span::from_ticks(count * ns * TICKS_PER_NS)
    }

    /// Rate of a link with this mode.
    pub const fn of(mode: LinkMode) -> Self {
        match mode.mbit_per_s {
            1000 => Self::Mbit1000,
            100 => Self::Mbit100,
            _ => Self::Mbit10,
        }
    }

    /// Time of this many pause quanta of 512 bit times (IEEE 802.3 annex 31B).
    pub const fn quanta(self, count: u16) -> Span {
        self.octets(count as u64 * 64)
    }
}

/// A frame on the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFrame {
    /// From destination address to FCS.
    pub octets: Arc<[u8]>,
    /// When its preamble begins.
    pub start: Instant,
    /// Rate of the line.
    pub rate: LineRate,
    /// True if its FCS is wrong: it was damaged, or cut off by its sender.
    pub is_bad: bool,
}

impl LineFrame {
    /// A frame of another device, at the rate that this one has negotiated.
    pub(crate) fn from_port(frame: port::LineFrame, rate: LineRate) -> Self {
        Self {
            octets: frame.octets.into(),
            start: frame.start,
            rate,
            is_bad: frame.fault.is_some(),
        }
    }

    /// The frame for other devices. Its sender cut it off if it is bad.
    pub(crate) fn into_port(self) -> port::LineFrame {
        port::LineFrame {
            end: self.end(),
            start: self.start,
            fault: self.is_bad.then_some(DropCause::FifoUnderrun),
            octets: self.octets.to_vec(),
        }
    }

    /// When its first octet arrives.
    pub fn first_octet(&self) -> Instant {
        self.start + self.rate.octets(PREAMBLE)
    }

    /// When this many octets have arrived.
    pub fn arrival(&self, octets: usize) -> Instant {
        self.first_octet() + self.rate.octets(octets as u64)
    }

    /// Octets that have arrived by `now`.
    pub fn arrived(&self, now: Instant) -> usize {
        let first = self.first_octet();
        if now <= first {
            return 0;
        }
        let octets = now.since(first).ticks() / self.rate.octets(1).ticks();
        (octets as usize).min(self.octets.len())
    }

    /// Its end.
    pub fn end(&self) -> Instant {
        self.arrival(self.octets.len())
    }

    /// The earliest start of the next frame.
    pub fn next_start(&self) -> Instant {
        self.end() + self.rate.octets(GAP)
    }
}

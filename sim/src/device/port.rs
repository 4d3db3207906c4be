//! Ways out of a device besides its bus: a stream of packets to another device, and a network line.

use linerate_ether::ledger::DropCause;
use linerate_ether::pause::QUANTUM_BIT_TIMES;

use crate::time::{Instant, Span};

/// Octets of a packet on a stream between two devices, as on Avalon-ST. The first fragment after the end of a packet
/// begins the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Octets.
    pub octets: Vec<u8>,
    /// The packet ends with these octets: its error signals, 0 without an error.
    pub end: Option<u8>,
}

/// A frame on a network line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFrame {
    /// From destination address to FCS.
    pub octets: Vec<u8>,
    /// Start of the preamble.
    pub start: Instant,
    /// End of the last bit.
    pub end: Instant,
    /// Reason why no receiver can read it.
    pub fault: Option<DropCause>,
}

impl LineFrame {
    /// A frame without a fault whose preamble begins at `start`, on a link of this mode.
    pub fn new(octets: Vec<u8>, start: Instant, mode: LinkMode) -> Self {
        Self {
            end: mode.arrival(start, octets.len()),
            octets,
            start,
            fault: None,
        }
    }

    /// Duration of an octet.
    pub fn octet(&self) -> Span {
        let octets = self.octets.len() as u64 + LinkMode::PREAMBLE;
        Span::from_ticks(self.end.since(self.start).ticks() / octets)
    }

    /// Time at which `octets` of it have arrived, the preamble not counted.
    pub fn arrival(&self, octets: usize) -> Instant {
        if octets >= self.octets.len() {
            return self.end;
        }
        let octets = octets as u64 + LinkMode::PREAMBLE;
        self.start + Span::from_ticks(octets * self.octet().ticks())
    }

    /// Octets that have arrived by `now`, the preamble not counted.
    pub fn arrived(&self, now: Instant) -> usize {
        let first = self.arrival(0);
        if now <= first {
            return 0;
        }
        let octets = now.since(first).ticks() / self.octet().ticks();
        (octets as usize).min(self.octets.len())
    }

    /// The earliest start of the next frame.
    pub fn next_start(&self) -> Instant {
        self.end + Span::from_ticks(LinkMode::GAP * self.octet().ticks())
    }
}

/// Mode of a link. All links are full duplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMode {
    /// Speed: 10, 100 or 1000.
    pub mbit_per_s: u32,
}

impl LinkMode {
    /// Octets before the destination address: preamble and SFD.
    pub const PREAMBLE: u64 = 8;
    /// Least inter-packet gap in octets (IEEE 802.3 clause 4.4.2).
    pub const GAP: u64 = 12;
    /// 1000 Mbit/s.
    pub const GIGABIT: Self = Self { mbit_per_s: 1000 };

    /// Duration of `octets` on the line.
    pub const fn duration(self, octets: u64) -> Span {
        Span::from_ticks(octets * 8 * Span::from_us(1).ticks() / self.mbit_per_s as u64)
    }

    /// Duration of this many pause quanta of 512 bit times (IEEE 802.3 annex 31B).
    pub const fn quanta(self, count: u32) -> Span {
        self.duration(count as u64 * QUANTUM_BIT_TIMES as u64 / 8)
    }

    /// Time at which `octets` of a frame are through whose preamble begins at `start`.
    pub fn arrival(self, start: Instant, octets: usize) -> Instant {
        start + self.duration(Self::PREAMBLE + octets as u64)
    }
}

/// Abilities of the station at the other end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partner {
    /// Its highest speed: 10, 100 or 1000; it has the lower ones, too.
    pub mbit_per_s: u32,
    /// It sends and obeys pause frames.
    pub pause: bool,
}

/// A network line of a device.
pub trait Line {
    /// Connects a partner, or nobody.
    fn connect(&mut self, partner: Option<Partner>, now: Instant);

    /// Mode of the link as the PHY has resolved it; `None` while it is down.
    fn mode(&self) -> Option<LinkMode>;

    /// The next frame that it has sent since the last call.
    fn take_frame(&mut self) -> Option<LineFrame>;

    /// `frame` begins to arrive at its start, which is not in the past. Frames do not overlap.
    fn receive_frame(&mut self, frame: LineFrame);
}

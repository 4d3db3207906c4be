//! Ways out of a device besides its bus: a stream of packets to another device, and a network line.

use linerate_ether::ledger::DropCause;

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

/// Mode of a link. All links are full duplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMode {
    /// Speed: 10, 100 or 1000.
    pub mbit_per_s: u32,
}

impl LinkMode {
    /// Octets before the destination address: preamble and SFD.
    pub const PREAMBLE: u64 = 8;

    /// Duration of `octets` on the line.
    pub const fn duration(self, octets: u64) -> Span {
        Span::from_ticks(octets * 8 * Span::from_us(1).ticks() / self.mbit_per_s as u64)
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

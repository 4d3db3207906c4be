//! Descriptors ("Legacy buffer descriptors", "Enhanced buffer descriptors"), as a little-endian processor sees
//! them while ECR.DBSWP is set.

use crate::dma::ring::{Descriptor, Piece};
use crate::dma::{Shared, Way};
use linerate_ether::ledger::Counter;

/// The first word: the length, and above it these bits. A descriptor is the device's while it is empty or ready.
const DEVICES: u32 = 1 << 31;
const WRAP: u32 = 1 << 29;
const LAST: u32 = 1 << 27;
/// Transmit: append the FCS.
const APPEND_FCS: u32 = 1 << 26;
/// Receive: longer than `RCR.MAX_FL`; no whole number of octets; wrong FCS; overrun; cut off at FTRL.
const TOO_LONG: u32 = 1 << 21;
const NON_OCTET: u32 = 1 << 20;
const BAD_FCS: u32 = 1 << 18;
const OVERRUN: u32 = 1 << 17;
const TRUNCATED: u32 = 1 << 16;
const LENGTH: u32 = 0xffff;

/// Control word of an enhanced descriptor to send: an interrupt; insert the checksum of TCP or UDP (PINS), that
/// of the IPv4 header (IINS). Back: given up for an underflow, excessive collisions, a late collision.
pub(super) const SEND_INTERRUPT: u32 = 1 << 30;
pub(super) const INSERT_TRANSPORT: u32 = 1 << 28;
pub(super) const INSERT_IPV4: u32 = 1 << 27;
const UNDERFLOW: u32 = 1 << 13;
const EXCESSIVE_COLLISIONS: u32 = 1 << 12;
const LATE_COLLISION: u32 = 1 << 10;

/// Control word of one to receive with: an interrupt. Back: no IP, or a wrong sum of the IPv4 header (ICE); an
/// unknown protocol, or a wrong sum of it (PCR).
pub(super) const RECEIVE_INTERRUPT: u32 = 1 << 23;
pub(super) const BAD_IPV4: u32 = 1 << 5;
pub(super) const BAD_TRANSPORT: u32 = 1 << 4;

/// What a descriptor says when the device is through with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    state: u32,
    /// The control word; of a legacy descriptor 0.
    pub(super) control: u32,
}

impl Status {
    /// Whether a frame ends here.
    pub(super) const fn is_last(self) -> bool {
        self.state & LAST != 0
    }

    /// Why a received frame is none. After an overrun the other bits say nothing.
    pub(super) fn receive_error(self) -> Option<Counter> {
        [
            (OVERRUN, Counter::RxFifoOverruns),
            (TRUNCATED | TOO_LONG, Counter::RxOversize),
            (NON_OCTET, Counter::RxAlignmentErrors),
            (BAD_FCS, Counter::RxBadFcs),
        ]
        .into_iter()
        .find_map(|(bits, counter)| (self.state & bits != 0).then_some(counter))
    }

    /// Why a frame was not sent, where the descriptor tells.
    pub(super) fn transmit_error(self) -> Option<Counter> {
        [
            (UNDERFLOW, Counter::TxUnderruns),
            (EXCESSIVE_COLLISIONS, Counter::TxExcessiveCollisions),
            (LATE_COLLISION, Counter::TxLateCollisions),
        ]
        .into_iter()
        .find_map(|(bit, counter)| (self.control & bit != 0).then_some(counter))
    }
}

/// One of the two forms of descriptors. The order is the control word.
pub trait Layout: Descriptor<Order = u32, Outcome = Status> + 'static {
    /// Whether ECR.EN1588 has to be set for it.
    const ENHANCED: bool;
}

/// 8 octets.
#[derive(Debug)]
#[repr(C)]
pub struct Legacy {
    pub(super) state: Shared<u32>,
    pub(super) address: Shared<u32>,
}

/// 32 octets, with a word for what the accelerators are to do and have found.
#[derive(Debug)]
#[repr(C)]
pub struct Enhanced {
    pub(super) base: Legacy,
    pub(super) control: Shared<u32>,
    /// The IP header's length, protocol and sum; whether the descriptor is updated; a time stamp; reserved.
    further: [Shared<u32>; 5],
}

impl Descriptor for Legacy {
    const IDLE: Self = Self {
        state: Shared::new(0),
        address: Shared::new(0),
    };
    type Order = u32;
    type Outcome = Status;

    #[inline]
    fn prepare(&self, piece: &Piece, _: u32) {
        self.address.write(piece.address as u32);
    }

    #[inline]
    fn hand_over(&self, piece: &Piece, _: u32) {
        let wrap = if piece.wraps { WRAP } else { 0 };
        let rest = match piece.way {
            // What is received ends where the device says.
            Way::FromDevice => 0,
            Way::ToDevice(octets) if piece.is_last => LAST | APPEND_FCS | octets as u32 & LENGTH,
            Way::ToDevice(octets) => octets as u32 & LENGTH,
        };
        self.state.write(DEVICES | wrap | rest);
    }

    #[inline]
    fn is_back(&self) -> bool {
        self.state.read() & DEVICES == 0
    }

    #[inline]
    fn outcome(&self) -> (usize, Status) {
        let state = self.state.read();
        ((state & LENGTH) as usize, Status { state, control: 0 })
    }

    fn take_back(&self) {
        self.state.write(0);
    }
}

impl Layout for Legacy {
    const ENHANCED: bool = false;
}

impl Descriptor for Enhanced {
    const IDLE: Self = Self {
        base: Legacy::IDLE,
        control: Shared::new(0),
        further: [const { Shared::new(0) }; 5],
    };
    type Order = u32;
    type Outcome = Status;

    #[inline]
    fn prepare(&self, piece: &Piece, control: u32) {
        self.base.prepare(piece, control);
        self.control.write(control);
        // Whether it is updated, which the device sets.
        self.further[1].write(0);
    }

    #[inline]
    fn hand_over(&self, piece: &Piece, control: u32) {
        self.base.hand_over(piece, control);
    }

    #[inline]
    fn is_back(&self) -> bool {
        self.base.is_back()
    }

    #[inline]
    fn outcome(&self) -> (usize, Status) {
        let (octets, status) = self.base.outcome();
        let control = self.control.read();
        (octets, Status { control, ..status })
    }

    fn take_back(&self) {
        self.base.take_back();
    }
}

impl Layout for Enhanced {
    const ENHANCED: bool = true;
}

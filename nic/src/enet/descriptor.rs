//! Descriptors ("Legacy buffer descriptors", "Enhanced buffer descriptors"), as seen by a
//! little-endian processor while ECR.DBSWP is set.

use crate::dma::controller::ReceiveStatus;
use crate::dma::ring::{Descriptor, DescriptorFields};
use crate::dma::{Shared, Transfer};
use linerate_ether::ledger::Counter;

/// First word: the length, and these bits above it. A descriptor belongs to the device while it is
/// empty (receive) or ready (transmit).
const DEVICES: u32 = 1 << 31;
const WRAP: u32 = 1 << 29;
const LAST: u32 = 1 << 27;
/// Transmit: append the FCS.
const APPEND_FCS: u32 = 1 << 26;
/// Receive: longer than `RCR.MAX_FL`; not a whole number of octets; wrong FCS; overrun; truncated
/// at FTRL.
const TOO_LONG: u32 = 1 << 21;
const NON_OCTET: u32 = 1 << 20;
const BAD_FCS: u32 = 1 << 18;
const OVERRUN: u32 = 1 << 17;
const TRUNCATED: u32 = 1 << 16;
const LENGTH: u32 = 0xffff;

/// Transmit control word of an enhanced descriptor: interrupt; insert the TCP or UDP checksum
/// (PINS), the IPv4 header checksum (IINS). Returned: dropped for an underflow, excessive
/// collisions, a late collision.
pub(super) const SEND_INTERRUPT: u32 = 1 << 30;
pub(super) const INSERT_TRANSPORT: u32 = 1 << 28;
pub(super) const INSERT_IPV4: u32 = 1 << 27;
const UNDERFLOW: u32 = 1 << 13;
const EXCESSIVE_COLLISIONS: u32 = 1 << 12;
const LATE_COLLISION: u32 = 1 << 10;

/// Receive control word: interrupt. Returned: not IP, or a wrong IPv4 header checksum (ICE); an
/// unknown protocol, or a wrong checksum of it (PCR).
pub(super) const RECEIVE_INTERRUPT: u32 = 1 << 23;
pub(super) const BAD_IPV4: u32 = 1 << 5;
pub(super) const BAD_TRANSPORT: u32 = 1 << 4;

/// Status in a descriptor returned by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    state: u32,
    /// The control word; 0 in a legacy descriptor.
    pub(super) control: u32,
}

impl ReceiveStatus for Status {
    fn is_last(self) -> bool {
        self.state & LAST != 0
    }

    // After an overrun the other bits are invalid.
    fn receive_error(self) -> Option<Counter> {
        [
            (OVERRUN, Counter::RxFifoOverruns),
            (TRUNCATED | TOO_LONG, Counter::RxOversize),
            (NON_OCTET, Counter::RxAlignmentErrors),
            (BAD_FCS, Counter::RxBadFcs),
        ]
        .into_iter()
        .find_map(|(bits, counter)| (self.state & bits != 0).then_some(counter))
    }
}

impl Status {
    /// Counter for a transmit error, if the descriptor reports it.
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

/// One of the two descriptor formats. The command is the control word.
pub trait Layout: Descriptor<Command = u32, Status = Status> + 'static {
    /// True if it requires ECR.EN1588.
    const ENHANCED: bool;
}

/// Descriptor of 8 octets.
#[derive(Debug)]
#[repr(C)]
pub struct Legacy {
    pub(super) state: Shared<u32>,
    pub(super) address: Shared<u32>,
}

/// Descriptor of 32 octets, with a control word for the accelerators.
#[derive(Debug)]
#[repr(C)]
pub struct Enhanced {
    pub(super) base: Legacy,
    pub(super) control: Shared<u32>,
    /// Length, protocol and checksum of the IP header; update flag; time stamp; reserved.
    reserved: [Shared<u32>; 5],
}

impl Descriptor for Legacy {
    const IDLE: Self = Self {
        state: Shared::new(0),
        address: Shared::new(0),
    };
    type Command = u32;
    type Status = Status;

    #[inline]
    fn prepare(&self, fields: &DescriptorFields, _: u32) {
        self.address.write(fields.address as u32);
    }

    #[inline]
    fn hand_over(&self, fields: &DescriptorFields, _: u32) {
        let wrap = if fields.wraps { WRAP } else { 0 };
        let rest = match fields.transfer {
            // The device sets the length of a received frame.
            Transfer::FromDevice => 0,
            Transfer::ToDevice(octets) if fields.is_last => {
                LAST | APPEND_FCS | octets as u32 & LENGTH
            }
            Transfer::ToDevice(octets) => octets as u32 & LENGTH,
        };
        self.state.write(DEVICES | wrap | rest);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.state.read() & DEVICES == 0
    }

    #[inline]
    fn status(&self) -> (usize, Status) {
        let state = self.state.read();
        ((state & LENGTH) as usize, Status { state, control: 0 })
    }

    fn release(&self) {
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
        reserved: [const { Shared::new(0) }; 5],
    };
    type Command = u32;
    type Status = Status;

    #[inline]
    fn prepare(&self, fields: &DescriptorFields, control: u32) {
        self.base.prepare(fields, control);
        self.control.write(control);
        // The update flag, which the device sets.
        self.reserved[1].write(0);
    }

    #[inline]
    fn hand_over(&self, fields: &DescriptorFields, control: u32) {
        self.base.hand_over(fields, control);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.base.is_done()
    }

    #[inline]
    fn status(&self) -> (usize, Status) {
        let (octets, status) = self.base.status();
        let control = self.control.read();
        (octets, Status { control, ..status })
    }

    fn release(&self) {
        self.base.release();
    }
}

impl Layout for Enhanced {
    const ENHANCED: bool = true;
}

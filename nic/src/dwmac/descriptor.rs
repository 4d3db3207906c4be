//! Descriptors ("Normal Tx DMA descriptors", "Enhanced Tx DMA descriptors", the same for Rx).

use super::net::BUFFER_LEN;
use super::offload::Verdict;
use crate::dma::controller::ReceiveStatus;
use crate::dma::ring::{Descriptor, DescriptorFields};
use crate::dma::{Shared, Transfer};
use linerate_ether::ledger::Counter;

/// First word, both directions: the descriptor belongs to the device.
pub(super) const OWN: u32 = 1 << 31;

/// Transmit, first word: interrupt, last and first descriptor of a frame, checksums to insert, end of the ring, the
/// address of the next descriptor is in the fourth word.
pub(super) const SEND_INTERRUPT: u32 = 1 << 30;
const SEND_LAST: u32 = 1 << 29;
const SEND_FIRST: u32 = 1 << 28;
/// CIC: the IPv4 header; also TCP, UDP or ICMP with its pseudo-header.
pub(super) const INSERT_IPV4: u32 = 1 << 22;
pub(super) const INSERT_ALL: u32 = 3 << 22;
const SEND_RING_END: u32 = 1 << 21;
const SEND_CHAINED: u32 = 1 << 20;
/// Returned: any error; no or lost carrier, late collision, excessive collisions, excessive deferral, underflow; number
/// of collisions.
const ERROR_SUMMARY: u32 = 1 << 15;
const FLUSHED: u32 = 1 << 13;
const NO_CARRIER: u32 = 3 << 10;
const LATE_COLLISION: u32 = 1 << 9;
const EXCESSIVE_COLLISIONS: u32 = 1 << 8;
const COLLISIONS: u32 = 0xf << 3;
const EXCESSIVE_DEFERRAL: u32 = 1 << 2;
const UNDERFLOW: u32 = 1 << 1;

/// Receive, second word: end of the ring, chained, size of the first buffer.
const RECEIVE_RING_END: u32 = 1 << 15;
const RECEIVE_CHAINED: u32 = 1 << 14;
const SIZE: u32 = 0x1fff;
/// First word, returned: length with FCS, descriptor error (no room for the rest), overflow, first and last descriptor,
/// watchdog (too long), symbol error, not a whole number of octets, wrong FCS.
const LENGTH_SHIFT: u32 = 16;
const LENGTH: u32 = 0x3fff;
const DESCRIPTOR_ERROR: u32 = 1 << 14;
const OVERFLOW: u32 = 1 << 11;
const FIRST: u32 = 1 << 9;
const LAST: u32 = 1 << 8;
const WATCHDOG: u32 = 1 << 4;
const SYMBOL_ERROR: u32 = 1 << 3;
const DRIBBLE: u32 = 1 << 2;
const BAD_FCS: u32 = 1 << 1;

/// Linkage of descriptors: where the device finds the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// It follows in memory; the last one is marked (ring mode).
    #[default]
    Ring,
    /// Each has the address of the next (chain mode).
    Chain,
}

/// Request for a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Bits of the first word of a transmit descriptor.
    pub(super) control: u32,
    pub(super) linkage: Linkage,
    /// Address of the first descriptor of the ring.
    pub(super) first: u32,
}

/// Status in a descriptor returned by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    word: u32,
    /// The extended status of an enhanced receive descriptor.
    extended: Option<u32>,
}

impl ReceiveStatus for Status {
    fn is_last(self) -> bool {
        self.word & LAST != 0
    }

    fn is_whole(self) -> bool {
        self.word & (FIRST | LAST) == FIRST | LAST
    }

    fn receive_error(self) -> Option<Counter> {
        [
            (OVERFLOW, Counter::RxFifoOverruns),
            (DESCRIPTOR_ERROR | WATCHDOG, Counter::RxOversize),
            (SYMBOL_ERROR, Counter::RxSymbolErrors),
            (BAD_FCS, Counter::RxBadFcs),
        ]
        .into_iter()
        .find_map(|(bits, counter)| (self.word & bits != 0).then_some(counter))
        .map(|it| {
            if it == Counter::RxBadFcs && self.word & DRIBBLE != 0 {
                Counter::RxAlignmentErrors
            } else {
                it
            }
        })
    }
}

impl Status {
    /// Counter for a frame that was not sent.
    pub(super) fn transmit_error(self) -> Option<Counter> {
        if self.word & ERROR_SUMMARY == 0 {
            return None;
        }
        let known = [
            (UNDERFLOW, Counter::TxUnderruns),
            (EXCESSIVE_COLLISIONS, Counter::TxExcessiveCollisions),
            (LATE_COLLISION, Counter::TxLateCollisions),
            (NO_CARRIER, Counter::TxCarrierSenseErrors),
            (EXCESSIVE_DEFERRAL, Counter::TxExcessiveDeferrals),
            (FLUSHED, Counter::TxLinkDown),
        ];
        let found = known
            .into_iter()
            .find_map(|(bits, counter)| (self.word & bits != 0).then_some(counter));
        Some(found.unwrap_or(Counter::TxJabbers))
    }

    /// Collisions before a frame was sent.
    pub(super) const fn collisions(self) -> u32 {
        (self.word & COLLISIONS) >> COLLISIONS.trailing_zeros()
    }

    /// Result of the checksum engine.
    pub(super) const fn verdict(self) -> Verdict {
        match self.extended {
            Some(extended) => Verdict::extended(extended),
            None => Verdict::normal(self.word),
        }
    }
}

/// One of the two descriptor sizes.
pub trait Layout: Descriptor<Command = Command, Status = Status> + 'static {
    /// True if it requires DMABMR.EDFE.
    const ENHANCED: bool;
}

/// Descriptor of four words.
#[derive(Debug)]
#[repr(C)]
pub struct Normal {
    pub(super) words: [Shared<u32>; 4],
}

/// Descriptor of eight words, with an extended status.
#[derive(Debug)]
#[repr(C)]
pub struct Enhanced {
    pub(super) base: Normal,
    /// Extended status; reserved; time stamp.
    pub(super) extended: [Shared<u32>; 4],
}

impl Normal {
    /// Writes all but the first word of a descriptor of `octets` octets.
    fn prepare_as(&self, fields: &DescriptorFields, command: Command, octets: u32) {
        let is_chained = command.linkage == Linkage::Chain;
        let own = core::ptr::from_ref(self).addr() as u32;
        let next = match (is_chained, fields.wraps) {
            (false, _) => 0,
            (true, true) => command.first,
            (true, false) => own.wrapping_add(octets),
        };
        let size = match fields.transfer {
            Transfer::ToDevice(octets) => octets as u32 & SIZE,
            Transfer::FromDevice if is_chained => BUFFER_LEN as u32 | RECEIVE_CHAINED,
            Transfer::FromDevice if fields.wraps => BUFFER_LEN as u32 | RECEIVE_RING_END,
            Transfer::FromDevice => BUFFER_LEN as u32,
        };
        self.words[1].write(size);
        self.words[2].write(fields.address as u32);
        self.words[3].write(next);
    }

    fn word(&self) -> u32 {
        self.words[0].read()
    }
}

impl Descriptor for Normal {
    const IDLE: Self = Self {
        words: [const { Shared::new(0) }; 4],
    };
    type Command = Command;
    type Status = Status;

    #[inline]
    fn prepare(&self, fields: &DescriptorFields, command: Command) {
        self.prepare_as(fields, command, size_of::<Self>() as u32);
    }

    #[inline]
    fn hand_over(&self, fields: &DescriptorFields, command: Command) {
        let rest = match fields.transfer {
            Transfer::FromDevice => 0,
            // Each frame has one descriptor.
            Transfer::ToDevice(_) => {
                let link = match command.linkage {
                    Linkage::Chain => SEND_CHAINED,
                    Linkage::Ring if fields.wraps => SEND_RING_END,
                    Linkage::Ring => 0,
                };
                command.control | SEND_FIRST | SEND_LAST | link
            }
        };
        self.words[0].write(OWN | rest);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.word() & OWN == 0
    }

    #[inline]
    fn status(&self) -> (usize, Status) {
        let word = self.word();
        let octets = word >> LENGTH_SHIFT & LENGTH;
        let extended = None;
        (octets as usize, Status { word, extended })
    }

    fn release(&self) {
        self.words[0].write(0);
    }
}

impl Layout for Normal {
    const ENHANCED: bool = false;
}

impl Descriptor for Enhanced {
    const IDLE: Self = Self {
        base: Normal::IDLE,
        extended: [const { Shared::new(0) }; 4],
    };
    type Command = Command;
    type Status = Status;

    #[inline]
    fn prepare(&self, fields: &DescriptorFields, command: Command) {
        self.base
            .prepare_as(fields, command, size_of::<Self>() as u32);
        self.extended[0].write(0);
    }

    #[inline]
    fn hand_over(&self, fields: &DescriptorFields, command: Command) {
        self.base.hand_over(fields, command);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.base.is_done()
    }

    #[inline]
    fn status(&self) -> (usize, Status) {
        let (octets, status) = self.base.status();
        let extended = Some(self.extended[0].read());
        (octets, Status { extended, ..status })
    }

    fn release(&self) {
        self.base.release();
    }
}

impl Layout for Enhanced {
    const ENHANCED: bool = true;
}

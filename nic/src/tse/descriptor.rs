//! Descriptors.

use super::net::BUFFER_LEN;
use crate::dma::controller::ReceiveStatus;
use crate::dma::ring::{self, DescriptorFields};
use crate::dma::{Shared, Transfer};
use linerate_ether::ledger::Counter;
use linerate_regs::RegisterRef;

/// The layout.
pub(super) mod layout {
    linerate_regs::constants!(linerate_regs::TSE, "DESCRIPTOR":
        SOURCE DESTINATION NEXT
        LENGTH { BYTES }
        RESULT { OWNED_BY_HW WRITE_FIXED_ADDRESS GENERATE_EOP TERMINATED_BY_EOP PHY_ERROR TRUNCATED CRC_ERROR
            LENGTH_ERROR FRAME_ERROR TRANSFERRED }
    );
}

/// A descriptor. The command is the address of the ring's first one.
#[derive(Debug)]
#[repr(C, align(32))]
pub struct Descriptor {
    words: [Shared<u32>; 8],
}

/// Status in a descriptor returned by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(u32);

impl ReceiveStatus for Status {
    fn is_last(self) -> bool {
        layout::RESULT::TERMINATED_BY_EOP.is_set(self.0)
    }

    fn receive_error(self) -> Option<Counter> {
        [
            (layout::RESULT::TRUNCATED, Counter::RxFifoOverruns),
            (layout::RESULT::CRC_ERROR, Counter::RxBadFcs),
            (layout::RESULT::PHY_ERROR, Counter::RxSymbolErrors),
        ]
        .into_iter()
        .find_map(|(bit, counter)| bit.is_set(self.0).then_some(counter))
    }
}

impl Status {
    /// True if the length is wrong: too short, too long, or not that of the length field.
    pub(super) const fn has_wrong_length(self) -> bool {
        layout::RESULT::LENGTH_ERROR.is_set(self.0)
    }
}

impl Descriptor {
    /// A word of it.
    pub(super) const fn word(&self, register: RegisterRef) -> &Shared<u32> {
        &self.words[register.offset as usize / 4]
    }

    fn result(&self) -> &Shared<u32> {
        self.word(layout::RESULT)
    }
}

impl ring::Descriptor for Descriptor {
    const IDLE: Self = Self {
        words: [const { Shared::new(0) }; 8],
    };
    type Command = u32;
    type Status = Status;

    #[inline]
    fn prepare(&self, fields: &DescriptorFields, first: u32) {
        let own = core::ptr::from_ref(self).addr() as u32;
        let next = if fields.wraps {
            first
        } else {
            own.wrapping_add(size_of::<Self>() as u32)
        };
        let (address, octets) = match fields.transfer {
            Transfer::ToDevice(octets) => (layout::SOURCE, octets),
            Transfer::FromDevice => (layout::DESTINATION, BUFFER_LEN),
        };
        self.word(address).write(fields.address as u32);
        self.word(layout::NEXT).write(next);
        self.word(layout::LENGTH)
            .write(layout::LENGTH::BYTES.of(octets as u32));
    }

    #[inline]
    fn hand_over(&self, fields: &DescriptorFields, _: u32) {
        let is_sent = matches!(fields.transfer, Transfer::ToDevice(_));
        let end = layout::RESULT::GENERATE_EOP.of((is_sent && fields.is_last).into());
        let owned = layout::RESULT::OWNED_BY_HW.mask();
        self.result().write(owned | end);
    }

    #[inline]
    fn is_done(&self) -> bool {
        !layout::RESULT::OWNED_BY_HW.is_set(self.result().read())
    }

    #[inline]
    fn status(&self) -> (usize, Status) {
        let result = self.result().read();
        let octets = layout::RESULT::TRANSFERRED.get(result);
        (octets as usize, Status(result))
    }

    fn release(&self) {
        self.result().write(0);
    }
}

//! The chain of descriptors: from a descriptor that was read to its result, and on to the next one.

use super::{Descriptor, Direction, Sgdma, State, csr, descriptor};
use crate::time::Instant;

impl Sgdma {
    /// The descriptor was read and decoded.
    pub(super) fn begin(&mut self, words: &[u8], now: Instant) {
        let word = |register: linerate_regs::RegisterRef| {
            let word = words.get(register.offset as usize..);
            word.and_then(<[u8]>::first_chunk)
                .map_or(0, |word| u32::from_le_bytes(*word))
        };
        let result = word(descriptor::RESULT);
        if !descriptor::RESULT::OWNED_BY_HW.is_set(result) {
            self.end_chain(now);
            return;
        }
        let bytes = descriptor::LENGTH::BYTES.get(word(descriptor::LENGTH));
        let (data, left) = match self.direction {
            Direction::ToStream => (word(descriptor::SOURCE), bytes),
            Direction::FromStream if bytes == 0 => (word(descriptor::DESTINATION), u32::MAX),
            Direction::FromStream => (word(descriptor::DESTINATION), bytes),
        };
        self.descriptor = Descriptor {
            address: self.next,
            data,
            left,
            next: word(descriptor::NEXT),
            result,
            ..Descriptor::default()
        };
        self.free = now;
        self.state = State::Moving;
        let has_end = descriptor::RESULT::GENERATE_EOP.is_set(result);
        if self.direction == Direction::ToStream && left == 0 && !has_end {
            self.state = State::WritingBack { from: now };
        }
    }

    fn end_chain(&mut self, now: Instant) {
        if self.status & csr::STATUS::CHAIN_COMPLETED.mask() == 0 {
            self.happens(csr::STATUS::CHAIN_COMPLETED.mask());
        }
        self.state = State::Idle;
        if self.is_set(csr::CONTROL::DESC_POLL_EN) && self.is_set(csr::CONTROL::RUN) {
            let wait = 4 * u64::from(csr::CONTROL::DESC_POLL_FREQ.get(self.control));
            let until = now + self.cycles(wait.max(1));
            self.state = State::Polling { until };
        }
    }

    /// The result is in memory.
    pub(super) fn complete(&mut self, now: Instant) {
        let ended = self.descriptor.ended;
        let error = ended.is_some_and(|error| error != 0);
        self.next = self.descriptor.next;
        self.happens(
            csr::STATUS::DESCRIPTOR_COMPLETED.mask()
                | csr::STATUS::EOP_ENCOUNTERED.of(ended.is_some().into())
                | csr::STATUS::ERROR.of(error.into()),
        );
        self.done += 1;
        if self.is_set(csr::CONTROL::IE_MAX_DESC)
            && self.done >= csr::CONTROL::MAX_DESC.get(self.control)
        {
            self.done = 0;
            self.interrupt |= self.is_set(csr::CONTROL::IE_GLOBAL);
        }
        let stops = error && self.is_set(csr::CONTROL::STOP_DMA_ERROR);
        if stops || !self.is_set(csr::CONTROL::RUN) {
            self.state = State::Idle;
        } else {
            self.fetch(now);
        }
    }

    /// The fourth quarter of the descriptor when it is done.
    pub(super) fn result(&self) -> u32 {
        let Descriptor {
            transferred,
            ended,
            result,
            ..
        } = self.descriptor;
        let parked = self.is_set(csr::CONTROL::PARK);
        let own = descriptor::RESULT::OWNED_BY_HW;
        let kept = if parked { result } else { result & !own.mask() };
        let terminated = descriptor::RESULT::TERMINATED_BY_EOP.of(ended.is_some().into());
        let error = u32::from(ended.unwrap_or(0) & 0x3f);
        kept & 0xff00_0000 | terminated | error << 16 | transferred & 0xffff
    }
}

//! The DMA path that drains the receive FIFO: descriptors, data, status.

use super::{Filling, Step, Stored, WORD};
use crate::device::Transfer;
use crate::device::enet::{Enet, RECEIVE, checksum, field, regs};
use crate::time::{Instant, Span};

/// Bits of a receive descriptor's first word, beside those of the frame, and of its control word ("Enhanced buffer
/// descriptors").
const EMPTY: u32 = 1 << 31;
const WRAP: u32 = 1 << 29;
const LAST: u32 = 1 << 27;
/// Those that belong to the program.
const PROGRAMS: u32 = 0x7000_0000;
const INTERRUPT: u32 = 1 << 23;
const CONTROL: usize = 8;
const UPDATED: (usize, u32) = (16, 1 << 31);

impl Enet {
    /// Octets before each frame.
    fn shift(&self) -> u32 {
        2 * field!(self, RACC, SHIFT16)
    }

    /// Size of the program's buffers.
    fn buffer_bytes(&self) -> u32 {
        (16 * field!(self, MRBR, R_BUF_SIZE)).max(16)
    }

    /// The next transfer of the receive path, from the time since when it waits.
    pub(in crate::device::enet) fn receive_transfer(&self) -> Option<Transfer> {
        let receiver = &self.receiver;
        let front = receiver.fifo.front()?;
        match &receiver.step {
            Step::Halted => None,
            Step::Descriptor => {
                // A further part of a frame follows at once.
                let forwarded = match self.register(regs::RSFL.offset) & 0x1ff {
                    0 => front.len,
                    words => (WORD * words) as usize,
                };
                let from = front.available(forwarded).max(receiver.ready);
                Some(Transfer::read(
                    receiver.descriptor,
                    self.descriptor_bytes(),
                    from,
                ))
            }
            Step::Data(filling) => {
                let (chunk, shifted) = self.chunk(front, filling);
                let kept = WORD * (self.register(regs::RAEM.offset) & 0x1ff);
                let needed = front.taken + chunk + kept as usize;
                let from = front.available(needed).max(receiver.ready);
                let mut data = vec![0; shifted as usize];
                front.copy(front.taken, front.taken + chunk, &mut data);
                Some(Transfer::write(
                    filling.buffer.wrapping_add(filling.filled),
                    data,
                    from,
                ))
            }
            Step::Status(filling, is_last) => {
                let mut descriptor = filling.descriptor.clone();
                let total = front.taken as u32 + self.shift() - receiver.shift;
                let mut state = self.word(&descriptor, 0) & PROGRAMS;
                // The length in a frame's last descriptor is that of the frame.
                state |= if *is_last {
                    LAST | front.flags | total & 0xffff
                } else {
                    filling.filled
                };
                descriptor[..4].copy_from_slice(&self.bytes(state));
                if descriptor.len() > CONTROL {
                    let program = self.word(&descriptor, CONTROL) & INTERRUPT;
                    let control = program | checksum::receive_flags(&front.seen());
                    descriptor[CONTROL..][..4].copy_from_slice(&self.bytes(control));
                    let (at, updated) = UPDATED;
                    descriptor[at..][..4].copy_from_slice(&self.bytes(updated));
                }
                Some(Transfer::write(
                    receiver.descriptor,
                    descriptor,
                    receiver.ready,
                ))
            }
        }
    }

    /// Octets of the next burst, and those of the shift before them.
    fn chunk(&self, front: &Stored, filling: &Filling) -> (usize, u32) {
        let burst = self.parameters.burst;
        let boundary = burst - filling.buffer.wrapping_add(filling.filled) % burst;
        let room = boundary.min(self.buffer_bytes() - filling.filled);
        let shifted = self.receiver.shift.min(room);
        let chunk = (front.len - front.taken).min((room - shifted) as usize);
        (chunk, shifted)
    }

    /// The bus accepted the transfer of the receive path.
    pub(in crate::device::enet) fn received(
        &mut self,
        transfer: &Transfer,
        data: &[u8],
        done: Instant,
    ) {
        self.receiver.ready = done;
        match core::mem::take(&mut self.receiver.step) {
            Step::Halted => {}
            Step::Descriptor => self.on_descriptor(transfer, data, done),
            Step::Data(mut filling) => {
                self.engine.occupy(RECEIVE, transfer.from, transfer.bytes);
                let buffer_bytes = self.buffer_bytes();
                let Some(front) = self.receiver.fifo.front_mut() else {
                    return;
                };
                let shifted = self.receiver.shift.min(transfer.bytes);
                self.receiver.shift -= shifted;
                front.taken += (transfer.bytes - shifted) as usize;
                filling.filled += transfer.bytes;
                let is_last = front.taken == front.len;
                self.receiver.step = if is_last || filling.filled == buffer_bytes {
                    Step::Status(filling, is_last)
                } else {
                    Step::Data(filling)
                };
            }
            Step::Status(filling, is_last) => {
                self.engine.occupy(RECEIVE, transfer.from, 0);
                self.on_status(&filling, is_last, done);
            }
        }
        self.record_end(transfer.from);
    }

    fn on_descriptor(&mut self, transfer: &Transfer, data: &[u8], done: Instant) {
        self.engine.occupy(RECEIVE, transfer.from, 0);
        let size = self.descriptor_bytes() as usize;
        if data.len() < size {
            // Nothing answers at this address.
            self.fail(done);
            return;
        }
        if self.word(data, 0) & EMPTY == 0 {
            self.set_register(regs::RDAR.offset, 0);
            return;
        }
        if self.receiver.fifo.front().is_some_and(|it| it.taken == 0) {
            self.receiver.shift = self.shift();
        }
        self.receiver.step = Step::Data(Filling {
            buffer: self.word(data, 4),
            filled: 0,
            descriptor: data[..size].to_vec(),
        });
    }

    fn on_status(&mut self, filling: &Filling, is_last: bool, done: Instant) {
        let wraps = self.word(&filling.descriptor, 0) & WRAP != 0;
        let receiver = &mut self.receiver;
        let size = filling.descriptor.len() as u32;
        receiver.descriptor = if wraps {
            self.registers[regs::RDSR.offset as usize / 4] & !7
        } else {
            receiver.descriptor.wrapping_add(size)
        };
        self.receiver.step = Step::Descriptor;
        let is_enhanced = filling.descriptor.len() > CONTROL;
        let interrupts = !is_enhanced || self.word(&filling.descriptor, CONTROL) & INTERRUPT != 0;
        if !is_last {
            if interrupts {
                self.raise_at(done, regs::EIR::RXB.mask());
            }
            return;
        }
        self.receiver.fifo.pop_front();
        if !interrupts {
            return;
        }
        let (frames, us) = self.parameters.coalesced;
        let (count, at) = self
            .receiver
            .waiting
            .unwrap_or((0, done + Span::from_us(us)));
        if count + 1 >= frames {
            self.receiver.waiting = None;
            self.raise_at(done, regs::EIR::RXF.mask());
        } else {
            self.receiver.waiting = Some((count + 1, at));
        }
    }

    /// A bus error: the MAC halts.
    pub(in crate::device::enet) fn fail(&mut self, at: Instant) {
        self.raise_at(at, regs::EIR::EBERR.mask());
        let control = self.register(regs::ECR.offset);
        self.set_register(regs::ECR.offset, control & !regs::ECR::ETHEREN.mask());
        self.stop();
    }
}

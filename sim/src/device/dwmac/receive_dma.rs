//! The DMA that drains the receive FIFO (RM0090 section 33.6.8).

use super::descriptor::{Descriptor, OWN};
use super::receive::{DESCRIPTOR_ERROR, ERROR_SUMMARY, Receiver, Stored, THRESHOLDS};
use super::{Dwmac, Path, field, regs};
use crate::device::Transfer;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Bits of the first word: the frame's first and last descriptor, its length, an extended status follows.
const FIRST: u32 = 1 << 9;
const LAST: u32 = 1 << 8;
const LENGTH_SHIFT: u32 = 16;
const HAS_EXTENDED: u32 = 1 << 0;
/// Second word: no interrupt at the end of the frame.
const NO_INTERRUPT: u32 = 1 << 31;
/// Offset of the extended status.
const EXTENDED: u32 = 16;
/// Bus cycles of a count of the interrupt watchdog.
const WATCHDOG_CYCLES: u64 = 256;

/// What the DMA does next.
#[derive(Debug, Default)]
pub(super) enum Step {
    #[default]
    Stopped,
    /// No descriptor was its own.
    Suspended,
    /// Read the next descriptor.
    Descriptor,
    /// Write data of a frame when there is some.
    Data(Filling),
    /// The buffers are full: read the descriptor after this one.
    Next(Filling),
    /// Write the extended status, then the status; the next descriptor, if it is known already.
    Extended(Filling),
    Status(Filling, Option<Descriptor>),
}

/// A descriptor whose buffers are being filled.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    pub(super) descriptor: Descriptor,
    pub(super) filled: u32,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl Filling {
    const fn new(descriptor: Descriptor, is_first: bool) -> Self {
        Self {
            descriptor,
            filled: 0,
            is_first,
            is_last: false,
        }
    }
}

impl Receiver {
    /// A poll demand, or a start.
    pub fn wake(&mut self, now: Instant) {
        if self.is_running && matches!(self.step, Step::Stopped | Step::Suspended) {
            self.step = Step::Descriptor;
            self.ready = self.ready.max(now);
        }
    }

    /// Address that it writes to.
    pub fn buffer(&self) -> u32 {
        match &self.step {
            Step::Data(filling) => filling.descriptor.place(filling.filled).0,
            _ => 0,
        }
    }
}

impl Dwmac {
    /// Value of DMASR.RPS.
    pub(super) fn receive_state(&self) -> u32 {
        use regs::DMASR::RPS::{CLOSING, FETCHING, SUSPENDED, WRITING};
        /// Waits for a frame.
        const WAITING: u32 = 3;
        let is_on = field!(self, DMAOMR, SR) != 0;
        match &self.receiver.step {
            Step::Suspended if is_on => SUSPENDED,
            Step::Descriptor if is_on => FETCHING,
            Step::Data(filling) if is_on || !filling.is_first || filling.filled > 0 => {
                if self.receiver.fifo.is_empty() {
                    WAITING
                } else {
                    WRITING
                }
            }
            Step::Next(_) => FETCHING,
            Step::Extended(_) | Step::Status(..) => CLOSING,
            Step::Stopped | Step::Suspended | Step::Descriptor | Step::Data(_) => 0,
        }
    }

    /// When the DMA can begin with a frame.
    pub(super) fn forwarded(&self, front: &Stored) -> Instant {
        if self.stores_received() {
            front.available(front.len)
        } else {
            front.available(THRESHOLDS[field!(self, DMAOMR, RTC) as usize])
        }
    }

    /// The next transfer, from the time since when it waits.
    pub(super) fn receive_transfer(&self) -> Option<Transfer> {
        let receiver = &self.receiver;
        let is_on = field!(self, DMAOMR, SR) != 0;
        let (size, _) = self.descriptor_bytes();
        let front = receiver.fifo.front();
        match &receiver.step {
            Step::Descriptor if is_on => {
                let ready = receiver.ready;
                Some(Transfer::read(receiver.descriptor, size, ready))
            }
            Step::Suspended if is_on => {
                let front = front.filter(|it| !it.was_tried)?;
                let from = self.forwarded(front).max(receiver.ready);
                Some(Transfer::read(receiver.descriptor, size, from))
            }
            Step::Stopped | Step::Suspended | Step::Descriptor => None,
            Step::Data(filling) => {
                let front = front.filter(|it| is_on || it.taken > 0)?;
                if filling.descriptor.capacity() == 0 {
                    let next = self.after(&filling.descriptor);
                    let from = self.forwarded(front).max(receiver.ready);
                    return Some(Transfer::read(next, size, from));
                }
                let (addr, room) = filling.descriptor.place(filling.filled);
                let chunk = self.chunk(front, addr, room);
                let needed = self
                    .forwarded(front)
                    .max(front.available(front.taken + chunk));
                let octets = front.frame.octets[front.taken..front.taken + chunk].to_vec();
                Some(Transfer::write(addr, octets, needed.max(receiver.ready)))
            }
            Step::Next(filling) => {
                let next = self.after(&filling.descriptor);
                Some(Transfer::read(next, size, receiver.ready))
            }
            Step::Extended(filling) => {
                let front = front?;
                let word = front.verdict.extended().to_le_bytes().to_vec();
                let addr = filling.descriptor.addr.wrapping_add(EXTENDED);
                Some(Transfer::write(addr, word, receiver.ready))
            }
            Step::Status(filling, _) => {
                let word = self.status(filling).to_le_bytes().to_vec();
                Some(Transfer::write(
                    filling.descriptor.addr,
                    word,
                    receiver.ready,
                ))
            }
        }
    }

    /// Octets of the next burst.
    pub(super) fn chunk(&self, front: &Stored, addr: u32, room: u32) -> usize {
        let burst = self.burst(Path::Receive);
        let boundary = burst - addr % burst;
        (front.len - front.taken).min(boundary.min(room) as usize)
    }

    pub(super) fn after(&self, descriptor: &Descriptor) -> u32 {
        let (_, stride) = self.descriptor_bytes();
        descriptor.next(self.register(regs::DMARDLAR.offset), stride)
    }

    /// The first word to write back.
    pub(super) fn status(&self, filling: &Filling) -> u32 {
        let Some(front) = self.receiver.fifo.front() else {
            return filling.descriptor.words[0] & !OWN;
        };
        let mut word = (front.taken as u32 & 0x3fff) << LENGTH_SHIFT;
        if filling.is_first {
            word |= FIRST;
        }
        if filling.is_last {
            word |= LAST | front.flags;
            word |= if self.is_enhanced() {
                HAS_EXTENDED
            } else if self.verifies() {
                front.verdict.normal()
            } else {
                0
            };
        }
        word
    }

    pub(super) fn verifies(&self) -> bool {
        field!(self, MACCR, IPCO) != 0 && self.parameters.has_checksums
    }

    /// The bus accepted the transfer.
    pub(super) fn received(&mut self, transfer: &Transfer, data: &[u8], done: Instant) {
        self.receiver.ready = done;
        match core::mem::take(&mut self.receiver.step) {
            Step::Stopped => {}
            Step::Suspended | Step::Descriptor => self.on_descriptor(transfer, data, done),
            Step::Data(filling) if filling.descriptor.capacity() == 0 => {
                self.on_next(filling, transfer, data, done);
            }
            Step::Data(mut filling) => {
                let Some(front) = self.receiver.fifo.front_mut() else {
                    return;
                };
                front.taken += transfer.bytes as usize;
                filling.filled += transfer.bytes;
                filling.is_last = front.is_closed && front.taken == front.len;
                let is_full = filling.filled == filling.descriptor.capacity();
                self.receiver.step = if filling.is_last {
                    self.closing(filling)
                } else if is_full && front.taken < front.len {
                    Step::Next(filling)
                } else {
                    Step::Data(filling)
                };
            }
            Step::Next(filling) => self.on_next(filling, transfer, data, done),
            Step::Extended(filling) => self.receiver.step = Step::Status(filling, None),
            Step::Status(filling, next) => self.on_status(&filling, next, done),
        }
    }

    /// The step that closes a frame's last descriptor.
    pub(super) fn closing(&self, filling: Filling) -> Step {
        if self.is_enhanced() {
            Step::Extended(filling)
        } else {
            Step::Status(filling, None)
        }
    }

    pub(super) fn on_descriptor(&mut self, transfer: &Transfer, data: &[u8], done: Instant) {
        let Some(descriptor) = Descriptor::parse(transfer.addr, data, false) else {
            return;
        };
        if descriptor.is_owned() {
            self.receiver.step = Step::Data(Filling::new(descriptor, true));
            return;
        }
        self.receiver.step = Step::Suspended;
        self.raise_at(done, regs::DMASR::RBUS.mask());
        let keeps = field!(self, DMAOMR, DFRF) != 0;
        let ready = self.receiver.fifo.front().map(|it| self.forwarded(it));
        let Some(front) = self.receiver.fifo.front_mut() else {
            return;
        };
        if keeps {
            front.was_tried = true;
        } else if ready.is_some_and(|it| it <= transfer.from) {
            self.missed[0] += 1;
            self.drop_front();
        }
    }

    /// Closes the descriptor of a frame whose end came after its last data were written.
    pub(super) fn close_descriptor(&mut self, now: Instant) {
        let Some(front) = self.receiver.fifo.front() else {
            return;
        };
        if !front.is_closed || front.taken == 0 || front.taken < front.len {
            return;
        }
        match core::mem::take(&mut self.receiver.step) {
            Step::Data(mut filling) => {
                filling.is_last = true;
                self.receiver.ready = self.receiver.ready.max(now);
                self.receiver.step = self.closing(filling);
            }
            other => self.receiver.step = other,
        }
    }

    /// Drops the frame at the front; what still arrives of it is lost, too.
    pub(super) fn drop_front(&mut self) {
        self.receiver.fifo.pop_front();
    }

    /// The descriptor after a full one was read.
    pub(super) fn on_next(
        &mut self,
        mut filling: Filling,
        transfer: &Transfer,
        data: &[u8],
        done: Instant,
    ) {
        let next = Descriptor::parse(transfer.addr, data, false).filter(Descriptor::is_owned);
        if next.is_none() {
            // The rest of the frame has no place.
            self.raise_at(done, regs::DMASR::RBUS.mask());
            if let Some(front) = self.receiver.fifo.front_mut() {
                front.flags |= DESCRIPTOR_ERROR | ERROR_SUMMARY;
            }
            filling.is_last = true;
            self.receiver.step = self.closing(filling);
            return;
        }
        self.receiver.step = Step::Status(filling, next);
    }

    pub(super) fn on_status(&mut self, filling: &Filling, next: Option<Descriptor>, done: Instant) {
        self.receiver.descriptor = self.after(&filling.descriptor);
        if let Some(next) = next {
            if filling.is_first {
                self.raise_at(done, regs::DMASR::ERS.mask());
            }
            self.receiver.step = Step::Data(Filling::new(next, false));
            return;
        }
        self.receiver.step = Step::Descriptor;
        self.drop_front();
        if filling.descriptor.words[1] & NO_INTERRUPT == 0 {
            self.receiver.watchdog = None;
            self.raise_at(done, regs::DMASR::RS.mask());
        } else if field!(self, DMARSWTR, RSWTC) > 0 && self.receiver.watchdog.is_none() {
            let cycles = WATCHDOG_CYCLES * u64::from(field!(self, DMARSWTR, RSWTC));
            let ticks = cycles * TICKS_PER_SECOND / self.bus_hertz;
            self.receiver.watchdog = Some(done + Span::from_ticks(ticks));
        }
    }
}

//! The DMA that fills the transmit FIFO (RM0090 section 33.6.7).

use super::descriptor::{Descriptor, OWN};
use super::transmit::{LONGEST, Queued, Transmitter};
use super::{Dwmac, Path, field, regs};
use crate::device::Transfer;
use crate::time::Instant;

/// Bits of the first word: interrupt, the frame's last and first descriptor.
const INTERRUPT: u32 = 1 << 30;
const LAST: u32 = 1 << 29;
const FIRST: u32 = 1 << 28;
/// Status that is returned.
const STATUS: u32 = 0x3_ffff;

/// What the DMA does next.
#[derive(Debug, Default)]
pub(super) enum Step {
    #[default]
    Stopped,
    /// No descriptor was its own.
    Suspended,
    Descriptor,
    /// Read data of a descriptor from this octet on.
    Data(Descriptor, u32),
}

/// A descriptor to be written back.
#[derive(Clone, Debug)]
pub(super) struct Returned {
    pub descriptor: Descriptor,
    pub status: u32,
    pub is_last: bool,
}

impl Transmitter {
    /// A poll demand, or a start.
    pub fn wake(&mut self, now: Instant) {
        if self.is_running && matches!(self.step, Step::Stopped | Step::Suspended) {
            self.step = Step::Descriptor;
            self.ready = self.ready.max(now);
        }
    }

    /// Address that it reads.
    pub fn buffer(&self) -> u32 {
        match &self.step {
            Step::Data(descriptor, at) => descriptor.place(*at).0,
            _ => 0,
        }
    }

    /// In the middle of a frame.
    pub(super) fn is_mid_frame(&self) -> bool {
        self.queue.back().is_some_and(|it| !it.is_complete)
    }
}

impl Dwmac {
    /// Value of DMASR.TPS.
    pub(super) fn transmit_state(&self) -> u32 {
        use regs::DMASR::TPS::{CLOSING, FETCHING, READING, STOPPED, SUSPENDED, WAITING};
        let transmitter = &self.transmitter;
        let is_on = field!(self, DMAOMR, ST) != 0;
        match &transmitter.step {
            _ if !transmitter.returned.is_empty() => CLOSING,
            Step::Data(..) => READING,
            _ if transmitter.queue.iter().any(|it| it.is_complete) => WAITING,
            Step::Suspended if is_on => SUSPENDED,
            Step::Descriptor if is_on => FETCHING,
            _ => STOPPED,
        }
    }

    /// The next transfer, from the time since when it waits.
    pub(super) fn transmit_transfer(&self) -> Option<Transfer> {
        let transmitter = &self.transmitter;
        let ready = transmitter.ready;
        if let Some(returned) = transmitter.returned.front() {
            let word = returned.descriptor.words[0] & !(OWN | STATUS) | returned.status;
            let data = word.to_le_bytes().to_vec();
            return Some(Transfer::write(returned.descriptor.addr, data, ready));
        }
        match &transmitter.step {
            Step::Stopped | Step::Suspended => None,
            Step::Descriptor => {
                let is_on = field!(self, DMAOMR, ST) != 0;
                let frames = 1 + field!(self, DMAOMR, OSF) as usize;
                let has_turn = is_on && transmitter.queue.len() < frames;
                let (size, _) = self.descriptor_bytes();
                let goes_on = has_turn || transmitter.is_mid_frame();
                goes_on.then(|| Transfer::read(transmitter.descriptor, size, ready))
            }
            Step::Data(descriptor, at) => {
                let burst = self.burst(Path::Transmit);
                let (addr, room) = descriptor.place(*at);
                let bytes = (burst - addr % burst).min(room);
                let from = self.room_at(bytes)?.max(ready);
                Some(Transfer::read(addr, bytes, from))
            }
        }
    }

    /// When the FIFO has room for `bytes`; `None` before the next frame is sent.
    pub(super) fn room_at(&self, bytes: u32) -> Option<Instant> {
        let queue = &self.transmitter.queue;
        let held: usize = queue.iter().map(|it| it.octets.len()).sum();
        let excess = (held + bytes as usize).saturating_sub(self.parameters.transmit_fifo as usize);
        if excess == 0 {
            return Some(Instant::ZERO);
        }
        let front = queue.front()?;
        let start = front.started?;
        (excess <= front.octets.len()).then(|| self.line_mode().arrival(start, excess))
    }

    /// The bus accepted the transfer.
    pub(super) fn fetched(&mut self, transfer: &Transfer, data: &[u8], done: Instant) {
        self.transmitter.ready = done;
        if let Some(returned) = self.transmitter.returned.pop_front() {
            if returned.is_last && returned.descriptor.words[0] & INTERRUPT != 0 {
                self.raise_at(done, regs::DMASR::TS.mask());
            }
            if returned.status != 0 && matches!(self.transmitter.step, Step::Descriptor) {
                self.transmitter.step = Step::Suspended;
            }
            return;
        }
        match core::mem::take(&mut self.transmitter.step) {
            Step::Stopped | Step::Suspended => {}
            Step::Descriptor => self.on_transmit_descriptor(transfer, data, done),
            Step::Data(descriptor, at) => self.on_data(descriptor, at, data, done),
        }
    }

    pub(super) fn on_transmit_descriptor(
        &mut self,
        transfer: &Transfer,
        data: &[u8],
        done: Instant,
    ) {
        let Some(descriptor) = Descriptor::parse(transfer.addr, data, true) else {
            return;
        };
        if !descriptor.is_owned() {
            self.transmitter.step = Step::Suspended;
            self.raise_at(done, regs::DMASR::TBUS.mask());
            self.end_of_data();
            return;
        }
        let (_, stride) = self.descriptor_bytes();
        let base = self.register(regs::DMATDLAR.offset);
        self.transmitter.descriptor = descriptor.next(base, stride);
        if descriptor.words[0] & FIRST != 0 && self.transmitter.is_mid_frame() {
            // The frame before had no last descriptor.
            self.end_of_data();
            if self.transmitter.is_mid_frame() {
                self.transmitter.queue.pop_back();
            }
        }
        if !self.transmitter.is_mid_frame() {
            self.transmitter.queue.push_back(Queued {
                control: descriptor.words[0],
                ready: done,
                ..Queued::default()
            });
        }
        if descriptor.capacity() == 0 {
            self.on_data(descriptor, 0, &[], done);
        } else {
            self.transmitter.step = Step::Data(descriptor, 0);
        }
    }

    /// No data follow: a frame that has begun ends with an underflow.
    pub(super) fn end_of_data(&mut self) {
        let Some(back) = self.transmitter.queue.back_mut() else {
            return;
        };
        if !back.is_complete && back.started.is_some() {
            back.is_complete = true;
            back.underflowed = true;
        }
    }

    /// `data` of a descriptor are in the FIFO.
    pub(super) fn on_data(&mut self, descriptor: Descriptor, at: u32, data: &[u8], done: Instant) {
        let mode = self.line_mode();
        let Some(frame) = self.transmitter.queue.back_mut() else {
            return;
        };
        if let Some(start) = frame.started {
            frame.underflowed |= mode.arrival(start, frame.octets.len()) < done;
        } else {
            frame.ready = done;
        }
        frame.octets.extend_from_slice(data);
        frame.octets.truncate(LONGEST);
        let at = at + data.len() as u32;
        if at < descriptor.capacity() {
            self.transmitter.step = Step::Data(descriptor, at);
            return;
        }
        self.transmitter.step = Step::Descriptor;
        if descriptor.words[0] & LAST == 0 {
            let status = 0;
            let is_last = false;
            frame.last = descriptor.clone();
            self.transmitter.returned.push_back(Returned {
                descriptor,
                status,
                is_last,
            });
            return;
        }
        frame.last = descriptor;
        self.complete();
    }
}

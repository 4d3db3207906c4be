//! Descriptors to send, the transmit FIFO, and the line ("Transmit FIFO").

mod pause;

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::MIN_LEN;
use linerate_ether::ledger::DropCause;

use super::counters::{offsets, size_class};
use super::{Enet, LineFrame, TRANSMIT, checksum, field, regs};
use crate::device::Transfer;
use crate::time::Instant;

/// Bits of a transmit descriptor's first word, and of its control word.
const READY: u32 = 1 << 31;
const WRAP: u32 = 1 << 29;
const LAST: u32 = 1 << 27;
const APPEND_FCS: u32 = 1 << 26;
const INTERRUPT: u32 = 1 << 30;
/// Returned: an error, an underflow.
const ERROR: u32 = 1 << 15;
const UNDERFLOW: u32 = 1 << 13;
const CONTROL: usize = 8;
/// Longest frame that the FIFO takes.
const LONGEST: usize = 2047;
/// TFWR counts in these.
const WATERMARK: usize = 64;

/// A descriptor whose data are in the FIFO.
#[derive(Clone, Debug)]
struct Fetched {
    addr: u32,
    bytes: Vec<u8>,
}

/// A frame in the FIFO.
#[derive(Debug, Default)]
struct Queued {
    octets: Vec<u8>,
    /// All of it is in the FIFO, with FCS.
    is_complete: bool,
    /// When it was complete, or could begin.
    ready: Instant,
    /// When its preamble began.
    started: Option<Instant>,
    underflowed: bool,
    descriptors: Vec<Fetched>,
}

#[derive(Debug, Default)]
enum Step {
    #[default]
    Idle,
    Descriptor,
    /// Read the data of a descriptor: from where, how much is left.
    Data(Fetched, u32, u32),
}

/// State of the request to the partner to wait.
#[derive(Debug, Default)]
enum PauseState {
    #[default]
    Off,
    /// A PAUSE frame is to be sent, from this time on.
    Due(Instant),
    /// It was sent; the next one is due then.
    Sent(Instant),
}

#[derive(Debug, Default)]
pub(super) struct Transmitter {
    /// Address of the next descriptor.
    pub descriptor: u32,
    step: Step,
    ready: Instant,
    queue: VecDeque<Queued>,
    /// Descriptors to be written back: of a frame's last part, or of another one.
    returned: VecDeque<(Fetched, bool)>,
    /// The earliest start of the next frame.
    line_free: Instant,
    /// A PAUSE frame of the partner holds data frames until then.
    pub paused_until: Instant,
    /// The program asked for a PAUSE frame.
    pub pause_requested: bool,
    pause: PauseState,
    /// A PAUSE frame without time is due since then.
    resume: Option<Instant>,
}

impl Transmitter {
    pub fn stop(&mut self) {
        let line_free = self.line_free;
        *self = Self {
            line_free,
            ..Self::default()
        };
    }

    pub fn wake(&mut self, now: Instant) {
        if matches!(self.step, Step::Idle) {
            self.step = Step::Descriptor;
            self.ready = self.ready.max(now);
        }
    }
}

impl Enet {
    /// A frame that can be sent, and since when.
    fn sendable(&self) -> Option<Instant> {
        let front = self.transmitter.queue.front()?;
        let stores = field!(self, TFWR, STRFWD) != 0;
        let watermark = WATERMARK * (field!(self, TFWR, TFWR) as usize).max(1);
        let is_ready = front.is_complete || !stores && front.octets.len() >= watermark;
        let stopping = field!(self, TCR, GTS) != 0;
        (front.started.is_none() && is_ready && !stopping).then_some(front.ready)
    }

    /// The end of the frame that is being sent.
    fn sending_until(&self) -> Option<Instant> {
        let front = self.transmitter.queue.front()?;
        let started = front.started?;
        let mode = self.line_mode();
        front
            .is_complete
            .then(|| mode.arrival(started, front.octets.len()))
    }

    fn is_sending(&self) -> bool {
        let front = self.transmitter.queue.front();
        front.is_some_and(|it| it.started.is_some())
    }

    pub(super) fn transmit_event(&self) -> Instant {
        if !self.is_enabled() {
            return Instant::NEVER;
        }
        if self.is_sending() {
            return self.sending_until().unwrap_or(Instant::NEVER);
        }
        let transmitter = &self.transmitter;
        let mut free = transmitter.line_free;
        if !self.is_full_duplex() {
            free = free.max(self.receiver.silent_at());
        }
        let data = self.sendable();
        let data = data.map_or(Instant::NEVER, |ready| {
            ready.max(free).max(transmitter.paused_until)
        });
        let pause = transmitter.pause_due();
        let pause = if pause == Instant::NEVER {
            pause
        } else {
            pause.max(free)
        };
        data.min(pause)
    }

    pub(super) fn advance_transmitter(&mut self, now: Instant) {
        if self.is_sending() {
            self.end_frame();
        } else if self.transmitter.pause_due() <= now {
            self.send_pause(now);
        } else if let Some(front) = self.transmitter.queue.front_mut() {
            front.started = Some(now);
        }
    }

    /// The frame has been sent.
    fn end_frame(&mut self) {
        let Some(frame) = self.transmitter.queue.pop_front() else {
            return;
        };
        let start = frame.started.unwrap_or_default();
        let mut sent = LineFrame::new(frame.octets, start, self.line_mode());
        sent.fault = frame.underflowed.then_some(DropCause::FifoUnderrun);
        self.transmitter.line_free = sent.next_start();
        self.count_sent(&sent.octets);
        if frame.underflowed {
            self.count(offsets::IEEE_T_MACERR.offset, 1);
            self.raise(regs::EIR::UN.mask());
        } else {
            self.count(offsets::IEEE_T_FRAME_OK.offset, 1);
            let octets = sent.octets.len() as u32;
            self.count(offsets::IEEE_T_OCTETS_OK.offset, octets);
        }
        self.transmitter.ready = self.transmitter.ready.max(sent.end);
        self.sent.push_back(sent);
        let last = frame.descriptors.len().saturating_sub(1);
        for (index, mut descriptor) in frame.descriptors.into_iter().enumerate() {
            let state = self.word(&descriptor.bytes, 0) & !READY;
            descriptor.bytes[..4].copy_from_slice(&self.bytes(state));
            if descriptor.bytes.len() > CONTROL {
                let mut control = self.word(&descriptor.bytes, CONTROL) & 0xffff_0000;
                if frame.underflowed {
                    control |= ERROR | UNDERFLOW;
                }
                descriptor.bytes[CONTROL..][..4].copy_from_slice(&self.bytes(control));
            }
            self.transmitter
                .returned
                .push_back((descriptor, index == last));
        }
        self.check_stop();
    }

    /// Signals the end of a requested stop.
    pub(super) fn check_stop(&mut self) {
        if field!(self, TCR, GTS) != 0 && !self.is_sending() {
            self.raise(regs::EIR::GRA.mask());
        }
    }

    fn count_sent(&mut self, octets: &[u8]) {
        let len = octets.len();
        self.count(offsets::RMON_T_PACKETS.offset, 1);
        self.count(offsets::RMON_T_OCTETS.offset, len as u32);
        self.count(offsets::RMON_T_P64.offset + size_class(len), 1);
        if octets.starts_with(&[0xff; 6]) {
            self.count(offsets::RMON_T_BC_PKT.offset, 1);
        } else if octets[0] & 1 != 0 {
            self.count(offsets::RMON_T_MC_PKT.offset, 1);
        }
    }

    /// The next transfer of the transmit path, from the time since when it waits.
    pub(super) fn transmit_transfer(&self) -> Option<Transfer> {
        let transmitter = &self.transmitter;
        let ready = transmitter.ready;
        if let Some((descriptor, _)) = transmitter.returned.front() {
            let data = descriptor.bytes.clone();
            return Some(Transfer::write(descriptor.addr, data, ready));
        }
        match &transmitter.step {
            Step::Idle => None,
            // All around the ring: its descriptors are not back yet.
            Step::Descriptor if self.is_in_use(transmitter.descriptor) => None,
            Step::Descriptor => Some(Transfer::read(
                transmitter.descriptor,
                self.descriptor_bytes(),
                ready,
            )),
            Step::Data(_, addr, left) => {
                let burst = self.parameters.burst;
                let bytes = (burst - addr % burst).min(*left);
                let from = self.room_at(bytes)?.max(ready);
                Some(Transfer::read(*addr, bytes, from))
            }
        }
    }

    /// True if the descriptor at `addr` is that of a frame in the FIFO.
    fn is_in_use(&self, addr: u32) -> bool {
        let queue = self.transmitter.queue.iter();
        queue
            .flat_map(|it| &it.descriptors)
            .any(|it| it.addr == addr)
    }

    /// When the FIFO has room for `bytes`; `None` before the next frame is sent.
    fn room_at(&self, bytes: u32) -> Option<Instant> {
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

    /// The bus accepted the transfer of the transmit path.
    pub(super) fn fetched(&mut self, transfer: &Transfer, data: &[u8], done: Instant) {
        self.transmitter.ready = done;
        if let Some((descriptor, is_last)) = self.transmitter.returned.pop_front() {
            self.engine.occupy(TRANSMIT, transfer.from, 0);
            let control = self.word(&descriptor.bytes, CONTROL);
            let is_enhanced = descriptor.bytes.len() > CONTROL;
            if !is_enhanced || control & INTERRUPT != 0 {
                let event = if is_last {
                    regs::EIR::TXF
                } else {
                    regs::EIR::TXB
                };
                self.raise_at(done, event.mask());
            }
            return;
        }
        if data.len() < transfer.bytes as usize {
            // Nothing answers at this address.
            self.fail(done);
            return;
        }
        match core::mem::take(&mut self.transmitter.step) {
            Step::Idle => {}
            Step::Descriptor => {
                self.engine.occupy(TRANSMIT, transfer.from, 0);
                self.on_transmit_descriptor(data, done);
            }
            Step::Data(descriptor, addr, left) => {
                self.engine.occupy(TRANSMIT, transfer.from, transfer.bytes);
                self.on_data(descriptor, addr, left, data, done);
            }
        }
    }

    fn on_transmit_descriptor(&mut self, data: &[u8], done: Instant) {
        let state = self.word(data, 0);
        if state & READY == 0 {
            self.set_register(regs::TDAR.offset, 0);
            return;
        }
        let fetched = Fetched {
            addr: self.transmitter.descriptor,
            bytes: data.to_vec(),
        };
        self.transmitter.descriptor = if state & WRAP != 0 {
            self.register(regs::TDSR.offset) & !7
        } else {
            let size = data.len() as u32;
            self.transmitter.descriptor.wrapping_add(size)
        };
        let (buffer, octets) = (self.word(data, 4), state & 0xffff);
        let is_new = self
            .transmitter
            .queue
            .back()
            .is_none_or(|it| it.is_complete);
        if is_new {
            self.transmitter.queue.push_back(Queued::default());
        }
        if octets == 0 {
            self.on_data(fetched, buffer, 0, &[], done);
        } else {
            self.transmitter.step = Step::Data(fetched, buffer, octets);
        }
    }

    /// `data` of a descriptor are in the FIFO.
    fn on_data(&mut self, descriptor: Fetched, addr: u32, left: u32, data: &[u8], done: Instant) {
        let mode = self.line_mode();
        let Some(frame) = self.transmitter.queue.back_mut() else {
            return;
        };
        if let Some(start) = frame.started {
            frame.underflowed |= mode.arrival(start, frame.octets.len()) < done;
        }
        frame.octets.extend_from_slice(data);
        frame.octets.truncate(LONGEST);
        if frame.started.is_none() {
            frame.ready = done;
        }
        let left = left - data.len() as u32;
        if left > 0 {
            let addr = addr.wrapping_add(data.len() as u32);
            self.transmitter.step = Step::Data(descriptor, addr, left);
            return;
        }
        self.transmitter.step = Step::Descriptor;
        let enhanced = self.is_enhanced();
        let state = self.word(&descriptor.bytes, 0);
        let control = self.word(&descriptor.bytes, CONTROL);
        let Some(frame) = self.transmitter.queue.back_mut() else {
            return;
        };
        frame.descriptors.push(descriptor);
        if state & LAST == 0 {
            return;
        }
        if enhanced && frame.started.is_none() {
            checksum::insert(&mut frame.octets, control);
        }
        if state & APPEND_FCS != 0 || frame.octets.len() < MIN_LEN {
            let shortest = MIN_LEN - fcs::LEN;
            if frame.octets.len() < shortest {
                frame.octets.resize(shortest, 0);
            }
            let sum = fcs::crc32(&frame.octets);
            frame.octets.extend(sum.to_le_bytes());
        }
        frame.is_complete = true;
    }
}

//! The receive FIFO and its thresholds ("Receive FIFO", "Full-duplex flow control operation").

mod dma;
mod stored;

use std::collections::VecDeque;

use linerate_ether::fcs::{Crc32, SLICING_4};
use linerate_ether::frame::{EtherType, MIN_LEN};
use linerate_ether::pause::Pause;

use super::counters::{offsets, size_class};
use super::{Enet, LineFrame, field, regs};
use crate::time::Instant;
use stored::{BAD_FCS, Stored};

/// Flags of a frame, as in `stored`.
const MISS: u32 = 1 << 24;
const BROADCAST: u32 = 1 << 23;
const MULTICAST: u32 = 1 << 22;
const TOO_LONG: u32 = 1 << 21;
/// Octets of a word of the FIFO.
const WORD: u32 = 8;

/// What the DMA path does next.
#[derive(Debug, Default)]
enum Step {
    /// Nothing: there is no empty descriptor.
    #[default]
    Halted,
    /// Read the next descriptor.
    Descriptor,
    /// Write data.
    Data(Filling),
    /// Write the descriptor back: of the frame's last part, or of another one.
    Status(Filling, bool),
}

/// A buffer that is being filled, and its descriptor.
#[derive(Clone, Debug)]
struct Filling {
    descriptor: Vec<u8>,
    buffer: u32,
    filled: u32,
}

#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Frames that have not begun to arrive.
    pub arrivals: VecDeque<LineFrame>,
    fifo: VecDeque<Stored>,
    /// PAUSE frames that arrive: their end and quanta.
    pauses: VecDeque<(Instant, u16)>,
    /// Address of the next descriptor.
    pub descriptor: u32,
    step: Step,
    /// When the path can go on.
    ready: Instant,
    /// Octets of the shift that the current frame still needs.
    shift: u32,
    /// Frames without an interrupt yet, and the latest time of it.
    waiting: Option<(u32, Instant)>,
    /// Frames whose end was lost.
    pub lost_ends: u64,
}

impl Receiver {
    pub fn stop(&mut self) {
        self.fifo.clear();
        self.pauses.clear();
        self.step = Step::Halted;
        self.waiting = None;
    }

    pub fn wake(&mut self, now: Instant) {
        if matches!(self.step, Step::Halted) {
            self.step = Step::Descriptor;
            self.ready = self.ready.max(now);
        }
    }

    /// Octets in the FIFO.
    pub fn level(&self, now: Instant) -> u32 {
        let held = self.fifo.iter().map(|it| it.arrived(now) - it.taken);
        held.sum::<usize>() as u32
    }

    /// When the line is silent, for half duplex.
    pub fn silent_at(&self) -> Instant {
        let open = self.fifo.back().filter(|it| !it.is_closed());
        open.map_or(Instant::ZERO, |it| it.frame.next_start())
    }
}

impl Enet {
    /// The frame that is arriving, and the octets of the others.
    fn arriving(&self) -> Option<(&Stored, u32)> {
        let (last, others) = self.receiver.fifo.iter().rev().split_first_of()?;
        if last.is_closed() {
            return None;
        }
        let held: usize = others.map(|it| it.len - it.taken).sum();
        Some((last, held as u32))
    }

    /// Number of octets of the arriving frame at which the FIFO holds `level`.
    fn octets_at_level(&self, level: u32) -> Option<(&Stored, usize)> {
        let (last, others) = self.arriving()?;
        Some((
            last,
            (level as usize + last.taken).saturating_sub(others as usize),
        ))
    }

    /// Octets that the FIFO takes: the rest is RAFL.
    fn capacity(&self) -> u32 {
        let kept = WORD * (self.register(regs::RAFL.offset) & 0x1ff);
        self.parameters.receive_fifo.saturating_sub(kept)
    }

    /// The level from which PAUSE frames are sent, if any.
    pub(super) fn pause_level(&self) -> Option<u32> {
        let words = self.register(regs::RSEM.offset) & 0x1ff;
        (words > 0 && self.has_flow_control()).then_some(WORD * words)
    }

    /// When the arriving frame does not fit any more, and how much of it is stored.
    fn overrun(&self) -> Option<(Instant, usize)> {
        let (last, fitting) = self.octets_at_level(self.capacity())?;
        (fitting < last.len).then(|| (last.arrival(fitting + 1), fitting))
    }

    pub(super) fn receive_event(&self) -> Instant {
        let receiver = &self.receiver;
        let mut next = receiver.waiting.map_or(Instant::NEVER, |(_, at)| at);
        if let Some(frame) = receiver.arrivals.front() {
            next = next.min(frame.arrival(0));
        }
        if let Some((end, _)) = receiver.pauses.front() {
            next = next.min(*end);
        }
        if let Some((last, _)) = self.arriving() {
            next = next.min(last.frame.end);
            if let Some((at, _)) = self.overrun() {
                next = next.min(at);
            }
            if let Some(level) = self
                .pause_level()
                .filter(|_| !self.transmitter.is_pausing())
                && let Some((last, octets)) = self.octets_at_level(level)
                && octets < last.len
            {
                next = next.min(last.arrival(octets));
            }
        }
        next
    }

    pub(super) fn advance_receiver(&mut self, now: Instant) {
        if let Some((_, at)) = self.receiver.waiting
            && at <= now
        {
            self.receiver.waiting = None;
            self.raise(regs::EIR::RXF.mask());
        }
        if let Some(&(end, quanta)) = self.receiver.pauses.front()
            && end <= now
        {
            self.receiver.pauses.pop_front();
            self.transmitter.paused_until = end + self.line_mode().quanta(quanta.into());
        }
        if let Some((at, stored)) = self.overrun()
            && at <= now
        {
            self.cut_off(stored, now);
        }
        let ended = |it: &Stored| !it.is_closed() && it.frame.end <= now;
        if self.receiver.fifo.back().is_some_and(ended) {
            self.close();
        }
        let begins = |frame: &LineFrame| frame.arrival(0) <= now;
        if self.receiver.arrivals.front().is_some_and(begins)
            && let Some(frame) = self.receiver.arrivals.pop_front()
        {
            self.begin(frame);
        }
        self.check_pause(now);
    }

    /// A frame begins to arrive.
    fn begin(&mut self, frame: LineFrame) {
        if !self.is_enabled() || frame.octet() != self.line_mode().duration(1) {
            return;
        }
        let len = frame.octets.len();
        if len < MIN_LEN {
            let counter = if frame.fault.is_some() {
                offsets::RMON_R_FRAG
            } else {
                offsets::RMON_R_UNDERSIZE
            };
            self.count(counter.offset, 1);
            return;
        }
        if is_mac_control(&frame.octets) && frame.fault.is_none() {
            if let Ok(pause) = Pause::parse(&frame.octets) {
                self.count(offsets::IEEE_R_FDXFC.offset, 1);
                if self.has_flow_control() {
                    self.receiver.pauses.push_back((frame.end, pause.quanta));
                }
                if field!(self, RCR, PAUFWD) == 0 {
                    return;
                }
            } else if field!(self, RCR, CFEN) != 0 {
                return;
            }
        }
        let Some(flags) = self.filter(&frame.octets) else {
            return;
        };
        let kept = field!(self, FTRL, TRUNC_FL) as usize;
        if let Some(last) = self.receiver.fifo.back_mut()
            && last.is_pending()
        {
            self.receiver.lost_ends += 1;
            last.join(frame, kept);
            return;
        }
        self.receiver
            .fifo
            .push_back(Stored::new(frame, flags, kept));
    }

    /// The flags of an accepted destination.
    fn filter(&self, octets: &[u8]) -> Option<u32> {
        let to: &[u8; 6] = octets.first_chunk()?;
        let bin = !Crc32::with(&SLICING_4).update(to).finish() >> 26;
        let in_table = |high: u32, low: u32| {
            let table = u64::from(self.register(high)) << 32 | u64::from(self.register(low));
            table >> bin & 1 != 0
        };
        let (accepted, flag) = if *to == [0xff; 6] {
            (field!(self, RCR, BC_REJ) == 0, BROADCAST)
        } else if to[0] & 1 != 0 {
            (in_table(regs::GAUR.offset, regs::GALR.offset), MULTICAST)
        } else {
            let own = *to == self.address();
            (own || in_table(regs::IAUR.offset, regs::IALR.offset), 0)
        };
        if accepted {
            Some(flag)
        } else {
            (field!(self, RCR, PROM) != 0).then_some(flag | MISS)
        }
    }

    /// The FIFO is full: what arrives of the frame from here on is lost.
    fn cut_off(&mut self, stored: usize, now: Instant) {
        self.count(offsets::IEEE_R_MACERR.offset, 1);
        self.count(offsets::RMON_R_PACKETS.offset, 1);
        let Some(last) = self.receiver.fifo.back_mut() else {
            return;
        };
        if last.cut_off(stored) {
            self.record_end(now);
        } else {
            self.receiver.fifo.pop_back();
        }
    }

    /// Records the end of a frame that an overrun cut off, if there is room for it. Alone in the FIFO it would wait for ever.
    fn record_end(&mut self, now: Instant) {
        let needed = self.parameters.overrun_end;
        let receiver = &mut self.receiver;
        let level = receiver.level(now);
        let is_alone = receiver.fifo.len() == 1;
        if let Some(last) = receiver.fifo.back_mut()
            && last.is_pending()
            && (needed == 0 || is_alone || level + needed <= self.parameters.receive_fifo)
        {
            last.close();
        }
    }

    /// The frame has arrived.
    fn close(&mut self) {
        let longest = field!(self, RCR, MAX_FL) as usize;
        let Some(last) = self.receiver.fifo.back_mut() else {
            return;
        };
        last.close();
        let len = last.line_octets();
        let is_bad = last.frame.fault.is_some() || last.is_joined();
        let flags = last.flags;
        let too_long = len > longest;
        last.flags |= if too_long { TOO_LONG } else { 0 } | if is_bad { BAD_FCS } else { 0 };
        self.count(offsets::RMON_R_PACKETS.offset, 1);
        self.count(offsets::RMON_R_OCTETS.offset, len as u32);
        self.count(offsets::RMON_R_P64.offset + size_class(len), 1);
        if flags & BROADCAST != 0 {
            self.count(offsets::RMON_R_BC_PKT.offset, 1);
        }
        if flags & MULTICAST != 0 {
            self.count(offsets::RMON_R_MC_PKT.offset, 1);
        }
        let counter = match (is_bad, too_long) {
            (true, true) => offsets::RMON_R_JAB,
            (true, false) => offsets::RMON_R_CRC_ALIGN,
            (false, true) => offsets::RMON_R_OVERSIZE,
            (false, false) => offsets::IEEE_R_FRAME_OK,
        };
        self.count(counter.offset, 1);
        if is_bad {
            self.count(offsets::IEEE_R_CRC.offset, 1);
        } else {
            self.count(offsets::IEEE_R_OCTETS_OK.offset, len as u32);
        }
        if too_long {
            self.raise(regs::EIR::BABR.mask());
        }
    }
}

fn is_mac_control(octets: &[u8]) -> bool {
    octets.get(12..14) == Some(&EtherType::MAC_CONTROL.0.to_be_bytes())
}

/// First item and the rest.
trait SplitFirst: Iterator + Sized {
    fn split_first_of(mut self) -> Option<(Self::Item, Self)> {
        let first = self.next()?;
        Some((first, self))
    }
}

impl<I: Iterator> SplitFirst for I {}

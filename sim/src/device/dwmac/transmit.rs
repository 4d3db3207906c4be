//! The transmit FIFO and the line (RM0090 section 33.5.2).

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::MIN_LEN;
use linerate_ether::ledger::DropCause;

use super::counters::{offsets, size_class};
use super::descriptor::Descriptor;
use super::transmit_dma::{Returned, Step};
use super::transmit_pause::PauseState;
use super::{Dwmac, LineFrame, checksum, field, regs};
use crate::time::Instant;

/// Bits of the first word: no FCS, no padding, the checksums to insert.
const NO_FCS: u32 = 1 << 27;
const NO_PADDING: u32 = 1 << 26;
const CHECKSUMS_SHIFT: u32 = 22;
/// Returned: error summary, flushed, underflow.
const ERROR_SUMMARY: u32 = 1 << 15;
const FLUSHED: u32 = 1 << 13;
const UNDERFLOW: u32 = 1 << 1;
/// `DMAOMR.TTC` in octets.
const THRESHOLDS: [usize; 8] = [64, 128, 192, 256, 40, 32, 24, 16];
/// Longest frame that is sent.
pub(super) const LONGEST: usize = 16_384;

/// A frame in the FIFO.
#[derive(Debug, Default)]
pub(super) struct Queued {
    pub(super) octets: Vec<u8>,
    /// First word of its first descriptor.
    pub(super) control: u32,
    /// All of it is in the FIFO, with FCS.
    pub(super) is_complete: bool,
    /// When it was complete, or could begin.
    pub(super) ready: Instant,
    /// When its preamble began.
    pub(super) started: Option<Instant>,
    pub(super) underflowed: bool,
    /// Its last descriptor.
    pub(super) last: Descriptor,
}

#[derive(Debug, Default)]
pub(super) struct Transmitter {
    /// Address of the next descriptor.
    pub descriptor: u32,
    pub(super) step: Step,
    pub(super) ready: Instant,
    pub(super) queue: VecDeque<Queued>,
    /// Descriptors to be written back.
    pub(super) returned: VecDeque<Returned>,
    pub is_running: bool,
    /// The earliest start of the next frame.
    pub(super) line_free: Instant,
    /// A PAUSE frame of the partner holds data frames until then.
    pub paused_until: Instant,
    /// The program asked for a PAUSE frame.
    pub pause_requested: bool,
    pub(super) pause: PauseState,
    /// A PAUSE frame of time 0 is due since then.
    pub(super) resume: Option<Instant>,
}

impl Transmitter {
    pub fn reset(&mut self) {
        let line_free = self.line_free;
        *self = Self {
            line_free,
            ..Self::default()
        };
    }
}

impl Dwmac {
    pub(super) fn stores_sent(&self) -> bool {
        field!(self, DMAOMR, TSF) != 0
    }

    /// Since when the frame at the front can be sent.
    pub(super) fn sendable(&self) -> Option<Instant> {
        let front = self.transmitter.queue.front()?;
        let threshold = THRESHOLDS[field!(self, DMAOMR, TTC) as usize];
        // A frame above the size of the FIFO cannot be stored.
        let full = self.parameters.transmit_fifo.saturating_sub(256) as usize;
        let needed = if self.stores_sent() { full } else { threshold };
        let is_ready = front.is_complete || front.octets.len() >= needed;
        let is_on = field!(self, MACCR, TE) != 0;
        (front.started.is_none() && is_ready && is_on).then_some(front.ready)
    }

    pub(super) fn is_sending(&self) -> bool {
        let front = self.transmitter.queue.front();
        front.is_some_and(|it| it.started.is_some())
    }

    /// The end of the frame that is being sent.
    pub(super) fn sending_until(&self) -> Instant {
        let front = self.transmitter.queue.front().filter(|it| it.is_complete);
        let Some((front, started)) = front.and_then(|it| Some((it, it.started?))) else {
            return Instant::NEVER;
        };
        self.line_mode().arrival(started, front.octets.len())
    }

    pub(super) fn transmit_event(&self) -> Instant {
        if self.is_sending() {
            return self.sending_until();
        }
        let transmitter = &self.transmitter;
        let mut free = transmitter.line_free;
        if !self.is_full_duplex() {
            free = free.max(self.receiver.silent_at());
        }
        let data = self.sendable().map_or(Instant::NEVER, |ready| {
            ready.max(free).max(transmitter.paused_until)
        });
        let pause = transmitter.pause_due();
        if pause == Instant::NEVER {
            data
        } else {
            data.min(pause.max(free))
        }
    }

    pub(super) fn advance_transmitter(&mut self, now: Instant) {
        if self.is_sending() {
            self.end_frame(now);
        } else if self.transmitter.pause_due() <= now {
            self.send_pause(now);
        } else if let Some(front) = self.transmitter.queue.front_mut() {
            front.started = Some(now);
        }
    }

    /// All data of the frame at the back are in the FIFO.
    pub(super) fn complete(&mut self) {
        let inserts = self.stores_sent() && self.parameters.has_checksums;
        let Some(frame) = self.transmitter.queue.back_mut() else {
            return;
        };
        if inserts && frame.started.is_none() {
            checksum::insert(&mut frame.octets, frame.control >> CHECKSUMS_SHIFT & 3);
        }
        if frame.control & NO_FCS == 0 {
            let shortest = MIN_LEN - fcs::LEN;
            if frame.octets.len() < shortest && frame.control & NO_PADDING == 0 {
                frame.octets.resize(shortest, 0);
            }
            let sum = fcs::crc32(&frame.octets);
            frame.octets.extend(sum.to_le_bytes());
        }
        frame.is_complete = true;
    }

    /// The frame has been sent.
    pub(super) fn end_frame(&mut self, now: Instant) {
        let Some(frame) = self.transmitter.queue.pop_front() else {
            return;
        };
        let start = frame.started.unwrap_or_default();
        let mut sent = LineFrame::new(frame.octets, start, self.line_mode());
        sent.fault = frame.underflowed.then_some(DropCause::FifoUnderrun);
        self.transmitter.line_free = sent.next_start();
        self.count_sent(&sent.octets, frame.underflowed);
        let mut status = 0;
        if frame.underflowed {
            self.raise(regs::DMASR::TUS.mask());
            status = ERROR_SUMMARY | UNDERFLOW;
        }
        self.transmitter.ready = self.transmitter.ready.max(sent.end).max(now);
        self.sent.push_back(sent);
        let last = frame.last;
        self.transmitter.returned.push_back(Returned {
            descriptor: last,
            status,
            is_last: true,
        });
    }

    /// Drops what is in the FIFO and has not begun.
    pub(super) fn flush_transmitter(&mut self) {
        let status = ERROR_SUMMARY | FLUSHED;
        let kept = usize::from(self.is_sending());
        let dropped: Vec<Queued> = self.transmitter.queue.drain(kept..).collect();
        for frame in dropped.into_iter().filter(|it| it.is_complete) {
            let descriptor = frame.last;
            self.transmitter.returned.push_back(Returned {
                descriptor,
                status,
                is_last: true,
            });
        }
    }

    pub(super) fn count_sent(&mut self, octets: &[u8], underflowed: bool) {
        let len = octets.len();
        self.count(offsets::TX_FRAMECOUNT_GB, 1);
        self.count(offsets::TX_OCTETCOUNT_GB, len as u32);
        let class = offsets::TX_64_OCTETS_GB.offset + size_class(len);
        let class = linerate_regs::RegisterRef {
            offset: class,
            ..offsets::TX_64_OCTETS_GB
        };
        self.count(class, 1);
        let (all, good) = if octets.starts_with(&[0xff; 6]) {
            (offsets::TX_BROADCAST_GB, Some(offsets::TX_BROADCASTFRAME_G))
        } else if octets.first().is_some_and(|it| it & 1 != 0) {
            (offsets::TX_MULTICAST_GB, Some(offsets::TX_MULTICASTFRAME_G))
        } else {
            (offsets::TX_UNICAST_GB, None)
        };
        self.count(all, 1);
        if underflowed {
            self.count(offsets::TX_UNDERFLOW_ERROR, 1);
            return;
        }
        if let Some(good) = good {
            self.count(good, 1);
        }
        self.count(offsets::MMCTGFCR, 1);
        self.count(offsets::TX_OCTETCOUNT_G, len as u32);
    }
}

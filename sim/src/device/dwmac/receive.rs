//! The receive FIFO (RM0090 section 33.5.3): what enters it, overflow, filters.

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::MIN_LEN;
use linerate_ether::ledger::DropCause;

use super::checksum::{self, Verdict};
use super::counters::{offsets, size_class};
use super::receive_dma::Step;
use super::{Dwmac, LineFrame, field, regs};
use crate::time::Instant;

/// Flags of a frame in the first word of its last descriptor.
pub(super) const FILTER_FAILED: u32 = 1 << 30;
pub(super) const ERROR_SUMMARY: u32 = 1 << 15;
pub(super) const DESCRIPTOR_ERROR: u32 = 1 << 14;
const OVERFLOW: u32 = 1 << 11;
const TAGGED: u32 = 1 << 10;
const WATCHDOG: u32 = 1 << 4;
const DRIBBLE: u32 = 1 << 2;
const BAD_FCS: u32 = 1 << 1;
/// The watchdog cuts frames off here.
const LONGEST: usize = 2048;
const LONGEST_WITHOUT_WATCHDOG: usize = 16_383;
/// `DMAOMR.RTC` in octets.
pub(super) const THRESHOLDS: [usize; 4] = [64, 32, 96, 128];

/// A frame in the FIFO, or on its way into it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) frame: LineFrame,
    /// Octets of it that are stored in the end.
    pub(super) len: usize,
    /// Octets that left the FIFO.
    pub(super) taken: usize,
    pub(super) flags: u32,
    pub(super) verdict: Verdict,
    /// It was cut off, or has ended.
    pub(super) is_closed: bool,
    /// No descriptor was found for it; it waits for a poll demand.
    pub(super) was_tried: bool,
}

impl Stored {
    pub(super) fn arrived(&self, now: Instant) -> usize {
        if self.is_closed {
            self.len
        } else {
            self.frame.arrived(now).min(self.len)
        }
    }

    /// When this many octets of it are in the FIFO, or all that will be.
    pub(super) fn available(&self, octets: usize) -> Instant {
        if self.is_closed {
            Instant::ZERO
        } else if octets >= self.len {
            self.frame.end
        } else {
            self.frame.arrival(octets)
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Frames that have not begun to arrive.
    pub arrivals: VecDeque<LineFrame>,
    pub(super) fifo: VecDeque<Stored>,
    /// PAUSE frames that arrive: their end and quanta.
    pub(super) pauses: VecDeque<(Instant, u16)>,
    /// Address of the next descriptor.
    pub descriptor: u32,
    pub(super) step: Step,
    /// When the DMA can go on.
    pub(super) ready: Instant,
    pub is_running: bool,
    /// When the interrupt watchdog expires.
    pub(super) watchdog: Option<Instant>,
}

impl Receiver {
    pub fn reset(&mut self) {
        *self = Self {
            arrivals: core::mem::take(&mut self.arrivals),
            ..Self::default()
        };
    }

    /// Octets in the FIFO.
    pub fn level(&self, now: Instant) -> u32 {
        let held = self.fifo.iter().map(|it| it.arrived(now) - it.taken);
        held.sum::<usize>() as u32
    }

    /// When the line is silent, for half duplex.
    pub fn silent_at(&self) -> Instant {
        let open = self.fifo.back().filter(|it| !it.is_closed);
        open.map_or(Instant::ZERO, |it| it.frame.next_start())
    }
}

impl Dwmac {
    pub(super) fn stores_received(&self) -> bool {
        field!(self, DMAOMR, RSF) != 0
    }

    /// The frame that is arriving, and the octets of the others.
    pub(super) fn arriving(&self) -> Option<(&Stored, usize)> {
        let last = self.receiver.fifo.back().filter(|it| !it.is_closed)?;
        let others = self.receiver.fifo.iter().rev().skip(1);
        Some((last, others.map(|it| it.len - it.taken).sum()))
    }

    /// Number of octets of the arriving frame at which the FIFO holds `level`.
    pub(super) fn octets_at_level(&self, level: u32) -> Option<(&Stored, usize)> {
        let (last, others) = self.arriving()?;
        let octets = (level as usize + last.taken).saturating_sub(others);
        Some((last, octets))
    }

    /// When the arriving frame does not fit any more, and how much of it is stored.
    pub(super) fn overflow(&self) -> Option<(Instant, usize)> {
        let (last, fitting) = self.octets_at_level(self.parameters.receive_fifo)?;
        (fitting < last.len).then(|| (last.frame.arrival(fitting + 1), fitting))
    }

    pub(super) fn receive_event(&self) -> Instant {
        let receiver = &self.receiver;
        let mut next = receiver.watchdog.unwrap_or(Instant::NEVER);
        if let Some(frame) = receiver.arrivals.front() {
            next = next.min(frame.arrival(0));
        }
        if let Some((end, _)) = receiver.pauses.front() {
            next = next.min(*end);
        }
        if let Some((last, _)) = self.arriving() {
            next = next.min(last.frame.end);
            if let Some((at, _)) = self.overflow() {
                next = next.min(at);
            }
            if !self.transmitter.is_pausing()
                && let Some((level, _)) = self.pause_levels()
                && let Some((last, octets)) = self.octets_at_level(level)
                && octets < last.len
            {
                next = next.min(last.frame.arrival(octets));
            }
        }
        next
    }

    pub(super) fn advance_receiver(&mut self, now: Instant) {
        if self.receiver.watchdog.is_some_and(|at| at <= now) {
            self.receiver.watchdog = None;
            self.raise(regs::DMASR::RS.mask());
        }
        if let Some(&(end, quanta)) = self.receiver.pauses.front()
            && end <= now
        {
            self.receiver.pauses.pop_front();
            self.transmitter.paused_until = end + self.line_mode().quanta(quanta.into());
        }
        if let Some((at, stored)) = self.overflow()
            && at <= now
        {
            self.cut_off(stored);
            self.close_descriptor(now);
        }
        let ended = |it: &Stored| !it.is_closed && it.frame.end <= now;
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
    pub(super) fn begin(&mut self, frame: LineFrame) {
        let is_on = field!(self, MACCR, RE) != 0;
        if !is_on || frame.octet() != self.line_mode().duration(1) {
            return;
        }
        let len = frame.octets.len();
        if len < MIN_LEN {
            let is_bad = frame.fault.is_some() || !fcs::is_good(&frame.octets);
            let counter = if is_bad {
                offsets::RX_RUN_ERROR
            } else {
                offsets::RX_UNDERSIZE_G
            };
            self.count(counter, 1);
            if is_bad || field!(self, DMAOMR, FUGF) == 0 || len < 14 + fcs::LEN {
                return;
            }
        }
        let Some(flags) = self.filter(&frame) else {
            return;
        };
        let limit = if field!(self, MACCR, WD) != 0 {
            LONGEST_WITHOUT_WATCHDOG
        } else {
            LONGEST
        };
        let is_cut = if len > limit { WATCHDOG } else { 0 };
        let stripped = self.stripped(&frame.octets);
        self.receiver.fifo.push_back(Stored {
            len: stripped.min(limit),
            frame,
            taken: 0,
            flags: flags | is_cut,
            verdict: Verdict::default(),
            is_closed: false,
            was_tried: false,
        });
    }

    /// Octets of a frame that are stored: without FCS (CSTF), without padding and FCS (APCS).
    pub(super) fn stripped(&self, octets: &[u8]) -> usize {
        let kind = octets
            .get(12..14)
            .map_or(0, |it| usize::from(it[0]) << 8 | usize::from(it[1]));
        let without = octets.len().saturating_sub(fcs::LEN);
        if kind < 0x600 {
            if field!(self, MACCR, APCS) != 0 {
                return without.min(14 + kind);
            }
        } else if field!(self, MACCR, CSTF) != 0 {
            return without;
        }
        octets.len()
    }

    /// The FIFO is full: what arrives of the frame from here on is lost.
    pub(super) fn cut_off(&mut self, stored: usize) {
        self.count(offsets::RX_FIFO_OVERFLOW, 1);
        self.missed[1] += 1;
        self.raise(regs::DMASR::ROS.mask());
        let Some(last) = self.receiver.fifo.back_mut() else {
            return;
        };
        if last.taken == 0 {
            self.receiver.fifo.pop_back();
            return;
        }
        last.len = stored;
        last.flags |= OVERFLOW | ERROR_SUMMARY;
        last.is_closed = true;
    }

    /// The frame has arrived.
    pub(super) fn close(&mut self) {
        let verifies = field!(self, MACCR, IPCO) != 0 && self.parameters.has_checksums;
        let Some(mut last) = self.receiver.fifo.pop_back() else {
            return;
        };
        last.is_closed = true;
        let octets = &last.frame.octets;
        let is_bad = last.frame.fault.is_some() || !fcs::is_good(octets);
        if is_bad {
            last.flags |= BAD_FCS;
        }
        if last.frame.fault == Some(DropCause::Alignment) {
            last.flags |= DRIBBLE;
        }
        if octets.get(12..14) == Some(&[0x81, 0]) {
            last.flags |= TAGGED;
        }
        if verifies {
            last.verdict = checksum::verify(&octets[..octets.len() - fcs::LEN]);
        }
        if last.flags & (BAD_FCS | WATCHDOG) != 0 {
            last.flags |= ERROR_SUMMARY;
        }
        self.count_received(&last, is_bad);
        if last.flags & WATCHDOG != 0 {
            self.raise(regs::DMASR::RWTS.mask());
        }
        let forwards = field!(self, DMAOMR, FEF) != 0;
        let drops_sums = field!(self, DMAOMR, DTCEFD) == 0 && self.stores_received();
        let has_error = last.flags & ERROR_SUMMARY != 0 || drops_sums && last.verdict.is_bad();
        let is_dropped = has_error && !forwards && last.taken == 0;
        if !is_dropped {
            self.receiver.fifo.push_back(last);
        }
        if let Some(front) = self.receiver.fifo.front_mut() {
            // The next frame lets a suspended DMA read its descriptor again.
            front.was_tried = false;
        }
    }

    pub(super) fn count_received(&mut self, it: &Stored, is_bad: bool) {
        let octets = &it.frame.octets;
        let len = octets.len();
        self.count(offsets::RX_FRAMECOUNT_GB, 1);
        self.count(offsets::RX_OCTETCOUNT_GB, len as u32);
        let class = offsets::RX_64_OCTETS_GB.offset + size_class(len);
        let class = linerate_regs::RegisterRef {
            offset: class,
            ..offsets::RX_64_OCTETS_GB
        };
        self.count(class, 1);
        let longest = if it.flags & TAGGED != 0 { 1522 } else { 1518 };
        if it.flags & WATCHDOG != 0 {
            self.count(offsets::RX_WATCHDOG_ERROR, 1);
        }
        if is_bad {
            self.count(offsets::MMCRFCECR, 1);
            if len > longest {
                self.count(offsets::RX_JABBER_ERROR, 1);
            }
            return;
        }
        if len > longest {
            self.count(offsets::RX_OVERSIZE_G, 1);
        }
        self.count(offsets::RX_OCTETCOUNT_G, len as u32);
        let group = if octets.starts_with(&[0xff; 6]) {
            offsets::RX_BROADCASTFRAME_G
        } else if octets[0] & 1 != 0 {
            offsets::RX_MULTICASTFRAME_G
        } else {
            offsets::MMCRGUFCR
        };
        self.count(group, 1);
    }
}

//! PAUSE frames to the partner (RM0090 section 33.5.3, MACFCR).

use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::pause::{self, Pause};

use super::counters::offsets;
use super::transmit::Transmitter;
use super::{Dwmac, LineFrame, field, regs};
use crate::time::{Instant, Span};

/// `MACFCR.PLT` in quanta.
const REFRESH_QUANTA: [u32; 4] = [4, 28, 144, 256];
/// FIFOs from this size on have thresholds in DMAOMR; their unit.
const HAS_THRESHOLDS: u32 = 4096;
const THRESHOLD_BYTES: u32 = 1024;

/// State of the request to the partner to wait.
#[derive(Debug, Default)]
pub(super) enum PauseState {
    #[default]
    Off,
    /// A PAUSE frame is to be sent, from this time on.
    Due(Instant),
    /// It was sent; the next one is due then.
    Sent(Instant),
}

impl Transmitter {
    /// True from the time that the FIFO is above its threshold.
    pub(super) fn is_pausing(&self) -> bool {
        !matches!(self.pause, PauseState::Off)
    }

    /// When a PAUSE frame is due.
    pub(super) fn pause_due(&self) -> Instant {
        if self.pause_requested {
            return Instant::ZERO;
        }
        let due = match self.pause {
            PauseState::Off => Instant::NEVER,
            PauseState::Due(at) | PauseState::Sent(at) => at,
        };
        due.min(self.resume.unwrap_or(Instant::NEVER))
    }
}

impl Dwmac {
    /// Levels of the receive FIFO from which PAUSE frames are sent, and below which they end.
    pub(super) fn levels(&self) -> Option<(u32, u32)> {
        let size = self.parameters.receive_fifo;
        if size < HAS_THRESHOLDS {
            let level = self.parameters.pause_level;
            return (level > 0).then_some((level, level));
        }
        if field!(self, DMAOMR, EFC) == 0 {
            return None;
        }
        let start = field!(self, DMAOMR, RFA2) << 2 | field!(self, DMAOMR, RFA);
        let end = field!(self, DMAOMR, RFD2) << 2 | field!(self, DMAOMR, RFD);
        let level = |below: u32| size.saturating_sub(THRESHOLD_BYTES * (below + 1)).max(1);
        Some((level(start), level(end).min(level(start))))
    }

    /// The same, if this side sends PAUSE frames.
    pub(super) fn pause_levels(&self) -> Option<(u32, u32)> {
        let sends = field!(self, MACFCR, TFCE) != 0 && self.is_full_duplex();
        let is_on = field!(self, MACCR, TE) != 0;
        self.levels().filter(|_| sends && is_on)
    }

    /// Value of `MACDBGR.RFFL`.
    pub(super) fn level_class(&self, now: Instant) -> u32 {
        let level = self.receiver.level(now);
        let (start, _) = self.levels().unwrap_or((u32::MAX, 0));
        if level == 0 {
            0
        } else if level >= self.parameters.receive_fifo {
            3
        } else if level >= start {
            2
        } else {
            1
        }
    }

    /// Compares the receive FIFO with its thresholds.
    pub(super) fn check_pause(&mut self, now: Instant) {
        let Some((start, end)) = self.pause_levels() else {
            self.transmitter.pause = PauseState::Off;
            self.transmitter.resume = None;
            return;
        };
        let level = self.receiver.level(now);
        match self.transmitter.pause {
            PauseState::Off if level >= start => {
                self.transmitter.pause = PauseState::Due(now);
                self.transmitter.resume = None;
            }
            PauseState::Due(_) if level < end => self.transmitter.pause = PauseState::Off,
            PauseState::Sent(_) if level < end => {
                self.transmitter.pause = PauseState::Off;
                let ends = field!(self, MACFCR, ZQPD) == 0;
                self.transmitter.resume = ends.then_some(now);
            }
            _ => {}
        }
    }

    /// Sends the PAUSE frame that is due.
    pub(super) fn send_pause(&mut self, now: Instant) {
        let mode = self.line_mode();
        let ends = self.transmitter.resume.take().is_some() && !self.transmitter.pause_requested;
        let quanta = if ends {
            0
        } else {
            field!(self, MACFCR, PT) as u16
        };
        self.transmitter.pause_requested = false;
        let high = self.register(regs::MACA0HR.offset).to_le_bytes();
        let low = self.register(regs::MACA0LR.offset).to_le_bytes();
        let source = MacAddress([low[0], low[1], low[2], low[3], high[0], high[1]]);
        let mut octets = vec![0; pause::FRAME_LEN];
        // The buffer has the frame's length.
        let _ = Pause { source, quanta }.emit(&mut octets);
        octets.extend(fcs::crc32(&octets).to_le_bytes());
        let frame = LineFrame::new(octets, now, mode);
        self.transmitter.line_free = frame.next_start();
        if !ends && self.transmitter.is_pausing() {
            let before = REFRESH_QUANTA[field!(self, MACFCR, PLT) as usize];
            let wait = mode.quanta(u32::from(quanta).saturating_sub(before));
            let wait = Span::from_ticks(wait.ticks().max(mode.quanta(1).ticks()));
            self.transmitter.pause = PauseState::Sent(frame.end + wait);
        }
        self.count(offsets::TX_PAUSE_FRAME, 1);
        self.count_sent(&frame.octets, false);
        self.sent.push_back(frame);
    }
}

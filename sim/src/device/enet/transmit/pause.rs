//! PAUSE frames to the partner ("Full-duplex flow control operation").

use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::pause::{self, Pause};

use super::{PauseState, Transmitter};
use crate::device::enet::counters::offsets;
use crate::device::enet::{Enet, LineFrame, RECEIVE, field};
use crate::time::{Instant, Span};

/// A PAUSE frame is sent again when this part of its time is over.
const REFRESHES_IN: u64 = 2;

impl Transmitter {
    /// True from the time that the FIFO is above its threshold.
    pub(in crate::device::enet) fn is_pausing(&self) -> bool {
        !matches!(self.pause, PauseState::Off)
    }

    /// When a PAUSE frame is due.
    pub(super) fn pause_due(&self) -> Instant {
        let due = match self.pause {
            PauseState::Off => Instant::NEVER,
            PauseState::Due(at) | PauseState::Sent(at) => at,
        };
        let due = due.min(self.resume.unwrap_or(Instant::NEVER));
        if self.pause_requested {
            Instant::ZERO
        } else {
            due
        }
    }
}

impl Enet {
    /// Compares the receive FIFO with its pause threshold.
    pub(in crate::device::enet) fn check_pause(&mut self, now: Instant) {
        let Some(threshold) = self.pause_level() else {
            self.transmitter.pause = PauseState::Off;
            self.transmitter.resume = None;
            return;
        };
        let leaving = self.engine.leaving(RECEIVE, now);
        let is_above = self.receiver.level(now) + leaving >= threshold;
        match self.transmitter.pause {
            PauseState::Off if is_above => {
                self.transmitter.pause = PauseState::Due(now);
                self.transmitter.resume = None;
            }
            PauseState::Due(_) if !is_above => self.transmitter.pause = PauseState::Off,
            PauseState::Sent(_) if !is_above => {
                self.transmitter.pause = PauseState::Off;
                self.transmitter.resume = Some(now);
            }
            _ => {}
        }
    }

    /// Sends the PAUSE frame that is due.
    pub(super) fn send_pause(&mut self, now: Instant) {
        let full = field!(self, OPD, PAUSE_DUR) as u16;
        let mode = self.line_mode();
        let quanta = if self.transmitter.resume.take().is_some() {
            0
        } else {
            full
        };
        self.transmitter.pause_requested = false;
        let mut octets = vec![0; pause::FRAME_LEN];
        let source = MacAddress(self.address());
        // The buffer has the frame's length.
        let _ = Pause { source, quanta }.emit(&mut octets);
        octets.extend(fcs::crc32(&octets).to_le_bytes());
        let frame = LineFrame::new(octets, now, mode);
        self.transmitter.line_free = frame.next_start();
        if quanta > 0 && self.transmitter.is_pausing() {
            let time = mode.quanta(quanta.into()).ticks() / REFRESHES_IN;
            let next = frame.end + Span::from_ticks(time);
            self.transmitter.pause = PauseState::Sent(next);
        }
        self.count(offsets::IEEE_T_FDXFC.offset, 1);
        self.count_sent(&frame.octets);
        self.sent.push_back(frame);
    }
}

//! The transmitter: FIFO, inter-packet gap, pause.

use std::collections::VecDeque;

use linerate_ether::fcs;
use linerate_ether::frame::{self, MacAddress};
use linerate_ether::ledger::DropCause;
use linerate_ether::pause::{self, Pause};

use super::registers as tse;
use super::settings::Settings;
use super::statistics::Statistics;
use crate::device::port::{Fragment, LineFrame, LinkMode};
use crate::time::{Instant, Span};

/// Octets after which the level of the FIFO is looked at again while a frame is sent.
const STEP: u64 = 64;
/// Room in the FIFO below which that matters.
const TIGHT: usize = 512;

/// A packet in the FIFO.
#[derive(Clone, Debug)]
struct Packet {
    octets: Vec<u8>,
    is_complete: bool,
    /// Time from which it may be sent.
    ready_at: Option<Instant>,
    /// It was broken off: the rest is discarded when it comes.
    is_broken: bool,
}

/// A frame on the line.
#[derive(Clone, Debug)]
struct Sending {
    start: Instant,
    mode: LinkMode,
    /// The octets of a pause frame; `None` for the first packet in the FIFO.
    pause: Option<Vec<u8>>,
    /// Octets sent when it was last looked at.
    seen: u64,
}

impl Sending {
    /// Octets after the preamble that are sent by `now`.
    fn octets_sent(&self, now: Instant) -> u64 {
        let octet = self.mode.duration(1).ticks();
        (now.since(self.start).ticks() / octet).saturating_sub(LinkMode::PREAMBLE)
    }

    fn end(&self, octets: usize) -> Instant {
        self.mode.arrival(self.start, octets)
    }
}

/// The transmitter.
#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    capacity: usize,
    packets: VecDeque<Packet>,
    /// Octets of all packets.
    used: usize,
    sending: Option<Sending>,
    /// End of the gap after the last frame.
    free_at: Instant,
    /// The partner has asked for silence until then.
    pause_until: Instant,
    enabled_from: Instant,
    /// Pause times of frames to send.
    pauses: VecDeque<(u16, Instant)>,
}

impl Transmitter {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            packets: VecDeque::new(),
            used: 0,
            sending: None,
            free_at: Instant::ZERO,
            pause_until: Instant::ZERO,
            enabled_from: Instant::ZERO,
            pauses: VecDeque::new(),
        }
    }

    /// Empties the FIFO.
    pub fn reset(&mut self) {
        *self = Self {
            free_at: self.free_at,
            ..Self::new(self.capacity)
        };
    }

    pub fn enable(&mut self, now: Instant) {
        self.enabled_from = now;
    }

    /// Sends a pause frame as soon as the line is free.
    pub fn send_pause(&mut self, quanta: u16, now: Instant) {
        // A newer request replaces the one that waits.
        self.pauses.truncate(1);
        self.pauses.push_back((quanta, now));
    }

    /// The partner asks for silence.
    pub fn pause(&mut self, span: Span, now: Instant) {
        self.pause_until = now + span;
    }

    /// Octets that the FIFO accepts at `now`.
    pub fn room(&self, settings: &Settings, now: Instant) -> usize {
        let reserve = settings.octets(tse::TX_ALMOST_FULL);
        (self.capacity - self.level(now)).saturating_sub(reserve)
    }

    fn level(&self, now: Instant) -> usize {
        let sent = match (&self.sending, self.packets.front()) {
            (Some(sending), Some(packet)) if sending.pause.is_none() => {
                packet.octets.len().min(sending.octets_sent(now) as usize)
            }
            _ => 0,
        };
        self.used - sent
    }

    pub fn input(&mut self, fragment: Fragment, settings: &Settings, now: Instant) {
        if let Some(packet) = self.packets.back()
            && packet.is_broken
        {
            if fragment.end.is_some() {
                self.packets.pop_back();
            }
            return;
        }
        self.used += fragment.octets.len();
        if self.packets.back().is_none_or(|packet| packet.is_complete) {
            self.packets.push_back(Packet {
                octets: Vec::new(),
                is_complete: false,
                ready_at: None,
                is_broken: false,
            });
        }
        let is_full = self.room(settings, now) == 0;
        let Some(packet) = self.packets.back_mut() else {
            return;
        };
        packet.octets.extend(fragment.octets);
        packet.is_complete = fragment.end.is_some();
        let threshold = settings.octets(tse::TX_SECTION_FULL);
        let is_begun = threshold > 0 && packet.octets.len() >= threshold;
        // A frame that does not fit is begun when the FIFO is full.
        if packet.ready_at.is_none() && (packet.is_complete || is_begun || is_full) {
            packet.ready_at = Some(now);
        }
    }

    /// Earliest start of the next frame, and whether it is a pause frame.
    fn ready(&self, settings: &Settings) -> Option<(Instant, bool)> {
        if !settings.command(tse::COMMAND_CONFIG::TX_ENA) {
            return None;
        }
        let free = self.free_at.max(self.enabled_from);
        if let Some((_, asked)) = self.pauses.front() {
            return Some((free.max(*asked), true));
        }
        let ready = self.packets.front()?.ready_at?;
        Some((free.max(ready).max(self.pause_until), false))
    }

    /// Octets on the line of the frame that is sent, if they are known.
    fn octets(&self, settings: &Settings) -> Option<Vec<u8>> {
        let sending = self.sending.as_ref()?;
        if let Some(pause) = &sending.pause {
            return Some(pause.clone());
        }
        let packet = self.packets.front().filter(|it| it.is_complete)?;
        Some(on_the_line(&packet.octets, settings))
    }

    fn line_len(&self, settings: &Settings) -> Option<usize> {
        let sending = self.sending.as_ref()?;
        if let Some(pause) = &sending.pause {
            return Some(pause.len());
        }
        let packet = self.packets.front().filter(|it| it.is_complete)?;
        let len = (packet.octets.len()).saturating_sub(shift(settings));
        Some(if settings.omits_fcs() {
            len
        } else {
            len.max(frame::MIN_LEN - fcs::LEN) + fcs::LEN
        })
    }

    pub fn next_event(&self, settings: &Settings) -> Instant {
        let Some(sending) = &self.sending else {
            return self.ready(settings).map_or(Instant::NEVER, |it| it.0);
        };
        let next = LinkMode::PREAMBLE + sending.seen + STEP;
        let step = sending.start + sending.mode.duration(next);
        match self.line_len(settings) {
            Some(len) if self.used + TIGHT <= self.capacity => sending.end(len),
            Some(len) => sending.end(len).min(step),
            None => step,
        }
    }

    /// Sends until `now`; returns a frame that has ended, if any. Call it until there is none.
    pub fn advance(
        &mut self,
        settings: &Settings,
        statistics: &mut Statistics,
        now: Instant,
    ) -> Option<LineFrame> {
        if self.sending.is_none() {
            let (start, is_pause) = self.ready(settings).filter(|it| it.0 <= now)?;
            let mut pause = None;
            if is_pause {
                let (quanta, _) = self.pauses.pop_front()?;
                pause = Some(pause_frame(settings.address(), quanta));
            }
            self.sending = Some(Sending {
                start,
                mode: settings.mode(),
                pause,
                seen: 0,
            });
        }
        let len = self.line_len(settings);
        let sending = self.sending.as_mut()?;
        let sent = sending.octets_sent(now);
        sending.seen = sent / STEP * STEP;
        let end = match len {
            Some(len) => sending.end(len),
            None => return self.check_underflow(settings, statistics, sent, now),
        };
        if end > now {
            return None;
        }
        let octets = self.octets(settings)?;
        let sending = self.sending.take()?;
        if sending.pause.is_some() {
            statistics.sent_pause();
        } else {
            statistics.sent(&octets);
            self.drop_first();
        }
        Some(self.frame(&sending, octets, end, None, settings))
    }

    /// Breaks off a frame whose next octets are not there in time.
    fn check_underflow(
        &mut self,
        settings: &Settings,
        statistics: &mut Statistics,
        sent: u64,
        now: Instant,
    ) -> Option<LineFrame> {
        let needed = sent as usize + settings.octets(tse::TX_ALMOST_EMPTY);
        let packet = self.packets.front_mut()?;
        // The preamble is always sent.
        let is_begun =
            (self.sending.as_ref()).is_some_and(|it| it.mode.arrival(it.start, 0) <= now);
        if needed <= packet.octets.len() || !is_begun {
            return None;
        }
        statistics.count(tse::IF_OUT_ERRORS);
        let mut octets = packet.octets.clone();
        octets.truncate(sent as usize);
        self.used -= packet.octets.len();
        packet.octets.clear();
        packet.ready_at = None;
        packet.is_broken = true;
        let sending = self.sending.take()?;
        let fault = Some(DropCause::FifoUnderrun);
        Some(self.frame(&sending, octets, now, fault, settings))
    }

    fn drop_first(&mut self) {
        if let Some(packet) = self.packets.pop_front() {
            self.used -= packet.octets.len();
        }
    }

    fn frame(
        &mut self,
        sending: &Sending,
        octets: Vec<u8>,
        end: Instant,
        fault: Option<DropCause>,
        settings: &Settings,
    ) -> LineFrame {
        let gap = u64::from(settings.value(tse::TX_IPG_LENGTH) & 0x1f).max(8);
        self.free_at = end + sending.mode.duration(gap);
        LineFrame {
            octets,
            start: sending.start,
            end,
            fault,
        }
    }
}

/// Octets that the MAC drops before each frame.
fn shift(settings: &Settings) -> usize {
    if settings.shifts_sent() { 2 } else { 0 }
}

/// A packet as a frame: padding and FCS appended.
fn on_the_line(packet: &[u8], settings: &Settings) -> Vec<u8> {
    let mut octets = packet.get(shift(settings)..).unwrap_or(&[]).to_vec();
    if settings.command(tse::COMMAND_CONFIG::TX_ADDR_INS)
        && let Some(source) = octets.get_mut(6..12)
    {
        source.copy_from_slice(&settings.address().0);
    }
    if !settings.omits_fcs() {
        octets.resize(octets.len().max(frame::MIN_LEN - fcs::LEN), 0);
        append_fcs(&mut octets);
    }
    octets
}

fn pause_frame(source: MacAddress, quanta: u16) -> Vec<u8> {
    let mut octets = vec![0; pause::FRAME_LEN];
    // It has the room, so this cannot fail.
    let _ = Pause { source, quanta }.emit(&mut octets);
    append_fcs(&mut octets);
    octets
}

fn append_fcs(octets: &mut Vec<u8>) {
    let fcs = fcs::crc32(octets).to_le_bytes();
    octets.extend(fcs);
}

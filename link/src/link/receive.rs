//! From octets of the wire to messages and acknowledgments.

use super::{Channel, Link, Target, Timed};
use crate::crc;
use crate::decoder::{Decoded, End};
use crate::probe::Probe;
use crate::receiver::Verdict;
use crate::time::Instant;
use crate::wire::{HELLO, Kind, PROBE, flag};

impl<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize> Link<B, N> {
    /// Handles received octets, any number of them. `now` is the time of the last one.
    pub fn receive(&mut self, now: Instant, octets: &[u8]) {
        for octet in octets {
            match self.decoder.push(*octet) {
                Decoded::Nothing => {}
                Decoded::Header => self.target = self.choose_target(),
                Decoded::Payload(at, octet) => self.store(at, octet),
                Decoded::End(end) => {
                    self.on_end(now, end);
                    self.decoder.restart();
                    self.target = Target::Nowhere;
                }
            }
        }
    }

    /// Selects the place of a payload by its header, which may be wrong: nothing is committed before the check.
    fn choose_target(&mut self) -> Target {
        let header = self.decoder.header();
        match header.kind() {
            Kind::Hello => Target::Hello,
            Kind::Probe => Target::Probe,
            Kind::Acknowledgment => Target::Nowhere,
            Kind::Data => {
                let is_taken = |c: &mut Channel<B>| c.receiver.wants(header.sequence());
                if !self.open_channel(header.channel()).is_some_and(is_taken) {
                    return Target::Nowhere;
                }
                Target::Fifo {
                    channel: header.channel() as u8,
                    is_first: header.has(flag::FIRST),
                }
            }
        }
    }

    fn store(&mut self, at: usize, octet: u8) {
        let place = match self.target {
            Target::Nowhere => None,
            Target::Fifo { channel, is_first } => {
                if let Some(channel) = self.channels.get_mut(usize::from(channel)) {
                    channel.receiver.fifo.store(is_first, at, octet);
                }
                None
            }
            Target::Hello if at >= HELLO => {
                let at = at - HELLO;
                let channel = self.channels.get_mut(at / 3);
                channel.and_then(|c| c.receiver.announced.get_mut(at % 3))
            }
            Target::Hello | Target::Probe => self.scratch.get_mut(at),
        };
        if let Some(place) = place {
            *place = octet;
        }
    }

    fn on_end(&mut self, now: Instant, end: End) {
        let key = match self.decoder.header().kind() {
            Kind::Hello => 0,
            _ => crc::of_sessions(self.peer, self.config.session),
        };
        match end {
            End::Empty => {}
            End::Aborted => {
                self.counters.aborted = self.counters.aborted.wrapping_add(1);
                self.restart_timers(now);
            }
            End::Whole {
                payload_len,
                difference,
            } if difference == key => self.on_frame(now, payload_len),
            End::Damaged | End::Whole { .. } => self.on_damaged(now),
        }
    }

    fn on_damaged(&mut self, now: Instant) {
        self.counters.damaged = self.counters.damaged.wrapping_add(1);
        self.restart_timers(now);
        let header = self.decoder.header();
        if self.decoder.has_header()
            && header.kind() == Kind::Data
            && let Some(channel) = self.open_channel(header.channel())
        {
            channel.receiver.on_damaged(header.sequence());
        }
    }

    /// A damaged frame may have had the acknowledgment that is waited for, which comes again with the next one.
    fn restart_timers(&mut self, now: Instant) {
        if !core::mem::replace(&mut self.may_restart_timers, false) {
            return;
        }
        for channel in &mut self.channels {
            channel.sender.stop();
        }
        self.arm(now);
    }

    fn on_frame(&mut self, now: Instant, len: usize) {
        self.counters.frames = self.counters.frames.wrapping_add(1);
        self.may_restart_timers = true;
        let kind = self.decoder.header().kind();
        if kind == Kind::Hello {
            return self.on_hello(len);
        }
        // Only a peer that knows this session makes such a check.
        self.come_up();
        match kind {
            Kind::Probe => self.on_probe(now, len),
            _ => self.on_channel(now, kind, len),
        }
    }

    /// Data or an acknowledgment.
    fn on_channel(&mut self, now: Instant, kind: Kind, len: usize) {
        let header = self.decoder.header();
        self.on_acknowledgment(now);
        let timeout_us = self.timeout_us();
        let Some(channel) = self.open_channel(header.channel()) else {
            return;
        };
        if kind == Kind::Acknowledgment {
            if header.has(flag::POLL) {
                channel.receiver.on_poll(header.sequence());
            }
            if header.has(flag::REJECT) {
                let keeps_next = len > 0;
                channel.sender.on_reject(now, timeout_us, keeps_next);
                self.on_reject(keeps_next);
            }
            return;
        }
        let (is_first, is_last) = (header.has(flag::FIRST), header.has(flag::LAST));
        let receiver = &mut channel.receiver;
        let counter = match receiver.on_data(header.sequence(), is_first, is_last, len) {
            Verdict::Accepted | Verdict::Gap => return,
            Verdict::Duplicate => &mut self.counters.duplicates,
            Verdict::Overrun => &mut self.counters.overruns,
        };
        *counter = counter.wrapping_add(1);
    }

    /// Every frame of a channel acknowledges, and grants credit.
    fn on_acknowledgment(&mut self, now: Instant) {
        let header = self.decoder.header();
        let timeout_us = self.timeout_us();
        let Some(channel) = self.open_channel(header.channel()) else {
            return;
        };
        let sender = &mut channel.sender;
        let Some((first, count)) = sender.on_acknowledgment(header.acknowledged(), header.credit())
        else {
            return;
        };
        sender.arm(now, timeout_us);
        let timed = self.timed;
        if usize::from(timed.channel) == header.channel()
            && timed.sequence.wrapping_sub(first) < count
        {
            self.timed = Timed::NONE;
            self.round_trip.add(now.us_since(timed.sent));
        }
    }

    /// What is on its way on the channel is sent again: no measurement of it, and no need to go on with its frame,
    /// unless the peer keeps that.
    fn on_reject(&mut self, keeps_next: bool) {
        let header = self.decoder.header();
        let channel = header.channel();
        if usize::from(self.timed.channel) == channel {
            self.timed = Timed::NONE;
        }
        let sent = self.encoder.header();
        let is_kept = keeps_next && sent.sequence().wrapping_sub(header.acknowledged()) == 1;
        if sent.kind() == Kind::Data && sent.channel() == channel && !is_kept {
            self.abort_frame();
        }
    }

    fn on_probe(&mut self, now: Instant, len: usize) {
        if len < PROBE {
            return;
        }
        let header = self.decoder.header();
        let stamp = |at| Instant::from_us(self.field(at));
        let stamps = [stamp(0), stamp(4), stamp(8)];
        if header.has(flag::REPLY) {
            self.is_answered = true;
            self.answer = Probe {
                number: header.sequence(),
                sent: stamps[0],
                peer_received: stamps[1],
                peer_sent: stamps[2],
                received: now,
            };
            return;
        }
        self.probes.reply = [stamps[0], now];
        self.probes.peer_number = header.sequence();
        self.probes.reply_due = true;
    }

    /// The 32-bit field at octet `at` of a hello or a probe.
    pub(super) fn field(&self, at: usize) -> u32 {
        let field = self.scratch.get(at..).and_then(<[u8]>::first_chunk);
        field.map_or(0, |octets| u32::from_le_bytes(*octets))
    }
}

//! From messages to octets of the wire: which frame is next.

use super::{Link, Timed};
use crate::crc;
use crate::time::{Deadline, Instant};
use crate::wire::{HELLO, Header, Kind, PROBE, VERSION, flag};

/// Spreads consecutive times over all 32 bits: 2^32 divided by the golden ratio (Knuth, The Art of Computer Programming,
/// volume 3, section 6.4).
const SPREAD: u32 = 0x9E37_79B1;

impl<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize> Link<B, N> {
    /// Writes the next octets of the wire to `out`; returns their number, less than there is room for if there is
    /// nothing more to send now. `now` is the time at which they go out.
    ///
    /// Octets that were returned cannot be overtaken: the shorter `out` is, the sooner an urgent message goes.
    pub fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize {
        self.on_time(now);
        let mut count = 0;
        while count < out.len() {
            if self.encoder.is_idle() && !self.begin_frame(now) {
                break;
            }
            let mut encoder = self.encoder;
            let free = out.get_mut(count..).unwrap_or_default();
            for place in free {
                let Some(octet) = encoder.next(|| self.key_out(), |at| self.payload_octet(at))
                else {
                    break;
                };
                *place = octet;
                count += 1;
            }
            self.encoder = encoder;
            if self.encoder.is_idle() {
                self.end_frame(now);
            }
        }
        self.arm(now);
        count
    }

    /// The time at which [`transmit`](Self::transmit) has to be called although nothing was received or sent.
    pub fn next_timeout(&self) -> Option<Instant> {
        let mut next = self.hello_deadline.get();
        for channel in &self.channels {
            if let Some(at) = channel.sender.deadline().get()
                && next.is_none_or(|next| next.has_reached(at))
            {
                next = Some(at);
            }
        }
        next
    }

    pub(super) fn on_time(&mut self, now: Instant) {
        if self.hello_deadline.is_due(now) {
            self.hello_deadline = Deadline::NONE;
            self.hello_due = true;
        }
        let timeout_us = self.timeout_us();
        let sent = self.encoder.header();
        let is_data = !self.encoder.is_idle() && sent.kind() == Kind::Data;
        for (number, channel) in self.channels.iter_mut().enumerate() {
            let sending = (is_data && sent.channel() == number).then_some(sent.sequence());
            if channel.sender.on_time(now, timeout_us, sending) {
                self.counters.polls = self.counters.polls.wrapping_add(1);
            }
        }
    }

    /// Starts the timers of channels that wait for their peer.
    pub(super) fn arm(&mut self, now: Instant) {
        let timeout_us = self.timeout_us();
        for channel in &mut self.channels {
            channel.sender.arm(now, timeout_us);
        }
    }

    /// Selects the next frame, if there is one.
    fn begin_frame(&mut self, now: Instant) -> bool {
        if self.hello_due {
            self.begin_hello(now);
            return true;
        }
        if !self.is_up {
            return false;
        }
        (usize::from(self.held)..usize::from(self.open))
            .any(|channel| self.begin_channel(channel) || (channel == 0 && self.begin_probe(now)))
    }

    fn begin_hello(&mut self, now: Instant) {
        self.hello_due = false;
        let wanted = if self.is_up { 0 } else { flag::WANTED };
        if !self.is_up {
            // Up to 4 ms more, by no rhythm: a disturbance with a period would meet each hello, or none.
            let more_us = now.us().wrapping_mul(SPREAD) >> 20;
            let after_us = self.config.initial_timeout_us.wrapping_add(more_us);
            self.hello_deadline = Deadline::at(now.after_us(after_us));
        }
        let [low, high] = self.config.max_fragment.to_le_bytes();
        let header = Header::new(Kind::Hello, wanted, VERSION.into(), [N as u8, low, high]);
        self.encoder.begin(header, HELLO + 3 * N, true);
    }

    /// Begins a frame of a channel: what its recovery needs, else data, else an acknowledgment.
    fn begin_channel(&mut self, number: usize) -> bool {
        let Some(channel) = self.channels.get_mut(number) else {
            return false;
        };
        let (sender, receiver) = (&mut channel.sender, &mut channel.receiver);
        if sender.drop_unfit() {
            self.counters.dropped = self.counters.dropped.wrapping_add(1);
        }
        let is_recovery = sender.poll_due || receiver.reject_due;
        let fragment = sender.ready().filter(|_| !is_recovery);
        if fragment.is_none() && !is_recovery && !receiver.acknowledgment_due {
            return false;
        }
        receiver.acknowledgment_due = false;
        let acknowledged = receiver.expected();
        let credit = receiver.grant();
        let (kind, flags, sequence, len, lead);
        if let Some(fragment) = fragment {
            let first = if fragment.is_first { flag::FIRST } else { 0 };
            let last = if fragment.is_last { flag::LAST } else { 0 };
            let again;
            (sequence, again) = sender.on_sent(fragment);
            (kind, flags, len, lead) = (Kind::Data, first | last, fragment.len, false);
            self.payload_at = fragment.at as u16;
            self.is_new = !again;
            self.counters.retransmitted = self.counters.retransmitted.wrapping_add(again.into());
        } else {
            let poll = if sender.poll_due { flag::POLL } else { 0 };
            let reject = if receiver.reject_due { flag::REJECT } else { 0 };
            // Noise may have caused the loss, and may be before this frame, too.
            lead = sender.poll_due;
            // An octet behind a REJECT indicates that the next frame is kept.
            let keeps = receiver.reject_due && receiver.keeps_next() && !lead;
            (kind, flags, len) = (Kind::Acknowledgment, poll | reject, keeps.into());
            sequence = sender.newest();
            sender.poll_due = false;
            receiver.reject_due = false;
        }
        let header = Header::new(kind, flags, number, [sequence, acknowledged, credit]);
        self.encoder.begin(header, len, lead);
        true
    }

    fn begin_probe(&mut self, now: Instant) -> bool {
        let probes = &mut self.probes;
        let (flags, number);
        if probes.reply_due {
            probes.reply_due = false;
            let [sent, received] = probes.reply;
            probes.stamps = [sent, received, now];
            (flags, number) = (flag::REPLY, probes.peer_number);
        } else if probes.request_due {
            probes.request_due = false;
            probes.stamps = [now, Instant::default(), Instant::default()];
            (flags, number) = (0, probes.number);
        } else {
            return false;
        }
        let header = Header::new(Kind::Probe, flags, 0, [number, 0, 0]);
        self.encoder.begin(header, PROBE, false);
        true
    }

    fn key_out(&self) -> u32 {
        match self.encoder.header().kind() {
            Kind::Hello => 0,
            _ => crc::of_sessions(self.config.session, self.peer),
        }
    }

    fn payload_octet(&self, at: usize) -> u8 {
        let header = self.encoder.header();
        match header.kind() {
            Kind::Data => self.channels.get(header.channel()).map_or(0, |c| {
                c.sender.queue.octet(usize::from(self.payload_at) + at)
            }),
            Kind::Acknowledgment => 0,
            Kind::Probe => self.probes.octet(at),
            Kind::Hello => self.hello_octet(at),
        }
    }

    /// The last octet of a frame was handed out.
    fn end_frame(&mut self, now: Instant) {
        let header = self.encoder.header();
        if header.kind() != Kind::Data {
            return;
        }
        if let Some(channel) = self.channels.get_mut(header.channel()) {
            channel.sender.on_frame_end(header.sequence());
        }
        if self.is_new && self.timed.channel == Timed::NONE.channel {
            self.timed = Timed {
                channel: header.channel() as u8,
                sequence: header.sequence(),
                sent: now,
            };
        }
    }

    /// Gives up the frame that is being sent; a hello, or its acknowledgment, has to be sent again.
    pub(super) fn abort_frame(&mut self) {
        if self.encoder.is_idle() {
            return;
        }
        self.encoder.abort();
        self.is_new = false;
        let header = self.encoder.header();
        if header.kind() == Kind::Hello {
            self.hello_due = true;
        } else if let Some(channel) = self.channels.get_mut(header.channel()) {
            channel.receiver.acknowledgment_due = true;
        }
    }
}

//! Sessions: both ends have heard of each other since they started.

use super::{Link, Timed};
use crate::time::Deadline;
use crate::wire::{HELLO, MAX_CHANNELS, VERSION, flag};

impl<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize> Link<B, N> {
    /// Handles the hello with a payload of `len` octets that has just been received.
    pub(super) fn on_hello(&mut self, len: usize) {
        let header = self.decoder.header();
        if header.channel() != usize::from(VERSION) {
            self.incompatible = Some(header.channel() as u8);
            return;
        }
        let channels = usize::from(header.sequence());
        let (session, echo) = (self.field(0), self.field(4));
        // Its own hello comes from a line that is short-circuited.
        if channels > MAX_CHANNELS
            || len < HELLO + 3 * channels
            || session == 0
            || session == self.config.session
        {
            return;
        }
        let knows_us = echo == self.config.session;
        if session != self.peer || (self.is_up && !knows_us) {
            self.begin(session, channels as u8);
        }
        if knows_us {
            self.come_up();
        }
        self.hello_due |= header.has(flag::WANTED);
    }

    /// Begins a session with a new peer, or with one that has restarted.
    fn begin(&mut self, peer: u32, channels: u8) {
        self.restart_due |= self.is_up;
        self.is_up = false;
        self.up_due = false;
        self.abort_frame();
        self.peer = peer;
        self.open = channels.min(N as u8);
        self.timed = Timed::NONE;
        self.probes.reply_due = false;
        let header = self.decoder.header();
        let theirs = u16::from_le_bytes([header.acknowledged(), header.credit()]);
        let max_fragment = theirs.clamp(1, self.config.max_fragment);
        let is_reliable = self.field(6) >> 16;
        for (number, channel) in self.channels.iter_mut().enumerate() {
            let is_open = number < usize::from(self.open);
            let [low, high, credit] = if is_open {
                channel.receiver.announced
            } else {
                [0; 3]
            };
            let capacity = usize::from(u16::from_le_bytes([low, high]));
            let dropped = channel.sender.restart(capacity, credit, max_fragment);
            self.counters.dropped = self.counters.dropped.wrapping_add(dropped);
            channel
                .receiver
                .restart(is_reliable & (1 << number) != 0, max_fragment);
        }
    }

    /// The peer knows this session: messages may be sent.
    pub(super) fn come_up(&mut self) {
        if !self.is_up && self.peer != 0 {
            self.is_up = true;
            self.up_due = true;
            self.hello_deadline = Deadline::NONE;
        }
    }

    /// Octet of the payload of a hello.
    pub(super) fn hello_octet(&self, at: usize) -> u8 {
        let number = |number: u32, at: usize| (number >> (at * 8)) as u8;
        match at {
            0..4 => number(self.config.session, at),
            4..8 => number(self.peer, at - 4),
            8..HELLO => {
                let reliable = self.channels.iter().rev();
                let bits = reliable.fold(0, |bits, c| bits << 1 | u32::from(c.sender.is_reliable));
                number(bits, at - 8)
            }
            _ => {
                let at = at - HELLO;
                self.channels.get(at / 3).map_or(0, |channel| {
                    let capacity = channel.receiver.fifo.capacity() as u32;
                    number(
                        capacity | u32::from(channel.receiver.credit()) << 16,
                        at % 3,
                    )
                })
            }
        }
    }
}

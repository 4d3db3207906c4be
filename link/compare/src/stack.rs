//! Stacks with the same calls: the link layer, and others with what an application adds so that nothing is lost.

use crate::codec::{Codec, Message};
use linerate_link::{Channel, Config, Counters, Instant, Link};
use std::collections::{HashSet, VecDeque};

/// Octets of transmit memory for bulk messages, of every stack.
pub const MEMORY: usize = 2048;

pub trait Stack {
    /// Queues a message; false if there is no room now.
    fn send(&mut self, now_us: u64, is_urgent: bool, message: &[u8]) -> bool;
    /// The next octets of the wire.
    fn transmit(&mut self, now_us: u64, room: &mut [u8]) -> usize;
    fn receive(&mut self, now_us: u64, octets: &[u8]);
    /// A received message.
    fn take(&mut self) -> Option<Vec<u8>>;
    /// Counters, if the stack has some.
    fn counters(&self) -> Option<Counters> {
        None
    }
}

/// This project's link layer.
pub struct Ours {
    link: Link<Vec<u8>, 2>,
    buffer: Vec<u8>,
}

impl Ours {
    pub fn new(session: u32) -> Self {
        let memory = |octets: usize| vec![0; octets];
        let channels = [
            Channel::reliable(memory(128), memory(128)),
            Channel::reliable(memory(MEMORY), memory(MEMORY)),
        ];
        Self {
            link: Link::new(Config::new(session), channels),
            buffer: vec![0; MEMORY],
        }
    }
}

fn instant(now_us: u64) -> Instant {
    Instant::from_us(now_us as u32)
}

impl Stack for Ours {
    fn send(&mut self, _: u64, is_urgent: bool, message: &[u8]) -> bool {
        self.link.send(usize::from(!is_urgent), message).is_ok()
    }

    fn transmit(&mut self, now_us: u64, room: &mut [u8]) -> usize {
        self.link.transmit(instant(now_us), room)
    }

    fn receive(&mut self, now_us: u64, octets: &[u8]) {
        self.link.receive(instant(now_us), octets);
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let read = (0..2).find_map(|channel| self.link.read(channel, &mut self.buffer));
        read.map(|len| self.buffer[..len].to_vec())
    }

    fn counters(&self) -> Option<Counters> {
        Some(*self.link.counters())
    }
}

/// Waits for replies, and how.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// Bulk messages without a reply at a time.
    pub window: usize,
    /// Time after which a message is sent again.
    pub timeout_us: u64,
}

/// A stack that sends messages as they are, or as calls that are repeated until their reply comes.
pub struct Datagrams<C> {
    codec: C,
    /// `None`: each message is sent once.
    calls: Option<Calls>,
    queue: VecDeque<u8>,
    next: u16,
    waiting: Vec<(Message, u64)>,
    received: Vec<u8>,
    delivered: VecDeque<Vec<u8>>,
    /// Numbers of the last requests, so that a repeated one is delivered once.
    seen: HashSet<u16>,
    recent: VecDeque<u16>,
}

impl<C: Codec> Datagrams<C> {
    pub fn new(codec: C, calls: Option<Calls>) -> Self {
        Self {
            codec,
            calls,
            queue: VecDeque::new(),
            next: 0,
            waiting: Vec::new(),
            received: Vec::new(),
            delivered: VecDeque::new(),
            seen: HashSet::new(),
            recent: VecDeque::new(),
        }
    }

    fn on_frame(&mut self, frame: &[u8]) {
        let Some(message) = self.codec.decode(frame) else {
            return;
        };
        if message.is_reply {
            self.waiting
                .retain(|(waiting, _)| waiting.number != message.number);
            return;
        }
        if self.calls.is_some() {
            let reply = Message {
                is_reply: true,
                octets: Vec::new(),
                ..message.clone()
            };
            self.queue.extend(self.codec.encode(&reply));
            if !self.seen.insert(message.number) {
                return;
            }
            self.recent.push_back(message.number);
            if self.recent.len() > 1000 {
                let oldest = self.recent.pop_front().expect("not empty");
                self.seen.remove(&oldest);
            }
        }
        self.delivered.push_back(message.octets);
    }
}

impl<C: Codec> Stack for Datagrams<C> {
    fn send(&mut self, now_us: u64, is_urgent: bool, message: &[u8]) -> bool {
        let bulk = self.waiting.iter().filter(|(m, _)| !m.is_urgent).count();
        let is_full = self.calls.is_some_and(|calls| bulk >= calls.window);
        // An urgent message always has room.
        if !is_urgent && (is_full || self.queue.len() + message.len() + 20 > MEMORY) {
            return false;
        }
        let message = Message {
            is_urgent,
            is_reply: false,
            number: self.next,
            octets: message.to_vec(),
        };
        self.next = self.next.wrapping_add(1);
        self.queue.extend(self.codec.encode(&message));
        if let Some(calls) = self.calls {
            self.waiting.push((message, now_us + calls.timeout_us));
        }
        true
    }

    fn transmit(&mut self, now_us: u64, room: &mut [u8]) -> usize {
        if let Some(calls) = self.calls {
            for (message, deadline) in &mut self.waiting {
                if now_us >= *deadline {
                    *deadline = now_us + calls.timeout_us;
                    self.queue.extend(self.codec.encode(message));
                }
            }
        }
        let count = room.len().min(self.queue.len());
        for (place, octet) in room.iter_mut().zip(self.queue.drain(..count)) {
            *place = octet;
        }
        count
    }

    fn receive(&mut self, _: u64, octets: &[u8]) {
        for octet in octets {
            if *octet == 0 {
                let frame = std::mem::take(&mut self.received);
                self.on_frame(&frame);
            } else {
                self.received.push(*octet);
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.delivered.pop_front()
    }
}

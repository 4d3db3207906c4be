//! Received datagrams of iperf 2, counted as its server does.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::machine::now;

/// Octets of Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 14 + 20 + 8;
const UDP: u8 = 17;
const PORT: u16 = 5001;

/// Counters, in the order of the words of `UDP_SINK` that the simulator reads.
#[derive(Clone, Copy)]
pub enum Count {
    /// 1 when the program is ready.
    Ready,
    /// Datagrams, in any order.
    Datagrams,
    /// Datagrams after a later one.
    OutOfOrder,
    /// Number of the latest, plus one.
    Latest,
    /// Jitter (RFC 3550 section 6.4.1) in ns.
    Jitter,
    /// Interrupts of the MAC.
    Interrupts,
    /// Turns of polling.
    Turns,
    /// Frames that the backlog had no room for.
    BacklogFull,
    /// Frames with an overrun that reached the stack.
    BadFrames,
    /// Times that the program slept.
    Sleeps,
    /// Datagrams that the socket had no room for.
    SocketFull,
    /// Buffers in which no frame ended, each of them a line in the log.
    Parts,
}

const COUNT: usize = 16;

#[unsafe(no_mangle)]
static UDP_SINK: [AtomicU32; COUNT] = [const { AtomicU32::new(0) }; COUNT];

/// Adds to a counter.
pub fn count(counter: Count, by: u32) {
    UDP_SINK[counter as usize].fetch_add(by, Ordering::Relaxed);
}

/// Value of a counter.
pub fn counted(counter: Count) -> u32 {
    UDP_SINK[counter as usize].load(Ordering::Relaxed)
}

/// The datagram in a frame: its number and time, and the time of its arrival in the driver.
#[derive(Clone, Copy)]
pub struct Datagram {
    number: u32,
    sent_ns: u32,
}

impl Datagram {
    /// A frame that the stack drops.
    pub const BAD: Self = Self {
        number: u32::MAX,
        sent_ns: 0,
    };

    /// True for a frame that the stack drops.
    pub const fn is_bad(self) -> bool {
        self.number == u32::MAX
    }

    /// The datagram in `frame`, if it is one for this program.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let head: &[u8; HEADERS + 12] = frame.first_chunk()?;
        let is_ours = head[12..14] == [8, 0]
            && head[23] == UDP
            && u16::from_be_bytes([head[36], head[37]]) == PORT;
        let word = |at: usize| {
            let at = HEADERS + at;
            u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
        };
        is_ours.then(|| Self {
            number: word(0),
            sent_ns: word(4)
                .wrapping_mul(1_000_000_000)
                .wrapping_add(word(8).wrapping_mul(1000)),
        })
    }
}

/// Datagrams that wait: a ring.
pub struct Queue {
    datagrams: [Datagram; Self::LEN],
    first: usize,
    used: usize,
}

impl Queue {
    const LEN: usize = 1024;

    /// One that is empty.
    pub const fn new() -> Self {
        Self {
            datagrams: [Datagram::BAD; Self::LEN],
            first: 0,
            used: 0,
        }
    }

    /// True if nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Adds a datagram, unless `limit` wait: then `full` counts it.
    pub fn push(&mut self, datagram: Datagram, limit: u32, full: Count) {
        if self.used >= Self::LEN.min(limit as usize) {
            count(full, 1);
            return;
        }
        self.datagrams[(self.first + self.used) % Self::LEN] = datagram;
        self.used += 1;
    }

    /// The one that waits longest.
    pub fn pop(&mut self) -> Option<Datagram> {
        if self.used == 0 {
            return None;
        }
        let datagram = self.datagrams[self.first];
        self.first = (self.first + 1) % Self::LEN;
        self.used -= 1;
        Some(datagram)
    }
}

/// The program behind the socket.
pub struct Sink {
    expected: u32,
    transit: Option<u32>,
    jitter: u32,
}

impl Sink {
    /// One that has received nothing.
    pub const fn new() -> Self {
        Self {
            expected: 0,
            transit: None,
            jitter: 0,
        }
    }

    /// Accounts for a datagram.
    pub fn receive(&mut self, datagram: Datagram) {
        count(Count::Datagrams, 1);
        if datagram.number < self.expected {
            count(Count::OutOfOrder, 1);
        }
        self.expected = self.expected.max(datagram.number + 1);
        UDP_SINK[Count::Latest as usize].store(self.expected, Ordering::Relaxed);
        let transit = (now().ns() as u32).wrapping_sub(datagram.sent_ns);
        if let Some(last) = self.transit.replace(transit) {
            let change = transit.wrapping_sub(last).cast_signed().unsigned_abs();
            // J += (|D| - J) / 16.
            self.jitter = self.jitter - self.jitter / 16 + change / 16;
            UDP_SINK[Count::Jitter as usize].store(self.jitter, Ordering::Relaxed);
        }
    }
}

//! Two ends of a link over two simulated UARTs.
#![allow(dead_code, reason = "each test uses a part")]

pub mod direct;

use linerate_link::{Channel, Config, Instant, Link};
use linerate_uart_model::{Faults, Line, Uart};

/// An end with its own memory.
pub type End = Link<Vec<u8>, 3>;

/// Octets of memory of each channel, transmit and receive.
pub const MEMORY: [usize; 3] = [80, 1000, 600];

pub const UART: Uart = Uart {
    baud: 1_000_000,
    fifo: 16,
    latency_ns: 2_000,
};

/// An end with two reliable channels and an unreliable one.
pub fn end(config: Config) -> End {
    let memory = |channel: usize| vec![0; MEMORY[channel]];
    let channels = [
        Channel::reliable(memory(0), memory(0)),
        Channel::reliable(memory(1), memory(1)),
        Channel::unreliable(memory(2), memory(2)),
    ];
    Link::new(config, channels)
}

/// A full-duplex line with two ends that look at it every few octet times.
pub struct Wire {
    pub lines: [Line; 2],
    pub now_ns: u64,
    pub step_ns: u64,
    octets: Vec<u8>,
}

impl Wire {
    pub fn new(faults: Faults, seed: u64) -> Self {
        Self {
            lines: [0, 1].map(|n| Line::new(UART, faults, seed * 2 + n)),
            now_ns: 0,
            step_ns: 8 * UART.octet_ns(),
            octets: Vec::new(),
        }
    }

    pub fn now(&self) -> Instant {
        Instant::from_us((self.now_ns / 1000) as u32)
    }

    /// Passes what has arrived to end `n` and takes what it sends, as its interrupt handler would.
    pub fn serve<const N: usize>(&mut self, n: usize, end: &mut Link<Vec<u8>, N>) {
        let now = self.now();
        self.octets.clear();
        self.lines[1 - n].receive(self.now_ns, &mut self.octets);
        end.receive(now, &self.octets);
        let mut fifo = [0; 64];
        let room = self.lines[n].room(self.now_ns).min(fifo.len());
        let count = end.transmit(now, &mut fifo[..room]);
        self.lines[n].send(self.now_ns, &fifo[..count]);
    }

    /// Serves both ends and lets a few octet times pass.
    pub fn step<const N: usize>(&mut self, ends: &mut [Link<Vec<u8>, N>; 2]) {
        for (n, end) in ends.iter_mut().enumerate() {
            self.serve(n, end);
        }
        self.now_ns += self.step_ns;
    }
}

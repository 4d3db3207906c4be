//! The pads' connections in the tests.

use linerate_sim::chip::esp32c6::{Config, Esp32c6};
use linerate_sim::pads::Pads;
use linerate_sim::time::Instant;

use crate::asm::Program;

/// One input pad with a list of edges, and a record of what the chip drives.
#[derive(Default)]
pub struct Lines {
    pub pad: u8,
    /// Times at which the pad changes; it is low initially.
    pub edges: Vec<Instant>,
    pub driven: Vec<(u8, bool, Instant)>,
    pub deadline: Option<Instant>,
    pub last: Instant,
}

impl Lines {
    pub fn input(pad: u8, edges_ns: &[u64]) -> Self {
        let edges = edges_ns.iter().map(|&ns| Instant::from_ns(ns)).collect();
        Self {
            pad,
            edges,
            ..Self::default()
        }
    }

    fn in_order(&mut self, at: Instant) {
        assert!(at >= self.last, "asked for {at:?} after {:?}", self.last);
        self.last = at;
    }
}

impl Pads for Lines {
    fn level(&mut self, pad: u8, at: Instant) -> bool {
        self.in_order(at);
        pad == self.pad && self.edges.iter().filter(|&&edge| edge <= at).count() % 2 == 1
    }

    fn next_edge(&mut self, pad: u8, after: Instant) -> Instant {
        let mut edges = self.edges.iter().copied().filter(|_| pad == self.pad);
        edges.find(|&edge| edge > after).unwrap_or(Instant::NEVER)
    }

    fn drive(&mut self, pad: u8, level: bool, at: Instant) {
        self.in_order(at);
        self.driven.push((pad, level, at));
    }

    fn deadline(&self) -> Instant {
        self.deadline.unwrap_or(Instant::NEVER)
    }
}

pub fn boot(program: &Program) -> Esp32c6 {
    Esp32c6::new(Config::default(), &program.elf()).unwrap()
}

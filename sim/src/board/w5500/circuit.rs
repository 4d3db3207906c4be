//! The circuit around the chip: a W5500 on its SPI, the Ethernet cable of 100 Mbit/s, full duplex, and the peer.

use super::controller::{self, W5500};
use super::usage::Usage;
use crate::pads::{Pads, SpiOctets};
use crate::peer::outgoing::Framing;
use crate::peer::{Outgoing, Peer};
use crate::time::{Instant, Span};

/// Duration of an octet at 100 Mbit/s.
const OCTET: Span = Span::from_ns(80);
/// Preamble with SFD, and inter-packet gap, in octets.
const PREAMBLE: u64 = 8;
const GAP: u64 = 12;
/// Octets of the FCS.
const FCS: usize = 4;

/// GPIO numbers of the chip's pads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pins {
    /// SPI clock.
    pub clock: u8,
    /// Data to the W5500.
    pub mosi: u8,
    /// Data from the W5500.
    pub miso: u8,
    /// Chip select, active low.
    pub select: u8,
    /// Interrupt, active low.
    pub interrupt: u8,
    /// Reset, active low.
    pub reset: u8,
}

impl Default for Pins {
    /// The pads that the chip's IO MUX leads to its SPI directly, and free ones.
    fn default() -> Self {
        Self {
            clock: 6,
            mosi: 7,
            miso: 2,
            select: 10,
            interrupt: 11,
            reset: 3,
        }
    }
}

/// A frame of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameOnWire {
    /// End of its FCS.
    pub end: Instant,
    /// True if the W5500 sent it.
    pub from_device: bool,
    /// From destination address to the last octet before the FCS.
    pub octets: Vec<u8>,
}

/// The circuit.
#[derive(Debug)]
pub(super) struct Circuit {
    pins: Pins,
    pub nic: W5500,
    pub peer: Box<dyn Peer>,
    /// The peer's frame on the cable.
    arriving: Option<(Instant, Outgoing)>,
    /// From when the peer may send.
    peer_free_at: Instant,
    pub usage: Usage,
    /// Frames since they were last taken, if they are kept.
    pub frames: Option<Vec<FrameOnWire>>,
    next: Instant,
}

impl Circuit {
    pub fn new(pins: Pins, config: controller::Config, peer: Box<dyn Peer>) -> Self {
        let mut nic = W5500::new(config);
        nic.set_link(true);
        Self {
            pins,
            nic,
            peer,
            arriving: None,
            peer_free_at: Instant::ZERO,
            usage: Usage::default(),
            frames: None,
            next: Instant::ZERO,
        }
    }

    /// Processes what is due at or before `now`, each at its own time.
    pub fn poll(&mut self, now: Instant) {
        loop {
            self.next = self.next_event();
            if self.next > now {
                break;
            }
            self.step(self.next);
        }
    }

    fn next_event(&self) -> Instant {
        let peer = match &self.arriving {
            Some((end, _)) => *end,
            None => self.peer.poll_timeout().max(self.peer_free_at),
        };
        peer.min(self.nic.next_event())
    }

    fn step(&mut self, now: Instant) {
        if let Some((end, octets)) = self.nic.poll_sent(now) {
            self.peer.receive(&octets, end);
            self.keep(end, true, &octets);
        }
        if let Some((end, outgoing)) = self.arriving.take_if(|(end, _)| *end <= now) {
            // A frame with a bad FCS ends at the W5500's MAC.
            let octets = outgoing.complete();
            if outgoing.options.framing == Framing::Standard {
                let octets = &octets[..octets.len() - FCS];
                self.usage.elapse(end);
                self.nic.receive(octets, end);
                self.keep(end, false, octets);
                self.usage.set_waiting(self.nic.waiting_octets() > 0);
                self.usage.set_interrupt(self.nic.interrupt_since(), end);
            }
        }
        if self.arriving.is_none() && self.peer_free_at <= now {
            match self.peer.poll_outgoing(now) {
                Some(outgoing) => {
                    let octets = PREAMBLE + outgoing.complete().len() as u64;
                    let end = now + Span::from_ticks(OCTET.ticks() * octets);
                    self.peer_free_at = end + Span::from_ticks(OCTET.ticks() * GAP);
                    self.arriving = Some((end, outgoing));
                }
                // It has nothing after all: it is asked again when its time has changed.
                None => self.peer_free_at = now + Span::from_ns(100),
            }
        }
    }

    fn keep(&mut self, end: Instant, from_device: bool, octets: &[u8]) {
        if let Some(frames) = &mut self.frames {
            frames.push(FrameOnWire {
                end,
                from_device,
                octets: octets.to_vec(),
            });
        }
    }

    fn update(&mut self) {
        self.next = self.next_event();
    }
}

impl Pads for Circuit {
    fn level(&mut self, pad: u8, at: Instant) -> bool {
        let since = self.nic.interrupt_since();
        pad == self.pins.interrupt && since.is_none_or(|since| since > at)
    }

    fn next_edge(&mut self, pad: u8, after: Instant) -> Instant {
        let since = self.nic.interrupt_since().filter(|&since| since > after);
        since
            .filter(|_| pad == self.pins.interrupt)
            .unwrap_or(Instant::NEVER)
    }

    fn drive(&mut self, pad: u8, level: bool, at: Instant) {
        if pad == self.pins.select {
            self.usage.select(!level, at);
            self.nic.select(level);
        } else if pad == self.pins.reset {
            self.nic.set_reset(level, at);
            self.update();
        }
    }

    fn exchange(&mut self, octets: &SpiOctets<'_>, received: &mut [u8]) {
        received.fill(0xff);
        let is_connected = octets.clock_pads >> self.pins.clock & 1 != 0;
        if !is_connected || !self.nic.is_selected() {
            return;
        }
        self.usage.clock(octets);
        let sends = octets.data_pads >> self.pins.mosi & 1 != 0;
        let receives = octets.receive_pad == Some(self.pins.miso);
        let mut at = octets.start;
        for (&sent, received) in octets.sent.iter().zip(received) {
            at += octets.octet;
            let answer = self.nic.exchange(if sends { sent } else { 0xff }, at);
            if receives {
                *received = answer;
            }
        }
        self.usage.set_waiting(self.nic.waiting_octets() > 0);
        self.usage.set_interrupt(self.nic.interrupt_since(), at);
        self.update();
    }

    fn deadline(&self) -> Instant {
        self.next
    }
}

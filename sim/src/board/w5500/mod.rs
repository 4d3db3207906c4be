//! An ESP32-C6 with a W5500 on its SPI, an Ethernet cable of 100 Mbit/s and a peer.
//!
//! The link is up from the start: the negotiation of the W5500's PHY is not modelled, nor is damage on the cable.

mod circuit;
pub mod controller;
mod usage;

use std::collections::VecDeque;

use self::circuit::Circuit;
pub use self::circuit::{FrameOnWire, Pins};
use self::controller::W5500;
pub use self::usage::{SpiEdge, SpiLine, SpiTime};
use super::console::Lines;
use super::{Event, Stop};
use crate::chip::esp32c6::{self, Esp32c6, Port};
use crate::elf::{Elf, ElfError};
use crate::peer::Peer;
use crate::time::{Instant, Span};

/// Configuration of the board.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The microcontroller.
    pub chip: esp32c6::Config,
    /// The W5500.
    pub nic: controller::Config,
    /// Assignment of the pads.
    pub pins: Pins,
}

/// A powered board with its cable plugged in.
#[derive(Debug)]
pub struct Board {
    chip: Esp32c6,
    circuit: Circuit,
    lines: Lines,
    events: VecDeque<Event>,
}

impl Board {
    /// Switches the board on with the firmware `elf` and `peer` at the other end of the cable.
    ///
    /// # Errors
    /// [`ElfError`] if the firmware does not fit the chip.
    pub fn new(config: Config, elf: &Elf, peer: Box<dyn Peer>) -> Result<Self, ElfError> {
        Ok(Self {
            chip: Esp32c6::new(config.chip, elf)?,
            circuit: Circuit::new(config.pins, config.nic, peer),
            lines: Lines::default(),
            events: VecDeque::new(),
        })
    }

    /// Runs the program until `until`, at most one instruction longer. A reset of the chip ends it as a
    /// [`Stop::Asleep`].
    pub fn run(&mut self, until: Instant) -> Stop {
        loop {
            let stop = self.chip.run(until, &mut self.circuit);
            let now = self.chip.now();
            self.circuit.poll(now);
            for byte in self.chip.console() {
                self.lines.push(byte, &mut self.events);
            }
            match stop {
                esp32c6::Stop::Deadline if now >= until => return Stop::Reached,
                esp32c6::Stop::Deadline => {}
                esp32c6::Stop::Fault(fault) => return Stop::Fault(fault),
                esp32c6::Stop::Asleep | esp32c6::Stop::Reset(_) => return Stop::Asleep,
            }
        }
    }

    /// The current virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.chip.now()
    }

    /// The next event: only [`Event::Line`]s.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The far end of a console sends `bytes`.
    pub fn console_input(&mut self, port: Port, bytes: &[u8]) {
        self.chip.console_input(port, bytes);
    }

    /// The microcontroller, for its reports and figures.
    #[must_use]
    pub const fn chip(&self) -> &Esp32c6 {
        &self.chip
    }

    /// The W5500, for its counts.
    #[must_use]
    pub const fn nic(&self) -> &W5500 {
        &self.circuit.nic
    }

    /// Calls `with` on the peer, which may have something to send afterwards.
    pub fn with_peer<R>(&mut self, with: impl FnOnce(&mut dyn Peer) -> R) -> R {
        let result = with(self.circuit.peer.as_mut());
        let now = self.chip.now();
        self.circuit.poll(now);
        result
    }

    /// Starts the account of the SPI's time again.
    pub fn reset_usage(&mut self) {
        self.circuit.usage.restart(self.chip.now());
    }

    /// Time of the SPI since [`Self::reset_usage`].
    pub fn spi_time(&mut self) -> SpiTime {
        self.circuit.usage.elapse(self.chip.now());
        self.circuit.usage.time
    }

    /// SPI transactions, and octets in them, since [`Self::reset_usage`].
    #[must_use]
    pub const fn spi_counts(&self) -> (u64, u64) {
        (self.circuit.usage.transactions, self.circuit.usage.octets)
    }

    /// Times from the end of each transaction to the next one, since [`Self::reset_usage`].
    #[must_use]
    pub fn spi_gaps(&self) -> &[Span] {
        &self.circuit.usage.gaps
    }

    /// Records the edges of the SPI for `span` from now on.
    pub fn record_edges(&mut self, span: Span) {
        self.circuit.usage.recorded = Some((self.chip.now() + span, Vec::new()));
    }

    /// The recorded edges.
    #[must_use]
    pub fn edges(&self) -> &[SpiEdge] {
        let recorded = self.circuit.usage.recorded.as_ref();
        recorded.map_or(&[], |(_, edges)| edges)
    }

    /// Keeps the frames on the cable from now on.
    pub fn keep_frames(&mut self) {
        self.circuit.frames.get_or_insert_default();
    }

    /// The kept frames since the last call, in the order of their ends.
    pub fn take_frames(&mut self) -> Vec<FrameOnWire> {
        self.circuit
            .frames
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }
}

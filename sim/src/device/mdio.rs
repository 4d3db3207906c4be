//! A management interface with one PHY behind it (IEEE 802.3 clause 22.2.4).

use super::phy::Phy;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Periods of MDC in a frame.
const BITS: u64 = 64;

/// What a frame requests of the PHY.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// The content of a register.
    Read,
    /// New content of a register.
    Write(u16),
    /// Nothing that it knows.
    Unknown,
}

/// A frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Address of the PHY.
    pub phy: u32,
    /// Address of the register.
    pub register: u32,
    /// The request.
    pub operation: Operation,
}

/// The management interface.
#[derive(Debug)]
pub struct Mdio {
    address: u8,
    /// The PHY.
    pub phy: Phy,
    /// The frame in progress, and its end.
    running: Option<(Frame, Instant)>,
}

impl Mdio {
    /// An interface to `phy`, which has this address.
    pub fn new(address: u8, phy: Phy) -> Self {
        Self {
            address,
            phy,
            running: None,
        }
    }

    /// Starts a frame; a period of MDC takes `divisor` cycles of the bus.
    pub fn start(&mut self, frame: Frame, divisor: u64, bus_hertz: u64, now: Instant) {
        let ticks = BITS * divisor * TICKS_PER_SECOND / bus_hertz;
        self.running = Some((frame, now + Span::from_ticks(ticks)));
    }

    /// When the frame in progress ends.
    pub fn done_at(&self) -> Instant {
        self.running.map_or(Instant::NEVER, |(_, done)| done)
    }

    /// Ends the frame in progress; returns what was read.
    pub fn finish(&mut self) -> Option<u16> {
        let (frame, done) = self.running.take()?;
        let is_here = frame.phy == u32::from(self.address);
        match frame.operation {
            Operation::Read if is_here => Some(self.phy.read(frame.register, done)),
            // An undriven bus is pulled up.
            Operation::Read => Some(0xffff),
            Operation::Write(data) if is_here => {
                self.phy.write(frame.register, data, done);
                None
            }
            Operation::Write(_) | Operation::Unknown => None,
        }
    }
}

//! The management interface, with the PHY behind it (IEEE 802.3 clause 22.2.4).

use super::regs;
use crate::device::phy::Phy;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Periods of MDC in a frame of clause 22.
const MDIO_BITS: u64 = 64;

/// An MDIO transfer in progress.
#[derive(Clone, Copy, Debug)]
struct Running {
    frame: u32,
    done: Instant,
}

/// The management interface.
#[derive(Debug)]
pub(super) struct Mdio {
    address: u8,
    pub phy: Phy,
    running: Option<Running>,
}

impl Mdio {
    pub fn new(address: u8) -> Self {
        Self {
            address,
            // Negotiation takes no time.
            phy: Phy::new(true, Span::ZERO),
            running: None,
        }
    }

    /// Starts the transfer in MMFR; MDC is the bus clock divided by `2 * (speed + 1)`.
    pub fn start(&mut self, frame: u32, speed: u32, bus_hertz: u64, now: Instant) {
        let ticks = MDIO_BITS * 2 * u64::from(speed + 1) * TICKS_PER_SECOND / bus_hertz;
        let done = now + Span::from_ticks(ticks);
        self.running = Some(Running { frame, done });
    }

    pub fn done_at(&self) -> Instant {
        self.running.map_or(Instant::NEVER, |it| it.done)
    }

    /// Ends the transfer; returns what was read.
    pub fn finish(&mut self) -> Option<u16> {
        let Running { frame, done } = self.running.take()?;
        let register = regs::MMFR::RA.get(frame);
        let is_here = regs::MMFR::PA.get(frame) == u32::from(self.address);
        match regs::MMFR::OP.get(frame) {
            regs::MMFR::OP::READ if is_here => Some(self.phy.read(register, done)),
            // An undriven bus is pulled up.
            regs::MMFR::OP::READ => Some(0xffff),
            regs::MMFR::OP::WRITE => {
                if is_here {
                    let value = regs::MMFR::DATA.get(frame) as u16;
                    self.phy.write(register, value, done);
                }
                None
            }
            _ => None,
        }
    }
}

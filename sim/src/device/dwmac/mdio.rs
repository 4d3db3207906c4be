//! The management interface, with the PHY behind it (RM0090 section 33.4.1).

use super::{Parameters, regs};
use crate::device::phy::Phy;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Periods of MDC in a frame of clause 22.
const MDIO_BITS: u64 = 64;
/// Bus cycles in a period of MDC, by `MACMIIAR.CR`.
const DIVISORS: [u64; 6] = [42, 62, 16, 26, 102, 124];

/// The management interface.
#[derive(Debug)]
pub(super) struct Mdio {
    address: u8,
    pub phy: Phy,
    /// The transfer in progress: content of MACMIIAR, data to write, end.
    running: Option<(u32, u16, Instant)>,
}

impl Mdio {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            address: parameters.phy,
            phy: Phy::new(false, parameters.negotiation),
            running: None,
        }
    }

    /// Starts a transfer with the content of MACMIIAR and MACMIIDR.
    pub fn start(&mut self, address: u32, data: u16, bus_hertz: u64, now: Instant) {
        let clock = regs::MACMIIAR::CR.get(address) as usize;
        let divisor = DIVISORS.get(clock).copied().unwrap_or(124);
        let ticks = MDIO_BITS * divisor * TICKS_PER_SECOND / bus_hertz;
        self.running = Some((address, data, now + Span::from_ticks(ticks)));
    }

    pub fn done_at(&self) -> Instant {
        self.running.map_or(Instant::NEVER, |(.., done)| done)
    }

    /// Ends the transfer; returns what was read.
    pub fn finish(&mut self) -> Option<u16> {
        let (address, data, done) = self.running.take()?;
        let register = regs::MACMIIAR::MR.get(address);
        let is_here = regs::MACMIIAR::PA.get(address) == u32::from(self.address);
        if regs::MACMIIAR::MW.is_set(address) {
            if is_here {
                self.phy.write(register, data, done);
            }
            return None;
        }
        // An undriven bus is pulled up.
        Some(if is_here {
            self.phy.read(register, done)
        } else {
            0xffff
        })
    }
}

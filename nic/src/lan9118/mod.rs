//! The LAN9118 family: a MAC and PHY for 10 and 100 Mbit/s with 16 KB of FIFOs, which the processor
//! fills and empties word by word. Section numbers refer to the SMSC data sheet of the LAN9118,
//! revision 1.5.
//!
//! - [`chip`]: detecting, starting and stopping the chip; its indirect registers.
//! - `link`: the mode negotiated by its PHY, and the MAC settings for it.
//! - `transmit`: room in the transmit FIFO, commands, and the fate of each frame.
//! - [`driver`]: the network device.

pub mod chip;
pub mod driver;
mod link;
#[cfg(test)]
mod tests;
mod transmit;

pub use chip::{InitError, IrqPin};
pub use driver::{FrameBuffers, Lan9118};

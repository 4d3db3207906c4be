//! The LAN9118 and its family: a MAC and PHY for 10 and 100 Mbit/s with 16 KB of FIFOs, which the processor
//! fills and empties word by word. Sections named here are of SMSC's data sheet of the LAN9118, revision 1.5.
//!
//! - [`chip`]: finding, starting and stopping it; its registers behind registers.
//! - `link`: what its PHY negotiated, and what the MAC does then.
//! - `transmit`: room in the transmit FIFO, commands, and what became of each frame.
//! - [`driver`]: the network device.

pub mod chip;
pub mod driver;
mod link;
#[cfg(test)]
mod tests;
mod transmit;

pub use chip::{InitError, Pin};
pub use driver::{Frames, Lan9118};

//! The LAN91C111: a MAC and PHY for 10 and 100 Mbit/s with 8 KB for frames, which the processor reads and
//! writes through a pointer. Sections named here are of SMSC's data sheet, revision 1.92. The board has to
//! connect ARDY (or IOCHRDY), so that data is not read before the pointer has had its effect (section 8.19).
//!
//! The memory is four pages, a frame takes one whole. Two are the transmitter's for good, which are written
//! and sent again and again: one can be filled while the other is being sent. So the receiver, which takes
//! pages as frames come, always finds two, and an answer always finds one; nothing is allocated while frames
//! go, and `AUTO_RELEASE` stays off.
//!
//! - [`chip`]: finding, starting and stopping it; its banks of registers.
//! - `link`: what its PHY negotiated, and what the MAC does then.
//! - [`driver`]: the network device.

pub mod chip;
pub mod driver;
mod link;
#[cfg(test)]
mod tests;

pub use chip::{Bus, InitError};
pub use driver::{Frames, Lan91c111};

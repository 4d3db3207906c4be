//! The LAN91C111: a MAC and PHY for 10 and 100 Mbit/s with 8 KB of frame memory, which the
//! processor accesses through a pointer. Section numbers refer to the SMSC data sheet, revision
//! 1.92. The board must connect ARDY (or IOCHRDY), so that data is not read before a new pointer
//! takes effect (section 8.19).
//!
//! The memory has four pages of one frame each. Two belong permanently to the transmitter and are
//! reused: one can be filled while the other is being sent. So the receiver, which takes pages as
//! frames arrive, always has two, and a reply always has one; nothing is allocated during
//! operation, and `AUTO_RELEASE` stays off.
//!
//! - [`chip`]: detecting, starting and stopping the chip; its register banks.
//! - `link`: the mode negotiated by its PHY, and the MAC settings for it.
//! - [`driver`]: the network device.

pub mod chip;
pub mod driver;
mod link;
#[cfg(test)]
mod tests;

pub use chip::{Bus, InitError};
pub use driver::{FrameBuffers, Lan91c111};

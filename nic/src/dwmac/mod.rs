//! The `DesignWare` MAC, universal 3.x: the Ethernet MAC of STM32 and ESP32, and of many Linux systems (RM0090 chapter 33;
//! sections of it are cited by title).
//!
//! - [`descriptor`]: descriptors of four words (normal) and of eight (enhanced: extended status), in a ring or a chain.
//! - [`mac`]: configuration, reset, registers, MDIO, link settings, stop.
//! - `offload`: the checksums handled by its engine.
//! - [`net`]: the network device.
//! - [`statistics`]: its hardware counters.
//!
//! ```text
//! Mac::reset -> Phy::at, negotiate, link -> Dwmac::start -> receive, transmit <-> set_link
//! ```
//!
//! The normal descriptors of cores before 3.5, whose control bits are in the second word, are not supported.

pub mod descriptor;
pub mod mac;
pub mod net;
mod offload;
pub mod statistics;

pub use crate::dma::{InitError, ring::Rings};
pub use descriptor::{Enhanced, Layout, Linkage, Normal};
pub use mac::{Config, Features, Forwarding, Mac, Pause, RegisterOrder};
pub use net::{BUFFER_LEN, Dwmac};
pub use statistics::Statistics;

#[cfg(test)]
mod tests;

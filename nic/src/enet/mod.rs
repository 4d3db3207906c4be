//! ENET, the 10/100/1000 Mbit/s MAC of the i.MX 6 (IMX6DQRM chapter 23; sections of its functional
//! description are cited by title).
//!
//! - [`descriptor`]: descriptors of 8 octets (legacy) and of 32 (enhanced: checksums).
//! - [`mac`]: reset, registers, MDIO, link settings, stop.
//! - `offload`: the checksums handled by its accelerators.
//! - [`net`]: the network device.
//! - [`statistics`]: its hardware counters.
//!
//! ```text
//! Mac::reset -> Phy::at, negotiate, link -> Enet::start -> receive, transmit <-> set_link
//! ```

pub mod descriptor;
pub mod mac;
pub mod net;
mod offload;
pub mod statistics;

pub use crate::dma::{InitError, ring::Rings};
pub use descriptor::{Enhanced, Layout, Legacy};
pub use mac::{Config, Interface, Mac, ReceiveFifo};
pub use net::{BUFFER_LEN, Enet};
pub use statistics::Statistics;

#[cfg(test)]
mod tests;

//! TSE, the 10/100/1000 Mbit/s MAC for FPGAs, with the legacy scatter-gather DMA (Altera, Triple-Speed Ethernet User
//! Guide, UG-01008; Embedded Peripherals IP User Guide, UG-01085, "Scatter-Gather DMA Controller Core").
//!
//! - [`descriptor`]: descriptors of 32 octets, the same in both directions.
//! - `engine`: one engine of the DMA. It stops at a descriptor that belongs to the program, and is started again.
//! - [`mac`]: reset, registers, MDIO, link settings, stop.
//! - [`net`]: the network device.
//!
//! The engines must be able to access any address, and the MAC must have been generated with the options to align
//! packet headers and with FIFOs of 32 bits.
//!
//! ```text
//! Mac::reset -> Phy::find, negotiate, link -> Tse::start -> receive, transmit <-> set_link
//! ```

pub mod descriptor;
mod engine;
pub mod mac;
pub mod net;

pub use crate::dma::InitError;
pub use descriptor::Descriptor;
pub use mac::{Blocks, Config, Mac};
pub use net::{BUFFER_LEN, Rings, Tse};

#[cfg(test)]
mod tests;

//! Byte links of this host: serial ports, pseudo-terminals, TCP connections, SPI, and an end of the link layer on each.
//!
//! | module | contents |
//! |---|---|
//! | [`address`] | what a URL names |
//! | [`port`] | opens it |
//! | [`spi`] | SPI as a stream of octets |
//! | [`end`] | an end of the link layer on a port |
//! | [`peer`] | the other end, for a device or a trial run without one |
//! | [`pitfalls`] | what makes ports slow or unusable, found before anything is measured |
//! | [`silence`] | what sits at the other end if it is no link |

pub mod address;
pub mod end;
pub mod peer;
pub mod pitfalls;
pub mod port;
pub mod silence;
pub mod spi;
#[cfg(test)]
mod tests;

pub use address::Address;
pub use end::LinkEnd;
pub use port::{Port, PortError};

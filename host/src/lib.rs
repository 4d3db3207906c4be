//! Network tools on the host: load generator, relay, servers, sockets, TAP interfaces.
//!
//! | module | contents |
//! |---|---|
//! | [`capture`] | captures the headers of a peer's packets |
//! | [`link`] | the interface on the route to an address |
//! | [`load`] | load generator and receiver: UDP, raw frames, round trips, and their limits |
//! | [`relay`] | an impaired link between two TAP interfaces |
//! | `serial` | byte links: serial ports, pseudo-terminals, SPI; ends of the link layer on them |
//! | [`serve`] | servers for the protocols of devices |
//! | [`sockets`] | runs a service of `linerate-agent` on the host's sockets |
//! | [`tap`] | errors of TAP interfaces, with the commands to create one |
//! | [`quantity`] | parsing and formatting of numbers, times, rates and fractions with units |
//! | [`nearest`](mod@nearest) | suggestions for misspelled names |
#![forbid(unsafe_code)]

pub mod capture;
pub mod link;
pub mod load;
pub mod nearest;
pub mod quantity;
pub mod relay;
#[cfg(target_os = "linux")]
pub mod serial;
pub mod serve;
pub mod sockets;
pub mod tap;
#[doc(hidden)]
pub mod testing;

pub use nearest::nearest;

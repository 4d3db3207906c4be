//! The network tools of this machine: load, relay, servers, sockets, TAP interfaces.
//!
//! | module | contents |
//! |---|---|
//! | [`load`] | load generator and receiver: UDP, raw frames, round trips, and their limits |
//! | [`relay`] | an impaired link between two TAP interfaces |
//! | [`serve`] | servers of the protocols that devices speak |
//! | [`sockets`] | a protocol of `linerate-agent` over this machine's sockets |
//! | [`tap`] | errors of TAP interfaces and how to create one |
//! | [`quantity`] | numbers, times, rates and shares as people write them |
//! | [`nearest`](mod@nearest) | suggestions for misspelt names |
#![forbid(unsafe_code)]

pub mod load;
pub mod nearest;
pub mod quantity;
pub mod relay;
pub mod serve;
pub mod sockets;
pub mod tap;
#[doc(hidden)]
pub mod testing;

pub use nearest::nearest;

//! Numbered UDP datagrams: a sender and a receiver that counts.
//!
//! At [`Rate::Max`](super::Rate::Max) the sender hands the system super-packets that it segments
//! (`UDP_SEGMENT`), else batches (`sendmmsg`), else one datagram at a time. At a constant rate it sends one
//! at each deadline. The receiver takes what the system has coalesced (`UDP_GRO`), or batches, or, where
//! gaps are wanted, one at a time with the kernel's timestamp.

mod drops;
mod receiver;
mod sender;
#[cfg(target_os = "linux")]
#[path = "socket_linux.rs"]
mod socket;
#[cfg(not(target_os = "linux"))]
#[path = "socket_other.rs"]
mod socket;

pub use receiver::{Options, Received, Receiver, Until, Wait};
pub use sender::{Plan, Sender};

use drops::of_port;
pub(crate) use drops::of_port as drops_of_port;
#[cfg(test)]
pub(super) use drops::of_table;

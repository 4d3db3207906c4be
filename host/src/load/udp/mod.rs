//! Numbered UDP datagrams: a sender and a counting receiver.
//!
//! At [`Rate::Max`](super::Rate::Max) the sender passes super-packets to the system for segmentation
//! (`UDP_SEGMENT`), else batches (`sendmmsg`), else one datagram at a time. At a constant rate it sends one
//! datagram at each deadline. The receiver reads coalesced datagrams (`UDP_GRO`), or batches, or, to measure
//! gaps, one datagram at a time with the kernel's timestamp.

mod drops;
mod receiver;
mod sender;
#[cfg(target_os = "linux")]
#[path = "socket_linux.rs"]
mod socket;
#[cfg(not(target_os = "linux"))]
#[path = "socket_other.rs"]
mod socket;

pub use receiver::{ReceiveReport, Receiver, ReceiverConfig, StopCondition, WaitMode};
pub use sender::{Sender, SenderConfig};

use drops::of_port;
pub(crate) use drops::of_port as drops_of_port;
#[cfg(test)]
pub(super) use drops::of_table;

//! Ethernet frames to and from an interface through memory shared with the Linux kernel (`AF_PACKET`
//! with `PACKET_TX_RING` and `PACKET_RX_RING`): one system call for many frames, none to poll for one.
//!
//! | type | contents |
//! |---|---|
//! | [`TransmitRing`] | sends frames, bypassing the interface's queueing discipline |
//! | [`ReceiveRing`] | receives frames with kernel timestamps and drop counts |
//! | [`tcp_info`](fn@tcp_info) | state of a TCP connection |
//!
//! The rings require `CAP_NET_RAW` and are available on Linux only.
//!
//! This is the only crate on the host with `unsafe` code: the memory is shared with the kernel, and the
//! existing dependencies contain no safe wrapper of `mmap` for it, nor of the option `TCP_INFO`.

mod error;
#[cfg(target_os = "linux")]
mod map;
#[cfg(target_os = "linux")]
mod receive;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(target_os = "linux")]
mod transmit;

pub use error::RingError;
#[cfg(target_os = "linux")]
pub use receive::{Frame, ReceiveRing, RingStatistics};
#[cfg(target_os = "linux")]
pub use tcp_info::{TCP_INFO_OCTETS, tcp_info};
#[cfg(target_os = "linux")]
pub use transmit::TransmitRing;

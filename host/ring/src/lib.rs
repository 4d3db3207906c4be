//! Ethernet frames to and from an interface through memory shared with the Linux kernel (`AF_PACKET`
//! with `PACKET_TX_RING` and `PACKET_RX_RING`): one system call for many frames, none to look for one.
//!
//! | module | what a person finds there |
//! |---|---|
//! | [`Transmit`] | frames out of an interface, past its queueing discipline |
//! | [`Receive`] | frames from an interface, with the kernel's timestamps and count of drops |
//!
//! Both need `CAP_NET_RAW`. Only Linux has them; elsewhere they can't be opened, and say so.
//!
//! This is the one place of the bench where code is `unsafe`: the memory is shared with the kernel, and
//! no safe wrapper of `mmap` for it is in the libraries that are used anyhow.

mod error;
#[cfg(target_os = "linux")]
mod map;
#[cfg(target_os = "linux")]
mod receive;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod transmit;

pub use error::RingError;
#[cfg(target_os = "linux")]
pub use receive::{Frame, Receive, Statistics};
#[cfg(target_os = "linux")]
pub use transmit::Transmit;

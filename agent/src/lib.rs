//! The other end of a measurement, for a device of any size: servers and clients of iperf 2, of
//! iperf 3, of HTTP, of STAMP, and echo.
//!
//! Everything here is a [`Service`]: told what came in on its sockets and what time it is, it says
//! what to send and which sockets to open. It owns no socket, reads no clock and allocates nothing, so
//! the same code runs over smoltcp on a microcontroller, over the sockets of an operating system, and
//! on the network of a test.
//!
//! - [`iperf2`]: `iperf -s` and `iperf -c` of version 2, TCP and UDP.
//! - [`iperf3`]: `iperf3 -s` and `iperf3 -c`, TCP and UDP, with `-R`, `--bidir` and `-P`.
//! - [`http`]: `GET /N` and PUT, server and client.
//! - [`stamp`]: a reflector of RFC 8762, and a sender: round trips, loss in each direction.
//! - [`echo`]: what comes by UDP goes back.
//! - [`frame`]: raw frames: generator, receiver, reflector.
//! - [`burner`]: a load for the CPU, and what is left of it.
//! - [`count`]: what a receiver of numbered datagrams counts: loss, order, duplicates, jitter.
//! - [`pace`]: when a sender's next datagram is due.
//! - [`exercise`]: entry points for fuzzers.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod answer;
pub mod burner;
pub mod count;
pub mod echo;
pub mod exercise;
pub mod frame;
pub mod http;
pub mod iperf2;
pub mod iperf3;
mod limits;
mod notes;
mod octets;
mod overheard;
pub mod pace;
mod service;
pub mod stamp;
mod time;
mod window;

pub use limits::Limits;
pub use overheard::{Ear, Overheard};
pub use service::{Ask, Close, Connection, Datagram, Opened, Progress, Refused, Service, Udp};
pub use time::Instant;
use time::{MS, SECOND, ns, span};

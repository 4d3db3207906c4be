//! Measurement protocols for a device of any size: servers and clients of iperf 2, iperf 3, HTTP and STAMP,
//! and echo.
//!
//! Each protocol end is a [`Service`]. Its driver passes in received data and the current time, and asks
//! which data to send and which sockets to open. A service owns no socket, reads no clock and allocates
//! nothing, so the same code runs over smoltcp on a microcontroller, over an operating system's sockets, and
//! on a test's simulated network.
//!
//! - [`iperf2`]: `iperf -s` and `iperf -c` of version 2, TCP and UDP.
//! - [`iperf3`]: `iperf3 -s` and `iperf3 -c`, TCP and UDP, with `-R`, `--bidir` and `-P`.
//! - [`http`]: `GET /N` and PUT, server and client.
//! - [`stamp`]: reflector (RFC 8762) and sender: round-trip times, loss in each direction.
//! - [`echo`]: UDP echo.
//! - [`frame`]: raw frames: generator, receiver, reflector.
//! - [`burner`]: a CPU load, and the CPU time left over.
//! - [`count`]: counters of a receiver of numbered datagrams: loss, reordering, duplicates, jitter.
//! - [`pace`]: send times at a constant rate.
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
mod octets;
pub mod pace;
mod partial_writer;
mod queue;
mod service;
mod share;
pub mod stamp;
mod tap;
mod time;

pub use limits::Limits;
pub use service::{
    Close, Connection, Datagram, Opened, Progress, Refused, Service, SocketRequest, Udp,
};
pub use tap::{DatagramTap, TappedService};
pub use time::Instant;
use time::{MS, SECOND, ns, span};

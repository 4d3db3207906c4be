//! iperf version 3, compatible with 3.12: server and client, TCP and UDP, with `-R`, `--bidir` and `-P`.
//!
//! The protocol is undocumented. This implementation is based on traffic of iperf3 3.12:
//!
//! - The client opens a control connection and sends a cookie. The server announces each state in one octet;
//!   [parameters](Test) and [results](Count) are JSON with a length prefix.
//! - Each stream is a TCP connection that begins with the cookie, or a UDP port from which the client sent
//!   `9876` and received `6789`. Nothing else is sent UDP datagrams, and no address without a control
//!   connection.
//! - The client ends the test, in either direction.
//! - Each end sends its counters to the other. iperf's own server closes the streams immediately and reports
//!   the data read until then; here, either end first reads the data that the other reports as sent, as long
//!   as data keep arriving.

mod client;
mod datagram_header;
pub(crate) mod json;
mod message;
mod parameters;
mod results;
mod server;
mod stream;
mod streams;

pub use crate::Limits;
pub use client::{Client, Failure, Outcome, Plan, Progress, UDP_SETTLE};
pub use datagram_header::DatagramHeader;
pub use message::Cookie;
pub use parameters::{Amount, Direction, Test};
pub use results::Count;
pub use server::{Finished, Server};

/// The port that a server listens on, TCP and UDP.
pub const PORT: u16 = 5201;

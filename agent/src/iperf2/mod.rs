//! iperf version 2, compatible with 2.1: server and client, TCP and UDP, with `-R`, `-r`, `-d` and
//! `--full-duplex`.
//!
//! The protocol is undocumented. This implementation is based on traffic of iperf 2.1.8:
//!
//! - A TCP client sends its [request](header::Test) first, as part of the data, unless it is an old version
//!   or configured not to.
//! - A UDP client sends it in every datagram, behind the [number and time](header::DatagramHeader).
//! - A UDP stream ends with a datagram of a negative number, repeated until the receiver sends its
//!   [report](header::Report).

mod client;
mod header;
mod server;
mod tcp;
mod udp;

pub use crate::Limits;
pub use client::{Client, Failure, Outcome, Plan, Progress};
pub use header::{Amount, DatagramHeader, Report, ReturnTest, Test};
pub use server::{Finished, Server};

/// The port that a server listens on, TCP and UDP.
pub const PORT: u16 = 5001;

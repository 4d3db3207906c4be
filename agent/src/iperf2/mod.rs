//! iperf version 2, as 2.1 speaks it: server and client, TCP and UDP, with `-R`, `-r`, `-d` and
//! `--full-duplex`.
//!
//! Nobody has written the protocol down. What is here was read off the wire of iperf 2.1.8:
//!
//! - A TCP client sends its [request](header::Test) first, as part of the data, unless it is an old one
//!   or told otherwise.
//! - A UDP client has it in every datagram, behind the [number and time](header::Numbered).
//! - A UDP stream ends with a datagram of a negative number, repeated until the receiver
//!   [reports](header::Report) what it has counted.

mod client;
mod header;
mod server;
mod tcp;
mod udp;

pub use crate::Limits;
pub use client::{Client, Failure, Outcome, Plan, Progress};
pub use header::{Amount, Back, Numbered, Report, Test};
pub use server::{Finished, Server};

/// The port that a server listens on, TCP and UDP.
pub const PORT: u16 = 5001;

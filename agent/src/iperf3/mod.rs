//! iperf version 3, as 3.12 speaks it: server and client, TCP and UDP, with `-R`, `--bidir` and `-P`.
//!
//! Nobody has written the protocol down. What is here was read off the wire of iperf3 3.12:
//!
//! - The client opens a control connection and says a cookie. The server leads from state to state, an
//!   octet each; [parameters](Test) and [results](Count) are JSON behind a length.
//! - Each stream is a TCP connection that begins with the cookie, or a UDP port from which the client
//!   has said `9876` and got `6789` for an answer. Nothing is sent by UDP to anybody else, nor to an
//!   address without a control connection.
//! - The client ends the test, whoever sends.
//! - Each end tells the other what it has counted. iperf's own server closes the streams at once and
//!   counts what it has read until then; here, either end first reads what the other says to have sent,
//!   as long as it keeps coming.

mod client;
pub(crate) mod json;
mod message;
mod numbered;
mod parameters;
mod results;
mod server;
mod stream;
mod streams;

pub use crate::Limits;
pub use client::{Client, Failure, Outcome, Plan, Progress};
pub use numbered::Numbered;
pub use parameters::{Amount, Direction, Test};
pub use results::Count;
pub use server::{Finished, Server};

/// The port that a server listens on, TCP and UDP.
pub const PORT: u16 = 5201;

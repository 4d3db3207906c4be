//! Runs a [`Service`](linerate_agent::Service) on the host's sockets.

mod connection;
mod datagrams;
mod driver;
mod error;
mod log;
mod streams;
mod tcp_info;

pub use driver::{ConnectFailure, Driver, DriverConfig, MAX_CONNECTIONS};
pub use error::SocketError;

#[cfg(test)]
mod tests;

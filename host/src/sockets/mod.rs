//! Runs a [`Service`](linerate_agent::Service) on the host's sockets.

mod connection;
mod driver;
mod error;
mod log;
mod tcp_info;

pub use driver::{ConnectFailure, Driver, DriverConfig};
pub use error::SocketError;

#[cfg(test)]
mod tests;

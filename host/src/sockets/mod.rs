//! Runs a [`Service`](linerate_agent::Service) on the host's sockets.

mod connection;
mod driver;
mod error;

pub use driver::{Driver, DriverConfig};
pub use error::SocketError;

#[cfg(test)]
mod tests;

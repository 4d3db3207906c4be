//! A [`Service`](linerate_agent::Service) over the sockets of this machine.

mod connection;
mod driver;
mod error;

pub use driver::{Driver, Settings};
pub use error::HostError;

#[cfg(test)]
mod tests;

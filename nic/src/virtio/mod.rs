//! virtio-net over virtio-mmio (virtio 1.2 sections 4.2 and 5.1): the network device of virtual
//! machines.
//!
//! - [`transport`]: detecting and starting a device.
//! - [`net`]: the network device.

pub mod net;
pub mod transport;

pub use net::{Queues, VirtioNet};
pub use transport::InitError;

#[cfg(test)]
mod tests;

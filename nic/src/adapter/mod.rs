//! Adapters from [`Device`](crate::device::Device) to stacks, one module per stack, and
//! [`checksum`]: software checksums for devices that have none.

pub mod checksum;
#[cfg(feature = "embassy")]
pub mod embassy;
#[cfg(feature = "smoltcp")]
pub mod smoltcp;

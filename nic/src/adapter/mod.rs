//! Adapters from [`Device`](crate::device::Device) to stacks, one file a stack, and [`sums`]: checksums for devices
//! that have none.

#[cfg(feature = "embassy")]
pub mod embassy;
#[cfg(feature = "smoltcp")]
pub mod smoltcp;
pub mod sums;

//! Adapters from [`Device`](crate::device::Device) to stacks, one file a stack.

#[cfg(feature = "embassy")]
pub mod embassy;
#[cfg(feature = "smoltcp")]
pub mod smoltcp;

//! Memory that a device reads and writes by itself.
//!
//! - [`buffer`]: who a buffer belongs to is its type: [`Buffer`] to the program, which sees its octets,
//!   [`Lent`] to the device.
//! - [`shared`]: words that both sides read and write at any time.
//! - [`coherence`]: when the one sees what the other wrote.
//! - [`ring`]: descriptors with a bit that says whose they are.
//! - [`virtqueue`]: the rings of virtio.
//!
//! Frames are received into and sent from these buffers: nothing is copied. Addresses of buses are those of
//! the processor, as on all boards here.

pub mod buffer;
pub mod coherence;
pub mod ring;
pub mod shared;
pub mod virtqueue;

pub use buffer::{Buffer, Lent, Way};
pub use coherence::{Coherence, Coherent};
pub use ring::Ring;
pub use shared::Shared;
pub use virtqueue::Virtqueue;

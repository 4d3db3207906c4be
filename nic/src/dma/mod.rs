//! Memory that a device accesses by DMA.
//!
//! - [`buffer`]: the type of a buffer states its owner: [`Buffer`] belongs to the program, which
//!   can access it, [`LentBuffer`] to the device.
//! - [`shared`]: words that both sides read and write at any time.
//! - [`coherence`]: visibility of writes between the two.
//! - [`frames`]: idle buffers, and the token of a received frame.
//! - `network`: a network device with a ring per direction, over the parts in which MACs differ (`controller`).
//! - [`ring`]: descriptors with an ownership bit.
//! - [`virtqueue`]: the rings of virtio.
//!
//! Frames are received into and sent from these buffers: nothing is copied. Bus addresses equal
//! processor addresses, as on all supported boards.

pub mod buffer;
pub mod coherence;
pub(crate) mod controller;
pub mod frames;
pub(crate) mod network;
pub mod ring;
pub mod shared;
pub mod virtqueue;

pub use buffer::{Buffer, LentBuffer, Transfer};
pub use coherence::{Coherence, Coherent};
pub use controller::InitError;
pub use network::RingDevice;
pub use ring::Ring;
pub use shared::Shared;
pub use virtqueue::Virtqueue;

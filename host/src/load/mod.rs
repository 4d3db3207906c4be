//! Load of this machine's own: what it sends, at which pace, and what arrives, each with what it is worth.
//!
//! | module | what a person finds there |
//! |---|---|
//! | [`udp`] | datagrams: as many as go, or one at each deadline; a receiver that tells loss here from loss there |
//! | [`raw`] | Ethernet frames out of an interface, and counted from one |
//! | [`round_trip`] | round trips, spinning or sleeping, and a reflector |
//! | [`noise`] | what this machine itself adds: preemption, its own round trip |
//! | [`pace`], [`gaps`] | deadlines, and the gaps that were achieved |
//! | [`counters`], [`mod@line`], [`cpu`] | an interface's packets, and its bit rate; cores and pinning |
//!
//! What a machine or a user can't do (segmentation, timestamps, large buffers, pinning, raw frames) is
//! left out and told of in `notes`; only raw frames are an error without the right to send them.

pub mod counters;
pub mod cpu;
mod error;
pub mod gaps;
pub mod line;
pub mod noise;
pub mod pace;
pub mod packet;
pub mod raw;
pub mod round_trip;
mod sent;
pub mod udp;

pub use error::LoadError;
pub use noise::noise_floor;
pub use pace::Rate;
pub use sent::Sent;

#[cfg(test)]
pub(crate) mod tests;

//! What a receiver of numbered datagrams counts.

mod jitter;
mod sequence;
mod sink;

pub use jitter::Jitter;
pub use sequence::{Arrival, Sequence};
pub use sink::Sink;

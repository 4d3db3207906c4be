//! Counters of a receiver of numbered datagrams.

mod jitter;
mod sequence;
mod sink;

pub use jitter::Jitter;
pub use sequence::{Arrival, Sequence};
pub use sink::Sink;

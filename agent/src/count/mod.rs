//! Counters of a receiver of numbered datagrams.

mod jitter;
mod sequence;
mod sink;

pub use jitter::Jitter;
pub use sequence::{Arrival, DEFAULT_HISTORY, Sequence};
pub use sink::Sink;

//! Output of a run for other programs: captures, waveforms, and a hash that shows if two runs were
//! equal.

pub mod hash;
pub mod pcapng;
pub mod waveform;

pub use hash::TraceHash;
pub use waveform::{Pin, Waveform};

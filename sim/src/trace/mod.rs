//! What a run leaves behind for other programs: captures, waveforms, and a hash that tells whether
//! two runs were the same.

pub mod hash;
pub mod pcapng;
pub mod waveform;

pub use hash::TraceHash;
pub use waveform::{Pin, Waveform};

//! Load generator and receivers of the host, with the limits of their accuracy.
//!
//! | module | contents |
//! |---|---|
//! | [`udp`] | datagrams at the maximum or a constant rate; a receiver that separates host drops from link loss |
//! | [`raw`] | sending and counting raw Ethernet frames |
//! | [`round_trip`] | round-trip measurement, polling or sleeping, and a reflector |
//! | [`noise`] | noise floor of the host: preemption, loopback round trip |
//! | [`pace`], [`gaps`] | deadlines, and the achieved gaps |
//! | [`counters`], [`line_rate`], [`cpu`] | interface counters and line rate; CPU cores and pinning |
//!
//! Features that a machine or a user lacks (segmentation, timestamps, large buffers, pinning) are skipped and
//! reported in `notes`; only raw frames without the privilege are an error.

pub mod counters;
pub mod cpu;
mod error;
pub mod gaps;
pub mod line_rate;
pub mod noise;
pub mod pace;
pub mod packet;
pub mod raw;
pub mod round_trip;
mod send_report;
pub mod udp;

pub use error::LoadError;
pub use noise::noise_floor;
pub use pace::Rate;
pub use send_report::SendReport;

#[cfg(test)]
pub(crate) mod tests;

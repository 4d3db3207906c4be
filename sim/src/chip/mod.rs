//! Chips: a hart, memory, and the devices around them at their addresses.

pub mod esp32c6;
mod peripherals;
mod timing;

pub use timing::{SourceKind, TimingEntry, TimingError, TimingTable};

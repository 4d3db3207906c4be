//! Chips: a hart, memory, and the devices around them at their addresses.

pub mod esp32c6;
mod peripherals;
pub mod soft_soc;
mod timing;

pub use timing::{SourceKind, TimingEntry, TimingError, TimingTable};

//! What runs a firmware here. A kind of machine is one folder here and one arm of [`open`].
//!
//! A machine has its own time, in nanoseconds since it was switched on; [`Machine::advance`] drives it and reports
//! what happened.

mod config;
mod event;
mod seam;
pub mod sim;

pub use config::{Fetch, Order, Peer, Pings, Record, Surroundings};
pub use event::{Event, StationTraffic, Uploaded};
pub use seam::{Identity, LinkEnd, Machine, MachineError, Remains};

/// Switches a machine on.
///
/// # Errors
/// [`MachineError`] when the firmware or the board cannot be used.
pub fn open(order: &Order) -> Result<Box<dyn Machine>, MachineError> {
    sim::open(order)
}

/// Switches a machine on whose cable ends in the TAP interface `interface` of this machine.
///
/// # Errors
/// [`MachineError`] when firmware, board or interface cannot be used.
pub fn open_on_tap(order: &Order, interface: &str) -> Result<Box<dyn Machine>, MachineError> {
    sim::open_on_tap(order, interface)
}

//! What runs a firmware here. A kind of machine is one folder here and one arm of [`open`].
//!
//! A machine has its own time, in nanoseconds since it was switched on; [`Machine::advance`] drives it and reports
//! what happened.

mod config;
mod event;
mod seam;
pub mod sim;

pub use config::{Environment, MachineConfig, Peer, PeerDownload, PeerPings, Record};
pub use event::{Event, StationTraffic, Uploaded};
pub use seam::{Identity, LinkPartnerStatus, Machine, MachineError, RunArtifacts};

/// Switches a machine on.
///
/// # Errors
/// [`MachineError`] when the firmware or the board cannot be used.
pub fn open(config: &MachineConfig) -> Result<Box<dyn Machine>, MachineError> {
    sim::open(config)
}

/// Switches a machine on whose cable ends in the TAP interface `interface` of this machine.
///
/// # Errors
/// [`MachineError`] when firmware, board or interface cannot be used.
pub fn open_on_tap(
    config: &MachineConfig,
    interface: &str,
) -> Result<Box<dyn Machine>, MachineError> {
    sim::open_on_tap(config, interface)
}

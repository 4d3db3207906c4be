//! Machines that run firmware. A kind of machine is one folder here and one arm of [`open`].
//!
//! A machine has its own time, in nanoseconds since it was switched on; [`Machine::advance`] runs it and reports
//! its events.

mod account;
mod config;
mod event;
mod seam;
pub mod sim;

pub(crate) use account::{FrameAccount, Unheard};
pub use config::{DatagramLoad, Environment, MachineConfig, Peer, PeerDownload, PeerPings, Record};
pub use event::{Event, StationTraffic, Uploaded};
pub use seam::{Identity, LinkPartnerStatus, Machine, MachineError, MachineRecord, RunArtifacts};

/// Switches on a machine.
///
/// # Errors
/// [`MachineError`] if the firmware or the board cannot be used.
pub fn open(config: &MachineConfig) -> Result<Box<dyn Machine>, MachineError> {
    sim::open(config)
}

/// Switches on a machine whose cable is connected to the TAP interface `interface` of this host.
///
/// # Errors
/// [`MachineError`] if firmware, board or interface cannot be used.
pub fn open_on_tap(
    config: &MachineConfig,
    interface: &str,
) -> Result<Box<dyn Machine>, MachineError> {
    sim::open_on_tap(config, interface)
}

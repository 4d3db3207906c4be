//! How it is measured. A procedure is one folder here; the scenario names it by that folder.

mod console;
mod drive;
pub mod http_get;
pub mod ping;
#[cfg(test)]
pub(crate) mod scripted;

pub use console::{DeviceEvent, Get};
pub use drive::{Driven, drive, follow};

use linerate_explain::record::Measurement;

use crate::target::{Event, TargetError};

/// Turns what happens at a target into measurements.
pub trait Procedure {
    /// Takes in something that happened.
    ///
    /// # Errors
    /// [`MeasureError`] when the firmware does something else than was asked for.
    fn observe(&mut self, event: Event) -> Result<(), MeasureError>;

    /// How long the processor has waited for flash so far, told now and then.
    fn flash_wait(&mut self, _at_ns: u64, _waited_ns: u64) {}

    /// What has been measured since this was asked last.
    fn take(&mut self) -> Vec<Measurement>;

    /// Steps done and steps in all.
    fn progress(&self) -> (u64, u64);

    /// The program has ended and every frame's fate is known: what is left to tell.
    ///
    /// # Errors
    /// [`MeasureError`] when something that was asked for is missing.
    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError>;
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The target cannot go on.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The program said so itself.
    #[error("the firmware reports: {what}")]
    Device {
        /// What it reported.
        what: String,
    },
    /// The program does something else than was asked for.
    #[error("{what}")]
    Unexpected {
        /// What was expected and what came.
        what: String,
    },
    /// Nothing happened for too long.
    #[error(
        "nothing happened for {quiet_s} s of virtual time: no frame, no line on the console{}",
        last.as_ref().map_or_else(String::new, |line| format!("; the last line was {line:?}"))
    )]
    Quiet {
        /// For how long.
        quiet_s: u64,
        /// The last line on the console.
        last: Option<String>,
    },
    /// The program did not end in the time it was given.
    #[error("the program did not end within {limit_s} s of virtual time")]
    TimeOut {
        /// The time it was given.
        limit_s: u64,
    },
}

/// Where each of the peer's `frames` went, beside the device's own `counters`.
fn ledger(
    frames: &[linerate_explain::wire::Frame],
    counters: std::collections::BTreeMap<String, u64>,
) -> linerate_explain::record::Ledger {
    use linerate_explain::wire::Side;
    let mut ledger = linerate_explain::record::Ledger {
        counters,
        ..Default::default()
    };
    for frame in frames.iter().filter(|frame| frame.from == Side::Peer) {
        ledger.sent_frames += 1;
        match frame.lost {
            None => ledger.delivered_frames += 1,
            Some(cause) => ledger.lose(cause, 1),
        }
    }
    ledger
}

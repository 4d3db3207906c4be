//! Observers turn events of a machine into measurements; errors of measurements.

use std::collections::BTreeMap;

use linerate_capture::wire::BusyPeriod;
use linerate_results::record::{Edges, FrameCounts, Measurement};

use crate::machine::{Event, MachineError, StationTraffic};

/// Turns the events of a machine into measurements.
pub trait Observer {
    /// Processes an event.
    ///
    /// # Errors
    /// [`MeasureError`] if the firmware does not do what was requested.
    fn observe(&mut self, event: Event) -> Result<(), MeasureError>;

    /// The processor's activities, passed periodically if recorded.
    fn busy(&mut self, _busy: Vec<BusyPeriod>) {}

    /// The line's level around some frames, passed periodically if recorded.
    fn edges(&mut self, _edges: Vec<Edges>) {}

    /// Total time that the processor has waited for flash, passed periodically.
    fn flash_wait(&mut self, _at_ns: u64, _waited_ns: u64) {}

    /// A line to type on the device's console at `now_ns`, if any; called at every step until there
    /// is none.
    fn command(&mut self, _now_ns: u64) -> Option<String> {
        None
    }

    /// Traffic sent so far by the other stations on the hub, passed periodically.
    fn stations(&mut self, _at_ns: u64, _traffic: Vec<StationTraffic>) {}

    /// True if it is complete with a program that does not terminate.
    fn poll_complete(&mut self) -> bool {
        false
    }

    /// True if the program may end with the error `what`, as without a link.
    fn may_fail(&self, _what: &str) -> bool {
        false
    }

    /// True if it needs the counters at `now_ns`; called at every step.
    fn wants_counters(&mut self, _now_ns: u64) -> bool {
        false
    }

    /// The counters that it needs now.
    fn sample(&mut self, _counters: BTreeMap<String, u64>) {}

    /// The device's final counters by name, without zeros.
    fn counters(&mut self, _counters: BTreeMap<String, u64>) {}

    /// The independent counts of all frames, passed once, before [`finish`](Self::finish).
    fn frame_counts(&mut self, _counts: &FrameCounts) {}

    /// The measurements completed since the last call.
    fn take(&mut self) -> Vec<Measurement> {
        Vec::new()
    }

    /// Steps done and the total number of steps.
    fn progress(&self) -> (u64, u64);

    /// The last measurements, once the program has ended and every frame's fate is known.
    ///
    /// # Errors
    /// [`MeasureError`] if a requested result is missing.
    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError>;
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The user cancelled the run.
    #[error("cancelled by the user")]
    Cancelled,
    /// The machine cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The program reported an error.
    #[error("the firmware reports: {what}")]
    Device {
        /// Its message.
        what: String,
    },
    /// The program does not do what was requested.
    #[error("{what}")]
    Unexpected {
        /// What was expected and what happened.
        what: String,
    },
    /// Nothing happened for too long.
    #[error(
        "nothing happened for {quiet_s} s of virtual time: no frame, no line on the console{}{}",
        last.as_ref().map_or_else(String::new, |line| format!("; the last line was {line:?}")),
        position.as_ref().map_or_else(String::new, |at| format!("; the program is at {at}"))
    )]
    Quiet {
        /// The duration.
        quiet_s: u64,
        /// The last line on the console.
        last: Option<String>,
        /// Where the processor is, if the machine knows.
        position: Option<String>,
    },
    /// The program did not end in the time it was given.
    #[error("the program did not end within {limit_s} s of virtual time")]
    TimeOut {
        /// The time it was given.
        limit_s: u64,
    },
}

/// The ledger of the peer's `frames`, with the device's own `counters`.
pub(crate) fn ledger(
    frames: &[linerate_capture::wire::Frame],
    counters: BTreeMap<String, u64>,
) -> linerate_results::record::Ledger {
    use linerate_capture::wire::Side;
    let mut ledger = linerate_results::record::Ledger {
        counters,
        ..Default::default()
    };
    for frame in frames.iter().filter(|frame| frame.from == Side::Peer) {
        ledger.count(frame.lost);
    }
    ledger
}

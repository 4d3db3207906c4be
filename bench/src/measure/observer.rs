//! What turns events of a machine into measurements, and why there may be none.

use std::collections::BTreeMap;

use linerate_capture::wire::BusyPeriod;
use linerate_results::record::{Edges, Measurement};

use crate::machine::{Event, MachineError, StationTraffic};

/// Turns what happens at a machine into measurements.
pub trait Observer {
    /// Takes in something that happened.
    ///
    /// # Errors
    /// [`MeasureError`] when the firmware does something else than was asked for.
    fn observe(&mut self, event: Event) -> Result<(), MeasureError>;

    /// What the processor was busy with, told now and then where it is recorded.
    fn busy(&mut self, _busy: Vec<BusyPeriod>) {}

    /// The line's level around some frames, told now and then where it is recorded.
    fn edges(&mut self, _edges: Vec<Edges>) {}

    /// How long the processor has waited for flash so far, told now and then.
    fn flash_wait(&mut self, _at_ns: u64, _waited_ns: u64) {}

    /// A line to be typed on the device's console at `now_ns`, if there is one; asked at every step
    /// until there is none.
    fn command(&mut self, _now_ns: u64) -> Option<String> {
        None
    }

    /// What further stations on the hub have sent so far, told now and then.
    fn stations(&mut self, _at_ns: u64, _traffic: Vec<StationTraffic>) {}

    /// Whether it needs no more of a program that does not end by itself.
    fn is_complete(&mut self) -> bool {
        false
    }

    /// Whether the program may end by reporting `what` as an error, as one without a link does.
    fn may_fail(&self, _what: &str) -> bool {
        false
    }

    /// The device's counters at the end, by name, zeros left out.
    fn counters(&mut self, _counters: BTreeMap<String, u64>) {}

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
    /// The machine cannot go on.
    #[error(transparent)]
    Machine(#[from] MachineError),
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
        ledger.sent_frames += 1;
        match frame.lost {
            None => ledger.delivered_frames += 1,
            Some(cause) => ledger.lose(cause, 1),
        }
    }
    ledger
}

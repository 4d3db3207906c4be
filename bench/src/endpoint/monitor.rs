//! Progress of a trial.

use std::time::Duration;

/// Receives the progress of a trial, and can cancel it.
pub trait TrialMonitor {
    /// Reports the elapsed time (of the target) and the octets of payload transferred so far.
    fn update(&mut self, since_begin: Duration, octets: u64);

    /// True if the user has cancelled.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMonitor;

impl TrialMonitor for NoMonitor {
    fn update(&mut self, _: Duration, _: u64) {}
}

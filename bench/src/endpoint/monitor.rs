//! Progress of a trial.

use std::time::Duration;

/// Hears how far a trial is, and can end it.
pub trait TrialMonitor {
    /// So long it has been going on (of the target's time); `octets` of payload have come or gone.
    fn update(&mut self, since_begin: Duration, octets: u64);

    /// Whether the user has had enough.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Hears nothing, for tests and whoever does not care.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMonitor;

impl TrialMonitor for NoMonitor {
    fn update(&mut self, _: Duration, _: u64) {}
}

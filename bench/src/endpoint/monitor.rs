//! Progress of a trial.

use std::time::{Duration, Instant};

/// The note on a trial that its monitor has cancelled.
pub const CANCELLED: &str = "cancelled by the user";

/// Receives the progress of a trial, and can cancel it.
pub trait TrialMonitor {
    /// Reports the elapsed time (of the target) and the octets of payload transferred so far.
    fn update(&mut self, since_begin: Duration, octets: u64);

    /// True if the user has cancelled.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Cancels when a time is over, too.
pub struct LimitedMonitor<'a> {
    /// Receives the progress.
    pub monitor: &'a mut dyn TrialMonitor,
    /// The end; `None`: no limit.
    pub until: Option<Instant>,
}

impl TrialMonitor for LimitedMonitor<'_> {
    fn update(&mut self, since_begin: Duration, octets: u64) {
        self.monitor.update(since_begin, octets);
    }

    fn is_cancelled(&self) -> bool {
        let is_over = self.until.is_some_and(|until| Instant::now() >= until);
        is_over || self.monitor.is_cancelled()
    }
}

/// Ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMonitor;

impl TrialMonitor for NoMonitor {
    fn update(&mut self, _: Duration, _: u64) {}
}

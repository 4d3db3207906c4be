//! What is done with a target. A procedure is one file or folder here; what its results mean together
//! is found in `linerate_explain::summary`.
//!
//! A procedure asks a target for [trials](crate::endpoint::Trial), hands on a result for each as soon as
//! it is there, and knows nothing of the kinds of targets.

pub mod conformance;
pub mod latency;
pub mod packet_gaps;
pub mod rfc2544;
pub mod rfc6349;
#[cfg(test)]
mod scripted;
mod session;
pub mod size_sweep;
pub mod steps;
mod sweep_trials;
pub mod throughput;
pub mod udp_sweep;
pub mod window_sweep;

pub use session::{RequestedProcedure, SessionConfig, SessionError, run};

use std::time::Duration;

use linerate_results::record::{Duplex, Measurement, NotMeasured, Setting};

use crate::endpoint::{Outcome, Target, TargetError, Trial, TrialMonitor};

/// Something to be done with a target.
pub trait Procedure {
    /// What it is, in a few words.
    fn label(&self) -> String;

    /// How long its trials take at least, to be said before it begins; with the target's own time where
    /// that is simulated.
    fn min_duration(&self) -> Duration;

    /// Whether `target` can do all of it.
    ///
    /// # Errors
    /// Why it can't, a sentence without its end.
    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str>;

    /// Does it. What was measured is handed to `bench` trial by trial.
    ///
    /// # Errors
    /// A trial that failed, when nothing that follows makes sense without it.
    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError>;
}

/// Where a procedure is at home: takes its results, and tells the user how far it is.
pub struct TrialContext<'a> {
    /// The name of the run, in every result.
    pub run: String,
    save: &'a mut dyn FnMut(Measurement) -> Result<(), SessionError>,
    note: &'a mut dyn FnMut(&str),
    monitor: &'a mut dyn TrialMonitor,
    not_measured: Vec<NotMeasured>,
}

/// How long a wait goes on after the user has had enough, at most.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl<'a> TrialContext<'a> {
    /// A bench that hands results to `keep` and words for the user to `note`.
    pub fn new(
        save: &'a mut dyn FnMut(Measurement) -> Result<(), SessionError>,
        note: &'a mut dyn FnMut(&str),
        monitor: &'a mut dyn TrialMonitor,
    ) -> Self {
        Self {
            run: String::new(),
            save,
            note,
            monitor,
            not_measured: Vec::new(),
        }
    }

    /// Does a trial; what is to be known about its figures is told to the user.
    ///
    /// # Errors
    /// It failed.
    pub fn trial(
        &mut self,
        target: &mut dyn Target,
        trial: &Trial,
    ) -> Result<Outcome, TargetError> {
        let outcome = target.run(trial, self.monitor)?;
        for note in &outcome.notes {
            (self.note)(note);
        }
        Ok(outcome)
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// It can't be written.
    pub fn save(&mut self, result: Measurement) -> Result<(), SessionError> {
        (self.save)(result)
    }

    /// Tells the user something.
    pub fn note(&mut self, text: &str) {
        (self.note)(text);
    }

    /// A part of the procedure can't be measured, and why: told to the user, and in the results.
    pub fn not_measured(&mut self, what: &str, why: &str) {
        self.note(&format!("{what}: not measured: {why}"));
        self.not_measured.push(NotMeasured {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Waits so long of this machine's time, or until the user has had enough.
    pub fn wait(&self, span: Duration) {
        let mut left = span;
        while !left.is_zero() && !self.is_cancelled() {
            let piece = left.min(POLL_INTERVAL);
            std::thread::sleep(piece);
            left -= piece;
        }
    }

    /// The user has had enough: what was measured stays, and no further trial is begun.
    pub fn is_cancelled(&self) -> bool {
        self.monitor.is_cancelled()
    }

    /// The setting of a result here.
    pub fn setting(&self) -> Setting {
        Setting {
            run: self.run.clone(),
            duplex: Duplex::Unknown,
            ..Setting::default()
        }
    }
}

//! Procedures run on a target. A procedure is one file or folder here; its results are summarized in
//! `linerate_explain::summary`.
//!
//! A procedure runs [trials](crate::endpoint::Trial) on a target and saves a result for each as soon as
//! it is available. It does not depend on the kinds of targets.

pub mod conformance;
mod device_counters;
pub mod latency;
pub mod packet_gaps;
pub mod rfc2544;
pub mod rfc6349;
#[cfg(test)]
pub(crate) mod scripted;
mod session;
pub mod size_sweep;
pub mod steps;
mod sweep_trials;
pub mod throughput;
pub mod udp_sweep;
pub mod window_sweep;

pub use device_counters::CountersCommand;
pub use session::{RequestedProcedure, SessionConfig, SessionError, longest, run};

use std::time::{Duration, Instant};

use linerate_results::record::{Duplex, Ledger, Measurement, NotMeasured, Setting};

use crate::endpoint::{
    CANCELLED, LimitedMonitor, Outcome, Target, TargetError, Trial, TrialMonitor,
};
use crate::machine::MachineRecord;

/// A procedure run on a target.
pub trait Procedure {
    /// Short name of the procedure.
    fn label(&self) -> String;

    /// Minimum duration of its trials, announced before it begins; in the target's own time if that is
    /// simulated.
    fn min_duration(&self) -> Duration;

    /// Maximum duration of its trials, whatever the device does; `None` for a simulated target. It is announced before
    /// it begins, and ends it.
    fn max_duration(&self, _target: &dyn Target) -> Option<Duration> {
        None
    }

    /// Checks that `target` supports the whole procedure.
    ///
    /// # Errors
    /// The reason, a sentence without its full stop.
    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str>;

    /// Runs it. Results are saved to `context` trial by trial.
    ///
    /// # Errors
    /// A failed trial that the rest depends on.
    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError>;
}

/// The context of a procedure: saves its results and reports its progress to the user.
pub struct TrialContext<'a> {
    /// The name of the run, in every result.
    pub run: String,
    save: &'a mut dyn FnMut(Measurement) -> Result<(), SessionError>,
    note: &'a mut dyn FnMut(&str),
    monitor: &'a mut dyn TrialMonitor,
    /// When the stated maximum duration is over.
    until: Option<Instant>,
    not_measured: Vec<NotMeasured>,
    failures: Vec<String>,
    /// Notes on trials whose results are not saved yet.
    trial_notes: Vec<String>,
    /// Ledger and duplex of their board.
    board: Option<(Ledger, Duplex)>,
    /// Records of the board in all trials, with the trial's name.
    boards: Vec<(String, MachineRecord)>,
}

/// Maximum time that a wait continues after the user has cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl<'a> TrialContext<'a> {
    /// A context that passes results to `save` and messages for the user to `note`.
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
            until: None,
            not_measured: Vec::new(),
            failures: Vec::new(),
            trial_notes: Vec::new(),
            board: None,
            boards: Vec::new(),
        }
    }

    /// Ends trials after `limit`, and permits no other.
    #[must_use]
    pub fn with_limit(mut self, limit: Option<Duration>) -> Self {
        self.until = limit.and_then(|limit| Instant::now().checked_add(limit));
        self
    }

    /// Runs a trial and reports the notes on its figures to the user. They are in the next result that is saved.
    ///
    /// # Errors
    /// It failed.
    pub fn trial(
        &mut self,
        target: &mut dyn Target,
        trial: &Trial,
    ) -> Result<Outcome, TargetError> {
        let mut limited = LimitedMonitor {
            monitor: self.monitor,
            until: self.until,
        };
        let mut outcome = target.run(trial, &mut limited)?;
        for note in &outcome.notes {
            let is_cancelled = note == CANCELLED;
            self.note_on_result(if is_cancelled {
                self.stop_reason()
            } else {
                note
            });
        }
        if let Some(record) = outcome.board.take() {
            let (ledger, duplex) = self.board.get_or_insert_default();
            *duplex = record.duplex.unwrap_or(Duplex::Unknown);
            ledger.add(&record.ledger());
            self.boards.push((trial.file_name(), record));
        }
        Ok(outcome)
    }

    /// Saves a result with the notes on its trials and the observations of their board.
    ///
    /// # Errors
    /// It can't be written.
    pub fn save(&mut self, mut result: Measurement) -> Result<(), SessionError> {
        let notes = &mut result.setting_mut().notes;
        notes.append(&mut self.trial_notes);
        if let Some((ledger, duplex)) = self.board.take() {
            result.setting_mut().duplex = duplex;
            *result.ledger_mut() = ledger;
        }
        (self.save)(result)
    }

    /// Prints a note on the figures of the next result, and adds it to that result.
    pub fn note_on_result(&mut self, text: &str) {
        (self.note)(text);
        if !self.trial_notes.iter().any(|known| known == text) {
            self.trial_notes.push(text.to_owned());
        }
    }

    /// Prints a note for the user.
    pub fn note(&mut self, text: &str) {
        (self.note)(text);
    }

    /// Records that a part of the procedure can't be measured, with the reason: for the user and in
    /// the results.
    pub fn not_measured(&mut self, what: &str, why: &str) {
        self.note(&format!("{what}: not measured: {why}"));
        self.not_measured.push(NotMeasured {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Records that a check failed, in a sentence: the results have it, and the command does not succeed.
    pub fn failed(&mut self, what: String) {
        self.failures.push(what);
    }

    /// Waits for `span` of host time, or until the user cancels.
    pub fn wait(&self, span: Duration) {
        let mut left = span;
        while !left.is_zero() && !self.is_cancelled() {
            let piece = left.min(POLL_INTERVAL);
            std::thread::sleep(piece);
            left -= piece;
        }
    }

    /// True if the user has cancelled, or the maximum duration is over: results are kept, and no further trial is
    /// started.
    pub fn is_cancelled(&self) -> bool {
        self.is_over() || self.monitor.is_cancelled()
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn stop_reason(&self) -> &'static str {
        if self.monitor.is_cancelled() || !self.is_over() {
            CANCELLED
        } else {
            "its longest time is over"
        }
    }

    /// Records that a part of the procedure was not measured because it was cancelled or its time is over.
    pub fn stopped(&mut self, what: &str) {
        let why = self.stop_reason();
        self.not_measured(what, why);
        if !self.monitor.is_cancelled() {
            self.failed(format!("{what}: {why}"));
        }
    }

    /// The setting of a result of this run.
    pub fn setting(&self) -> Setting {
        Setting {
            run: self.run.clone(),
            duplex: Duplex::Unknown,
            ..Setting::default()
        }
    }
}

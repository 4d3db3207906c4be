//! What is done with a target. A procedure is one file or folder here; what its results mean together
//! is found in `linerate_explain::summary`.
//!
//! A procedure asks a target for [trials](crate::endpoint::Trial), hands on a result for each as soon as
//! it is there, and knows nothing of the kinds of targets.

pub mod conformance;
pub mod latency;
mod one_way;
pub mod packet_gaps;
pub mod rfc2544;
pub mod rfc6349;
#[cfg(test)]
mod scripted;
mod session;
pub mod size_sweep;
pub mod steps;
pub mod throughput;
pub mod udp_sweep;
pub mod window_sweep;

pub use session::{Asked, Session, SessionError, run};

use std::time::Duration;

use linerate_results::record::{Duplex, Measurement, NotMeasured, Setting};

use crate::endpoint::{Outcome, Target, TargetError, Trial, Watch};

/// Something to be done with a target.
pub trait Procedure {
    /// What it is, in a few words.
    fn words(&self) -> String;

    /// How long its trials take at least, to be said before it begins; with the target's own time where
    /// that is simulated.
    fn at_least(&self) -> Duration;

    /// Whether `target` can do all of it.
    ///
    /// # Errors
    /// Why it can't, a sentence without its end.
    fn can(&self, target: &dyn Target) -> Result<(), &'static str>;

    /// Does it. What was measured is handed to `bench` trial by trial.
    ///
    /// # Errors
    /// A trial that failed, when nothing that follows makes sense without it.
    fn run(&self, target: &mut dyn Target, bench: &mut Bench<'_>) -> Result<(), SessionError>;
}

/// Where a procedure is at home: takes its results, and tells the user how far it is.
pub struct Bench<'a> {
    /// The name of the run, in every result.
    pub run: String,
    keep: &'a mut dyn FnMut(Measurement) -> Result<(), SessionError>,
    note: &'a mut dyn FnMut(&str),
    watch: &'a mut dyn Watch,
    left_out: Vec<NotMeasured>,
}

/// How long a wait goes on after the user has had enough, at most.
const WAIT: Duration = Duration::from_millis(100);

impl<'a> Bench<'a> {
    /// A bench that hands results to `keep` and words for the user to `note`.
    pub fn new(
        keep: &'a mut dyn FnMut(Measurement) -> Result<(), SessionError>,
        note: &'a mut dyn FnMut(&str),
        watch: &'a mut dyn Watch,
    ) -> Self {
        Self {
            run: String::new(),
            keep,
            note,
            watch,
            left_out: Vec::new(),
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
        let outcome = target.run(trial, self.watch)?;
        for note in &outcome.notes {
            (self.note)(note);
        }
        Ok(outcome)
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// It can't be written.
    pub fn keep(&mut self, result: Measurement) -> Result<(), SessionError> {
        (self.keep)(result)
    }

    /// Tells the user something.
    pub fn note(&mut self, text: &str) {
        (self.note)(text);
    }

    /// A part of the procedure can't be measured, and why: told to the user, and in the results.
    pub fn not_measured(&mut self, what: &str, why: &str) {
        self.note(&format!("{what}: not measured: {why}"));
        self.left_out.push(NotMeasured {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Waits so long of this machine's time, or until the user has had enough.
    pub fn wait(&self, span: Duration) {
        let mut left = span;
        while !left.is_zero() && !self.is_over() {
            let piece = left.min(WAIT);
            std::thread::sleep(piece);
            left -= piece;
        }
    }

    /// The user has had enough: what was measured stays, and no further trial is begun.
    pub fn is_over(&self) -> bool {
        self.watch.is_over()
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

//! Runs the conformance cases in sequence, each on a freshly started board.

use std::time::Duration;

use linerate_results::record::{
    Conformance as Record, ConformanceMetrics, ConformanceParams, Ledger, Measurement,
};

use super::{Procedure, SessionError, TrialContext};
use crate::conformance::{CASES, Case, Outcome, run_case};
use crate::endpoint::Target;

/// The selected cases.
pub struct Conformance {
    /// Selects the cases whose name contains one of these words; all if empty.
    pub words: Vec<String>,
    /// Frames of a case that does not set its own number.
    pub frames: u64,
}

impl Conformance {
    /// The selected cases.
    pub fn cases(&self) -> impl Iterator<Item = &'static Case> {
        let is_selected = |case: &Case| {
            let named = |word: &String| case.name.contains(word.as_str());
            self.words.is_empty() || self.words.iter().any(named)
        };
        CASES.iter().filter(move |case| is_selected(case))
    }
}

impl Procedure for Conformance {
    fn label(&self) -> String {
        "driver conformance".to_owned()
    }

    fn min_duration(&self) -> Duration {
        Duration::from_secs(self.cases().count() as u64)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        let stand = target.test_board();
        stand.map(|_| ()).ok_or(
            "only boards with firmware that run on this host, sim:// and qemu://, can be tested",
        )
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let Some(stand) = target.test_board() else {
            return Ok(());
        };
        for case in self.cases() {
            if context.is_cancelled() {
                context.stopped(case.name);
                continue;
            }
            let (frames, failure) = match run_case(&stand, case, self.frames, context.monitor)? {
                Outcome::Failed(_) if context.is_cancelled() => {
                    context.stopped(case.name);
                    continue;
                }
                Outcome::Passed(frames) => (frames, String::new()),
                Outcome::Failed(what) => (0, what),
                Outcome::Skipped(why) => {
                    context.not_measured(case.name, &why);
                    continue;
                }
            };
            let setting = context.setting();
            context.save(Measurement::Conformance(Record {
                params: ConformanceParams {
                    setting,
                    case: case.name.to_owned(),
                    about: case.about.to_owned(),
                },
                metrics: ConformanceMetrics {
                    passed: failure.is_empty(),
                    frames,
                    failure,
                },
                ledger: Ledger::default(),
            }))?;
        }
        Ok(())
    }
}

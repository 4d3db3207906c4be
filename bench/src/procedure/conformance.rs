//! The conformance cases, one after the other, each on a board that was just switched on.

use std::time::Duration;

use linerate_results::record::{
    Conformance as Record, ConformanceMetrics, ConformanceParams, Ledger, Measurement,
};

use super::{Procedure, SessionError, TrialContext};
use crate::conformance::{CASES, Case, Outcome, run_case};
use crate::endpoint::Target;

/// Why a case was not tried to its end.
const ENDED: &str = "the user ended it before";

/// The cases that are asked for.
pub struct Conformance {
    /// Those whose name has one of these words in it; all where there is none.
    pub words: Vec<String>,
    /// Frames of a case without a number of its own.
    pub frames: u64,
}

impl Conformance {
    /// The cases that are meant.
    pub fn cases(&self) -> impl Iterator<Item = &'static Case> {
        let is_meant = |case: &Case| {
            let named = |word: &String| case.name.contains(word.as_str());
            self.words.is_empty() || self.words.iter().any(named)
        };
        CASES.iter().filter(move |case| is_meant(case))
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
        stand
            .map(|_| ())
            .ok_or("only boards that run here, sim:// and qemu://, can be tried")
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
                context.not_measured(case.name, ENDED);
                continue;
            }
            let (frames, failure) = match run_case(&stand, case, self.frames, context.monitor)? {
                Outcome::Failed(_) if context.is_cancelled() => {
                    context.not_measured(case.name, ENDED);
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
                    ..ConformanceParams::default()
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

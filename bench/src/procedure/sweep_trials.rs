//! One trial of a sweep: counted, silent, or cut off.

use std::time::Duration;

use linerate_results::record::{Direction, Flow, Measurement, Setting};

use super::{SessionError, TrialContext};
use crate::endpoint::{Outcome, Target, TargetError, Trial};

/// What a trial of a sweep came to.
#[derive(Debug)]
pub(super) enum SweepOutcome {
    /// This, with what else the target told.
    Flow(Flow, Box<Outcome>),
    /// Nothing was told, for this reason.
    NoReport(String),
    /// The user ended it: it has less of everything than was asked for.
    Cancelled,
}

/// The trials of a sweep with a target. Once it has answered, its silence is a result; before, it is not
/// there.
pub(super) struct SweepTrials<'a, 'b> {
    pub(super) target: &'a mut dyn Target,
    pub(super) context: &'a mut TrialContext<'b>,
    /// The time between two trials, for queues to become empty. A simulated target needs none.
    settle: Duration,
    has_reported: bool,
}

impl<'a, 'b> SweepTrials<'a, 'b> {
    pub(super) fn new(
        target: &'a mut dyn Target,
        context: &'a mut TrialContext<'b>,
        settle: Duration,
    ) -> Self {
        Self {
            target,
            context,
            settle,
            has_reported: false,
        }
    }

    /// Does a trial for each of `values`, one way, until the user has had enough, and keeps what `result`
    /// makes of each: of the count, and of why there is none.
    pub(super) fn run_each<V: Copy>(
        &mut self,
        values: &[V],
        direction: Direction,
        trial: impl Fn(V) -> Trial,
        result: impl Fn(V, Setting, Option<Flow>, String) -> Measurement,
    ) -> Result<(), SessionError> {
        for &value in values {
            if self.context.is_cancelled() {
                break;
            }
            let (flow, failure) = match self.run_one(&trial(value), direction)? {
                SweepOutcome::Flow(flow, _) => (Some(flow), String::new()),
                SweepOutcome::NoReport(why) => (None, why),
                SweepOutcome::Cancelled => break,
            };
            let setting = self.context.setting();
            self.context.save(result(value, setting, flow, failure))?;
        }
        Ok(())
    }

    /// Does `trial`, one way.
    pub(super) fn run_one(
        &mut self,
        trial: &Trial,
        direction: Direction,
    ) -> Result<SweepOutcome, SessionError> {
        if self.has_reported && !self.target.is_simulated() {
            std::thread::sleep(self.settle);
        }
        let mut outcome = match self.context.trial(self.target, trial) {
            Ok(outcome) => outcome,
            Err(TargetError::Failed { what, .. }) if self.has_reported => {
                return Ok(SweepOutcome::NoReport(what));
            }
            Err(error) => return Err(error.into()),
        };
        if self.context.is_cancelled() {
            return Ok(SweepOutcome::Cancelled);
        }
        self.has_reported = true;
        let flow = match direction {
            Direction::FromDevice => outcome.from_device.take(),
            Direction::ToDevice | Direction::Both => outcome.to_device.take(),
        };
        Ok(match flow {
            Some(flow) => SweepOutcome::Flow(flow, Box::new(outcome)),
            None => SweepOutcome::NoReport("the target did not say what it received".to_owned()),
        })
    }
}

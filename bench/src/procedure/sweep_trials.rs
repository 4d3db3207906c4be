//! The trials of a sweep: each with a report, without one, or cancelled.

use std::time::Duration;

use linerate_results::record::{Direction, Flow, Measurement, Observation, Setting};

use super::{SessionError, TrialContext};
use crate::endpoint::{Outcome, Target, TargetError, Trial};

/// Outcome of a trial of a sweep.
#[derive(Debug)]
pub(super) enum SweepOutcome {
    /// The flow, with the rest of the target's report.
    Flow(Box<Flow>, Box<Outcome>),
    /// No report, for this reason.
    NoReport(String),
    /// Cancelled by the user: the figures are incomplete.
    Cancelled,
}

/// The flow of a trial of a sweep, or the reason why there is none.
#[derive(Debug, Default)]
pub(super) struct SweptFlow {
    pub(super) flow: Option<Flow>,
    pub(super) failure: String,
    pub(super) observation: Observation,
}

/// Maximum duration of `trials` with a pause after each.
pub(super) fn max_duration(
    target: &dyn Target,
    trials: impl Iterator<Item = Trial>,
    settle: Duration,
) -> Option<Duration> {
    trials
        .map(|trial| Some(target.deadline(&trial)? + settle))
        .sum()
}

/// The trials of a sweep on a target. After its first report, a missing report is a result; before, it
/// is an error.
pub(super) struct SweepTrials<'a, 'b> {
    pub(super) target: &'a mut dyn Target,
    pub(super) context: &'a mut TrialContext<'b>,
    /// Time between two trials, for queues to drain. A simulated target needs none.
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

    /// Runs a trial for each of `values`, one way, until the user cancels, and saves what `result`
    /// returns for each: from the flow, or from the reason why there is none.
    pub(super) fn run_each<V: Copy>(
        &mut self,
        values: &[V],
        direction: Direction,
        trial: impl Fn(V) -> Trial,
        result: impl Fn(V, Setting, SweptFlow) -> Measurement,
    ) -> Result<(), SessionError> {
        for &value in values {
            if self.context.is_cancelled() {
                break;
            }
            let swept = match self.run_one(&trial(value), direction)? {
                SweepOutcome::Flow(flow, outcome) => SweptFlow {
                    flow: Some(*flow),
                    failure: String::new(),
                    observation: outcome.observation,
                },
                SweepOutcome::NoReport(failure) => SweptFlow {
                    failure,
                    ..SweptFlow::default()
                },
                SweepOutcome::Cancelled => break,
            };
            let setting = self.context.setting();
            self.context.save(result(value, setting, swept))?;
        }
        Ok(())
    }

    /// Runs `trial`, one way.
    pub(super) fn run_one(
        &mut self,
        trial: &Trial,
        direction: Direction,
    ) -> Result<SweepOutcome, SessionError> {
        if self.has_reported && !self.target.is_simulated() {
            self.context.wait(self.settle);
        }
        let mut outcome = match self.context.trial(self.target, trial) {
            Ok(outcome) => outcome,
            Err(TargetError::Failed { what, .. } | TargetError::Unreachable { what, .. })
                if self.has_reported =>
            {
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
            Some(flow) => SweepOutcome::Flow(Box::new(flow), Box::new(outcome)),
            None => SweepOutcome::NoReport("the target did not report what it received".to_owned()),
        })
    }
}

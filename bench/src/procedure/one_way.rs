//! One trial of a sweep: counted, silent, or cut off.

use std::time::Duration;

use linerate_results::record::{Direction, Flow, Measurement, Setting};

use super::{Bench, SessionError};
use crate::endpoint::{Outcome, Target, TargetError, Trial};

/// What a trial of a sweep came to.
#[derive(Debug)]
pub(super) enum Counted {
    /// This, with what else the target told.
    Flow(Flow, Box<Outcome>),
    /// Nothing was told, for this reason.
    Nothing(String),
    /// The user ended it: it has less of everything than was asked for.
    Cut,
}

/// The trials of a sweep with a target. Once it has answered, its silence is a result; before, it is not
/// there.
pub(super) struct Trials<'a, 'b> {
    pub(super) target: &'a mut dyn Target,
    pub(super) bench: &'a mut Bench<'b>,
    /// The time between two trials, for queues to become empty. A simulated target needs none.
    settle: Duration,
    has_told: bool,
}

impl<'a, 'b> Trials<'a, 'b> {
    pub(super) fn new(
        target: &'a mut dyn Target,
        bench: &'a mut Bench<'b>,
        settle: Duration,
    ) -> Self {
        Self {
            target,
            bench,
            settle,
            has_told: false,
        }
    }

    /// Does a trial for each of `values`, one way, until the user has had enough, and keeps what `result`
    /// makes of each: of the count, and of why there is none.
    pub(super) fn each<V: Copy>(
        &mut self,
        values: &[V],
        direction: Direction,
        trial: impl Fn(V) -> Trial,
        result: impl Fn(V, Setting, Option<Flow>, String) -> Measurement,
    ) -> Result<(), SessionError> {
        for &value in values {
            if self.bench.is_over() {
                break;
            }
            let (flow, failure) = match self.one_way(&trial(value), direction)? {
                Counted::Flow(flow, _) => (Some(flow), String::new()),
                Counted::Nothing(why) => (None, why),
                Counted::Cut => break,
            };
            let setting = self.bench.setting();
            self.bench.keep(result(value, setting, flow, failure))?;
        }
        Ok(())
    }

    /// Does `trial`, one way.
    pub(super) fn one_way(
        &mut self,
        trial: &Trial,
        direction: Direction,
    ) -> Result<Counted, SessionError> {
        if self.has_told && !self.target.is_simulated() {
            std::thread::sleep(self.settle);
        }
        let mut outcome = match self.bench.trial(self.target, trial) {
            Ok(outcome) => outcome,
            Err(TargetError::Failed { what, .. }) if self.has_told => {
                return Ok(Counted::Nothing(what));
            }
            Err(error) => return Err(error.into()),
        };
        if self.bench.is_over() {
            return Ok(Counted::Cut);
        }
        self.has_told = true;
        let flow = match direction {
            Direction::FromDevice => outcome.from_device.take(),
            Direction::ToDevice | Direction::Both => outcome.to_device.take(),
        };
        Ok(match flow {
            Some(flow) => Counted::Flow(flow, Box::new(outcome)),
            None => Counted::Nothing("the target did not say what it received".to_owned()),
        })
    }
}

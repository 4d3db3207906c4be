//! Trials on one target, each saved as a result.

use std::time::Duration;

use linerate_results::record::{
    Extent, Measurement, Rfc2544 as Record, Rfc2544Params, Rfc2544Test,
};

use super::burst_search::BurstSearch;
use super::offer::{InvalidOutcome, Offer};
use super::rate_search::RateSearch;
use crate::endpoint::{Outcome, Target, TargetError, Trial};
use crate::procedure::{SessionError, TrialContext};

/// Attempts before a failed trial is an error: a report is a datagram, too, and can be lost under
/// load.
pub(super) const ATTEMPTS: u32 = 3;

/// A target and the context for its results.
pub(super) struct Trials<'a, 'b> {
    pub(super) target: &'a mut dyn Target,
    pub(super) context: &'a mut TrialContext<'b>,
    pub(super) extent: Extent,
    pub(super) pause: Duration,
}

/// Why no more trials of a size are done.
#[derive(Debug)]
pub(super) enum Stop {
    /// Cancelled by the user.
    Cancelled,
    /// The target does not support frames of this size.
    UnsupportedSize(String),
    /// Something failed.
    Failed(SessionError),
}

impl From<SessionError> for Stop {
    fn from(error: SessionError) -> Self {
        Self::Failed(error)
    }
}

/// The part of a test that a trial belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TestPart {
    pub(super) test: Rfc2544Test,
    pub(super) repetition: u32,
    pub(super) repetitions: u32,
    pub(super) resolution_frames_per_s: f64,
    pub(super) longest_burst: u64,
}

impl Trials<'_, '_> {
    /// Runs a trial of frames at a rate for `span`.
    pub(super) fn stream(
        &mut self,
        offer: Offer,
        part: TestPart,
        frames_per_s: f64,
        span: Duration,
    ) -> Result<Record, Stop> {
        let frames = ((frames_per_s * span.as_secs_f64()).round() as u64).max(1);
        let trial = match part.test {
            Rfc2544Test::Latency => offer.with_round_trips(frames, frames_per_s),
            _ => offer.trial(frames, Some(frames_per_s)),
        };
        self.run(offer, part, &trial, frames, frames_per_s)
    }

    /// Searches the longest burst without loss; begins at `first`.
    pub(super) fn longest(
        &mut self,
        offer: Offer,
        part: TestPart,
        first: u64,
    ) -> Result<u64, Stop> {
        let mut search = BurstSearch::new(part.longest_burst, first);
        while let Some(frames) = search.next() {
            let trial = offer.trial(frames, None);
            let record = self.run(offer, part, &trial, frames, offer.line_frames_per_s())?;
            // The received rate of a short burst does not show how fast it was sent.
            search.record(record.metrics.lost_frames == 0);
        }
        Ok(search.found())
    }

    /// Searches the highest rate without loss, in steps.
    pub(super) fn highest(
        &mut self,
        offer: Offer,
        steps: u32,
        span: impl Fn(bool) -> Duration,
    ) -> Result<Option<u32>, Stop> {
        let resolution_frames_per_s = offer.line_frames_per_s() / f64::from(steps.max(1));
        let part = TestPart {
            resolution_frames_per_s,
            ..TestPart::default()
        };
        let mut search = RateSearch::new(steps);
        while let Some(probe) = search.next() {
            let rate = resolution_frames_per_s * f64::from(probe.step);
            let record = self.stream(offer, part, rate, span(probe.is_final))?;
            search.record(record.is_lossless());
        }
        Ok(search.found())
    }

    fn run(
        &mut self,
        offer: Offer,
        part: TestPart,
        trial: &Trial,
        frames: u64,
        frames_per_s: f64,
    ) -> Result<Record, Stop> {
        let outcome = self.attempt(trial)?;
        let metrics = match offer.evaluate(self.target, &outcome, frames, frames_per_s) {
            Ok(metrics) => metrics,
            Err(InvalidOutcome::UnsupportedSize(why)) => return Err(Stop::UnsupportedSize(why)),
            Err(InvalidOutcome::Failed(error)) => return Err(Stop::Failed(error.into())),
        };
        let pause = if self.target.is_simulated() {
            Duration::ZERO
        } else {
            self.pause
        };
        let record = Record {
            params: Rfc2544Params {
                setting: self.context.setting(),
                test: part.test,
                extent: self.extent,
                counting: offer.counting,
                frame_octets: u64::from(offer.octets),
                line_bits_per_s: offer.line_bits_per_s,
                frames,
                offered_frames_per_s: frames_per_s,
                resolution_frames_per_s: part.resolution_frames_per_s,
                repetition: u64::from(part.repetition),
                repetitions: u64::from(part.repetitions),
                longest_burst: part.longest_burst,
                pause_ns: pause.as_nanos() as u64,
            },
            metrics,
            ..Record::default()
        };
        self.context.save(Measurement::Rfc2544(record.clone()))?;
        self.context.wait(pause);
        Ok(record)
    }

    fn attempt(&mut self, trial: &Trial) -> Result<Outcome, Stop> {
        for attempt in 1.. {
            if self.context.is_cancelled() {
                break;
            }
            match self.context.trial(self.target, trial) {
                // A cancelled trial does not have its full length.
                Ok(_) if self.context.is_cancelled() => break,
                Ok(outcome) => return Ok(outcome),
                Err(error @ TargetError::Failed { .. }) if attempt < ATTEMPTS => {
                    self.context.note(&format!("{error}; retrying"));
                    self.context.wait(self.pause);
                }
                Err(error) => return Err(Stop::Failed(error.into())),
            }
        }
        Err(Stop::Cancelled)
    }
}

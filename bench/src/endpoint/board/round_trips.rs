//! Round trips: STAMP, with the agent's sender on the peer.

use std::time::Duration;

use linerate_agent::stamp::{Clock, LEN, PORT, Plan, Sender};

use super::runner::BoardTarget;
use super::session::BoardSession;
use crate::endpoint::{Outcome, RoundTripSample, RoundTrips, TargetError, TrialMonitor, stamp};

/// Capacity of the sample queue.
const SAMPLES: usize = 64;
/// Timeout for the last answer.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Of virtual time.
const RESOLUTION: Duration = Duration::from_nanos(1);

impl BoardTarget {
    /// Sends the requests, and waits for the answers.
    pub(super) fn round_trips(
        &self,
        asked: &RoundTrips,
        session: &mut BoardSession,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let mut load = match &asked.load {
            None => None,
            Some(load) => Some(self.start_transfer(load, session)?),
        };
        if load.is_some() {
            session.run_for(asked.head_start())?;
        }
        let began = session.now();
        let handle = session.start(Sender::<SAMPLES>::new(Plan {
            to: (self.board.link.ipv4, PORT).into(),
            count: asked.count,
            interval: asked.interval,
            octets: usize::from(asked.payload_octets).max(LEN),
            timeout: LAST_ANSWER_TIMEOUT,
            clock: Clock::free(RESOLUTION),
            stateful: true,
            session: 1,
        }))?;
        let mut samples = Vec::new();
        session.run_until(monitor, |session| {
            let now = session.now();
            session.with(handle, |sender: &mut Sender<SAMPLES>| {
                while let Some(sample) = sender.take_sample() {
                    samples.push(RoundTripSample {
                        sent_ns: sample.sent.since(began).as_nanos() as u64,
                        round_trip_ns: sample.round_trip.as_nanos() as u64,
                    });
                }
                sender.is_done(now)
            })
        })?;
        let outcome = session.stop::<Sender<SAMPLES>>(handle)?.outcome();
        if outcome.answered == 0 && !session.is_cancelled {
            let what = format!("none of {} requests was answered", outcome.sent);
            return Err(session.failed(&what));
        }
        let mut all = Outcome::default();
        if let Some(load) = &mut load {
            session.run_until(monitor, |session| load.poll_done(session))?;
        }
        if let Some(load) = load {
            all = load.finish(session)?;
        }
        Ok(Outcome {
            round_trips: Some(stamp::answers(&outcome, samples)),
            ..all
        })
    }
}

//! Round trips: STAMP, the agent's own sender on the peer.

use std::time::Duration;

use linerate_agent::stamp::{Clock, LEN, PORT, Plan, Sender};

use super::runner::Target;
use super::session::Session;
use crate::endpoint::{Answer, Outcome, RoundTrips, TargetError, Watch, stamp};

/// Samples that wait until they are taken.
const SAMPLES: usize = 64;
/// How long the last answer is waited for.
const LAST: Duration = Duration::from_secs(1);
/// Of virtual time.
const RESOLUTION: Duration = Duration::from_nanos(1);

impl Target {
    /// Asks, and waits for the answers.
    pub(super) fn round_trips(
        &self,
        asked: &RoundTrips,
        session: &mut Session,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, TargetError> {
        let mut load = match &asked.under {
            None => None,
            Some(load) => Some(self.begin(load, session)?),
        };
        if load.is_some() {
            session.pass(asked.head_start())?;
        }
        let began = session.now();
        let handle = session.start(Sender::<SAMPLES>::new(Plan {
            to: (self.board.link.ipv4, PORT).into(),
            count: asked.count,
            interval: asked.interval,
            octets: usize::from(asked.payload_octets).max(LEN),
            patience: LAST,
            clock: Clock::free(RESOLUTION),
            stateful: true,
            session: 1,
        }))?;
        let mut samples = Vec::new();
        session.run_until(watch, |session| {
            let now = session.now();
            session.with(handle, |sender: &mut Sender<SAMPLES>| {
                while let Some(sample) = sender.take_sample() {
                    samples.push(Answer {
                        sent_ns: sample.sent.since(began).as_nanos() as u64,
                        round_trip_ns: sample.round_trip.as_nanos() as u64,
                    });
                }
                sender.is_done(now)
            })
        })?;
        let outcome = session.stop::<Sender<SAMPLES>>(handle)?.outcome();
        if outcome.answered == 0 && !session.is_cut {
            let what = format!("none of {} requests was answered", outcome.sent);
            return Err(session.failed(&what));
        }
        let mut all = Outcome::default();
        if let Some(load) = &mut load {
            session.run_until(watch, |session| load.is_over(session))?;
        }
        if let Some(load) = load {
            all = load.end(session)?;
        }
        Ok(Outcome {
            round_trips: Some(stamp::answers(&outcome, samples)),
            ..all
        })
    }
}

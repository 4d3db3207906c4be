//! `stamp://HOST:PORT`: a reflector of RFC 8762.

use std::net::SocketAddr;
use std::time::Duration;

use linerate_agent::stamp::{Clock, LEN, Plan, Sender};

use super::client::{self, ClientState};
use super::deadline;
use super::{
    CANCELLED, Options, Outcome, RoundTripReport, RoundTripSample, RoundTrips, Target, TargetError,
    Trial, TrialMonitor, Url,
};

/// The default port (RFC 8762 section 4.1).
const PORT: u16 = 862;
/// Capacity of the sample queue: as many datagrams as the driver reads in a turn.
const SAMPLES: usize = 256;
/// Timeout for the last answer.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Resolution of our clock, sent in the packets.
const RESOLUTION: Duration = Duration::from_nanos(1);

struct Stamp {
    to: SocketAddr,
    sessions: u16,
}

/// Opens the reflector that `url` names.
pub(super) fn open(url: &Url, _: &Options) -> Result<Box<dyn Target>, TargetError> {
    url.check_query(&[])?;
    Ok(Box::new(Stamp {
        to: url.address(PORT)?,
        sessions: std::process::id() as u16,
    }))
}

impl Stamp {
    fn round_trips(
        &mut self,
        asked: &RoundTrips,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        self.sessions = self.sessions.wrapping_add(1).max(1);
        let plan = Plan {
            to: self.to,
            count: asked.count,
            interval: asked.interval,
            octets: usize::from(asked.payload_octets).max(LEN),
            timeout: LAST_ANSWER_TIMEOUT,
            clock: Clock::free(RESOLUTION),
            stateful: false,
            session: self.sessions,
        };
        let mut samples = Vec::new();
        let step = |sender: &mut Sender<SAMPLES>, now| {
            while let Some(sample) = sender.take_sample() {
                samples.push(RoundTripSample {
                    sent_ns: sample.sent.ns(),
                    round_trip_ns: sample.round_trip.as_nanos() as u64,
                });
            }
            if sender.is_done(now) {
                return ClientState::<std::convert::Infallible>::Done;
            }
            let octets = plan.octets as u64;
            let outcome = sender.outcome();
            ClientState::Running {
                to_device: outcome.sent * octets,
                from_device: outcome.answered * octets,
            }
        };
        let finished = client::run(
            Sender::new(plan),
            self.to,
            client::ClientOptions {
                limit: LAST_ANSWER_TIMEOUT
                    + deadline::limit(asked.interval * asked.count, Duration::ZERO),
                buffer_octets: None,
                data: None,
            },
            monitor,
            step,
            |never| match never {},
        )?;
        let outcome = finished.service.outcome();
        if outcome.answered == 0 {
            return Err(self.failure(format!(
                "none of {} packets was answered; is the reflector running, and this its port?",
                outcome.sent
            )));
        }
        let mut notes = Vec::new();
        if finished.is_cancelled {
            notes.push(CANCELLED.to_owned());
        }
        if finished.is_expired {
            notes.push("requests could not be sent in time: stopped".to_owned());
        }
        Ok(Outcome {
            round_trips: Some(answers(&outcome, samples)),
            notes,
            ..Outcome::default()
        })
    }
}

/// Converts the outcome of a STAMP session.
pub(super) fn answers(
    session: &linerate_agent::stamp::Outcome,
    samples: Vec<RoundTripSample>,
) -> RoundTripReport {
    RoundTripReport {
        sent: session.sent,
        samples,
        lost_forward: session.loss.forward,
        lost_backward: session.loss.backward,
        lost_unknown: session.loss.unknown,
        out_of_order: session.out_of_order,
        duplicates: session.forward_duplicates + session.backward_duplicates,
    }
}

impl Target for Stamp {
    fn name(&self) -> String {
        format!("STAMP reflector at {}", self.to)
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::RoundTrips(RoundTrips { load: None, .. }) => Ok(()),
            Trial::RoundTrips(_) => {
                Err("a reflector alone can't load the link; name a target that can, too")
            }
            Trial::Frames(_) => Err("STAMP is no Ethernet frame; use raw:// or sim://"),
            _ => Err("a reflector answers single packets; use iperf2://, iperf3:// or http://"),
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        Some(self.to)
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        Some(deadline::of(trial, LAST_ANSWER_TIMEOUT))
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        match trial {
            Trial::RoundTrips(asked) => self.round_trips(asked, monitor),
            _ => Ok(Outcome::default()),
        }
    }
}

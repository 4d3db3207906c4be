//! A target for tests, with a scripted outcome for each trial.

use std::time::Duration;

use linerate_results::record::{CountedAt, Datagrams as Count, Flow, Measurement};

use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{
    Amount, Datagrams, NoMonitor, Outcome, RoundTripReport, RoundTripSample, RoundTrips, Target,
    TargetError, Trial, TrialMonitor,
};

/// Returns what the function returns for a trial.
pub struct Scripted<F> {
    /// The trials requested so far.
    pub asked: Vec<Trial>,
    /// The longest time of each.
    pub deadline: Option<Duration>,
    answer: F,
}

impl<F: FnMut(&Trial) -> Result<Outcome, &'static str>> Scripted<F> {
    pub fn new(answer: F) -> Self {
        let asked = Vec::new();
        Self {
            asked,
            deadline: None,
            answer,
        }
    }
}

impl<F: FnMut(&Trial) -> Result<Outcome, &'static str> + Send> Target for Scripted<F> {
    fn name(&self) -> String {
        "a scripted target".to_owned()
    }

    fn supports(&self, _: &Trial) -> Result<(), &'static str> {
        Ok(())
    }

    fn measure(&mut self, trial: &Trial, _: &mut dyn TrialMonitor) -> Result<Outcome, TargetError> {
        self.asked.push(trial.clone());
        (self.answer)(trial).map_err(|what| self.failure(what.to_owned()))
    }

    fn deadline(&self, _: &Trial) -> Option<Duration> {
        self.deadline
    }

    /// So that no test waits.
    fn is_simulated(&self) -> bool {
        true
    }
}

/// Runs `procedure`; returns its failures.
pub fn failures(procedure: &dyn Procedure, target: &mut dyn Target) -> Vec<String> {
    failures_within(None, procedure, target)
}

/// The same, with `limit` as its longest time.
pub fn failures_within(
    limit: Option<Duration>,
    procedure: &dyn Procedure,
    target: &mut dyn Target,
) -> Vec<String> {
    let (mut keep, mut note, mut monitor) = (|_| Ok(()), |_: &str| {}, NoMonitor);
    let mut context = TrialContext::new(&mut keep, &mut note, &mut monitor).with_limit(limit);
    let outcome = procedure.run(target, &mut context);
    assert!(outcome.is_ok());
    context.failures
}

/// Runs `procedure`; returns its outcome, its results and its notes.
pub fn done(
    procedure: &dyn Procedure,
    target: &mut dyn Target,
) -> (Result<(), SessionError>, Vec<Measurement>, Vec<String>) {
    let (mut kept, mut notes) = (Vec::new(), Vec::new());
    let mut keep = |result| {
        kept.push(result);
        Ok(())
    };
    let mut note = |text: &str| notes.push(text.to_owned());
    let mut monitor = NoMonitor;
    let mut context = TrialContext::new(&mut keep, &mut note, &mut monitor);
    let outcome = procedure.run(target, &mut context);
    (outcome, kept, notes)
}

/// The counts if `asked` is offered and `received_bits_per_s` arrive.
pub fn counted(asked: &Datagrams, received_bits_per_s: u64) -> Flow {
    let Amount::Span(span) = asked.amount else {
        panic!("procedures ask for a time")
    };
    let datagrams = |bits_per_s: u64| {
        let octets = bits_per_s as f64 / 8.0 * span.as_secs_f64();
        (octets / f64::from(asked.payload_octets)) as u64
    };
    let sent = datagrams(asked.payload_bits_per_s);
    let received = datagrams(received_bits_per_s).min(sent);
    let count = Count {
        sent,
        received,
        lost: sent - received,
        ..Count::default()
    };
    let octets = received * u64::from(asked.payload_octets);
    Flow::datagrams(octets, span.as_nanos() as u64, CountedAt::Device, count)
}

/// A report in which each of `asked` is answered after `ns`.
pub fn answered(asked: &RoundTrips, ns: u64) -> Outcome {
    let samples = vec![
        RoundTripSample {
            sent_ns: 0,
            round_trip_ns: ns,
        };
        asked.count as usize
    ];
    let answers = RoundTripReport {
        sent: u64::from(asked.count),
        samples,
        ..RoundTripReport::default()
    };
    Outcome {
        round_trips: Some(answers),
        ..Outcome::default()
    }
}

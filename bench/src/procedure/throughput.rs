//! Throughput: one transfer, TCP or UDP, one way or both.

use std::time::Duration;

use linerate_explain::cause::explain_transfer;
use linerate_results::record::{
    Direction, Flow, Ledger, Measurement, Throughput as Record, ThroughputMetrics,
    ThroughputParams, Transport,
};

use super::latency::idle;
use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Outcome, RoundTrips, Target, TargetError, Trial};
use linerate_results::distribution;

/// A transfer to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// A [`Trial::Stream`] or [`Trial::Datagrams`].
    pub trial: Trial,
    /// Round trips to measure before the transfer and during it; `None`: none.
    pub probe: Option<RoundTrips>,
}

const fn span(amount: Amount) -> Duration {
    match amount {
        Amount::Span(span) => span,
        Amount::Octets(_) => Duration::ZERO,
    }
}

impl Throughput {
    fn params(&self, context: &TrialContext<'_>) -> ThroughputParams {
        let common = ThroughputParams {
            setting: context.setting(),
            ..ThroughputParams::default()
        };
        match &self.trial {
            Trial::Datagrams(it) => ThroughputParams {
                transport: Transport::Udp,
                direction: it.direction,
                streams: 1,
                payload_bytes: u64::from(it.payload_octets),
                offered_bytes_per_s: it.payload_bits_per_s as f64 / 8.0,
                ..common
            },
            Trial::Stream(it) => ThroughputParams {
                transport: Transport::Tcp,
                direction: it.direction,
                streams: u64::from(it.streams.max(1)),
                payload_bytes: u64::from(it.write_octets),
                ..common
            },
            Trial::RoundTrips(_) | Trial::Frames(_) => common,
        }
    }

    /// Runs the transfer; with a probe, also round trips before it and during it.
    fn measure(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<Outcome, SessionError> {
        let Some(probe) = &self.probe else {
            return Ok(context.trial(target, &self.trial)?);
        };
        let before = match idle(target, context) {
            Ok(rtt) => rtt.map(|rtt| rtt.min_ns),
            Err(SessionError::Target(TargetError::Failed { what, .. })) => {
                self.report_silent_probe(context, &what);
                return Ok(context.trial(target, &self.trial)?);
            }
            Err(error) => return Err(error),
        };
        let probed = Trial::RoundTrips(RoundTrips {
            load: Some(Box::new(self.trial.clone())),
            ..self.fitted(probe)
        });
        let mut outcome = match target.supports(&probed) {
            Ok(()) => context.trial(target, &probed),
            Err(_) => context.trial(target, &self.trial),
        };
        if let Err(TargetError::Failed { what, .. }) = &outcome {
            // The load may have silenced the probe.
            self.report_silent_probe(context, what);
            outcome = context.trial(target, &self.trial);
        }
        let mut outcome = outcome?;
        let samples = outcome.round_trips.take().unwrap_or_default().samples;
        let loaded = distribution::of(samples.iter().map(|it| it.round_trip_ns));
        outcome.observation.idle_round_trip_ns = before;
        outcome.observation.loaded_round_trip_ns = loaded.map(|it| it.p50_ns);
        Ok(outcome)
    }

    /// Reports that the requested probe did not answer: the transfer is measured all the same, but the command does
    /// not succeed.
    fn report_silent_probe(&self, context: &mut TrialContext<'_>, why: &str) {
        context.note_on_result(&format!("without a probe: {why}"));
        if !context.is_cancelled() {
            context.failed(format!("{}: without a probe: {why}", self.label()));
        }
    }

    /// Round trips that end before the transfer.
    fn fitted(&self, probe: &RoundTrips) -> RoundTrips {
        let span = self.min_duration();
        if span.is_zero() {
            return probe.clone();
        }
        RoundTrips {
            interval: RoundTrips::interval_within(span, probe.count),
            ..probe.clone()
        }
    }

    /// Checks that something arrived, as far as the target reports it.
    fn check_received(
        &self,
        target: &dyn Target,
        context: &mut TrialContext<'_>,
        outcome: &Outcome,
    ) -> Result<(), SessionError> {
        let (to, from) = (&outcome.to_device, &outcome.from_device);
        let flows: &[_] = match self.direction() {
            Direction::ToDevice => &[to],
            Direction::FromDevice => &[from],
            Direction::Both => &[to, from],
        };
        let is_cut = context.is_cancelled();
        if flows.iter().any(|flow| flow.is_none()) && !is_cut {
            context.note_on_result(&format!(
                "{}: the target did not report what it received",
                self.label()
            ));
        }
        let nothing = |flow: &&Flow| flow.octets == 0;
        if flows
            .iter()
            .filter_map(|flow| flow.as_ref())
            .any(|flow| nothing(&flow))
            && !is_cut
        {
            let what = "nothing of what was sent arrived".to_owned();
            return Err(target.failure(what).into());
        }
        Ok(())
    }

    const fn direction(&self) -> Direction {
        match &self.trial {
            Trial::Datagrams(it) => it.direction,
            Trial::Stream(it) => it.direction,
            Trial::RoundTrips(_) | Trial::Frames(_) => Direction::ToDevice,
        }
    }
}

impl Procedure for Throughput {
    fn label(&self) -> String {
        self.trial.label()
    }

    fn min_duration(&self) -> Duration {
        match &self.trial {
            Trial::Datagrams(it) => span(it.amount),
            Trial::Stream(it) => span(it.amount),
            Trial::RoundTrips(_) | Trial::Frames(_) => Duration::ZERO,
        }
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        let transfer = target.deadline(&self.trial)?;
        let Some(probe) = &self.probe else {
            return Some(transfer);
        };
        // Before the transfer, during it, and once more without it if it does not answer.
        let before = target.deadline(&Trial::RoundTrips(probe.clone()));
        Some(before.unwrap_or_default() + transfer * 2)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        target.supports(&self.trial)
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let mut params = self.params(context);
        params.transport = target.transport(params.transport);
        let outcome = self.measure(target, context)?;
        self.check_received(target, context, &outcome)?;
        let mut record = Record {
            params,
            metrics: ThroughputMetrics {
                to_device: outcome.to_device,
                from_device: outcome.from_device,
            },
            ledger: Ledger::default(),
            findings: Vec::new(),
            observation: outcome.observation,
        };
        record.findings = explain_transfer(&record)
            .into_iter()
            .flat_map(|it| it.findings)
            .collect();
        context.save(Measurement::Throughput(record))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{Scripted, answered, done, failures};
    use super::*;
    use crate::endpoint::Stream;
    use linerate_results::record::CountedAt;

    fn transfer() -> Throughput {
        let amount = Amount::Span(Duration::from_secs(2));
        Throughput {
            trial: Trial::Stream(Stream::of(Direction::FromDevice, amount)),
            probe: Some(RoundTrips {
                count: 20,
                interval: Duration::from_millis(10),
                payload_octets: 44,
                load: None,
            }),
        }
    }

    fn flow() -> Outcome {
        Outcome {
            from_device: Some(Flow::stream(1_000_000, 2_000_000_000, CountedAt::Host)),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_probe_measures_before_and_during_the_transfer() {
        let mut target = Scripted::new(|trial| match trial {
            Trial::RoundTrips(asked) if asked.load.is_some() => Ok(Outcome {
                round_trips: answered(asked, 30_000_000).round_trips,
                ..flow()
            }),
            Trial::RoundTrips(asked) => Ok(answered(asked, 2_000_000)),
            _ => Err("only with a probe"),
        });
        let (outcome, kept, _) = done(&transfer(), &mut target);
        assert!(outcome.is_ok());
        let Some(Measurement::Throughput(result)) = kept.first() else {
            panic!("a transfer")
        };
        let observation = &result.observation;
        assert_eq!(observation.idle_round_trip_ns, Some(2_000_000));
        assert!(
            observation
                .loaded_round_trip_ns
                .is_some_and(|rtt| rtt.abs_diff(30_000_000) < 100_000)
        );
        assert!(result.metrics.from_device.is_some());
    }

    #[test]
    fn a_probe_that_does_not_answer_costs_no_transfer() {
        let mut target = Scripted::new(|trial| match trial {
            Trial::RoundTrips(_) => Err("no answer"),
            _ => Ok(flow()),
        });
        let (outcome, kept, notes) = done(&transfer(), &mut target);
        assert!(outcome.is_ok());
        assert_eq!(kept.len(), 1);
        assert!(
            notes[0].starts_with("without a probe: no answer"),
            "{notes:?}"
        );
    }

    #[test]
    fn a_probe_that_does_not_answer_during_the_transfer_is_a_failure() {
        let mut target = Scripted::new(|trial| match trial {
            Trial::RoundTrips(asked) if asked.load.is_some() => Err("no answer"),
            Trial::RoundTrips(asked) => Ok(answered(asked, 2_000_000)),
            _ => Ok(flow()),
        });
        let failures = failures(&transfer(), &mut target);
        assert_eq!(
            failures,
            ["TCP from the device: without a probe: no answer"]
        );
    }

    fn alone() -> Throughput {
        Throughput {
            probe: None,
            ..transfer()
        }
    }

    #[test]
    fn notes_on_a_transfer_are_in_its_result() {
        let mut target = Scripted::new(|_| {
            Ok(Outcome {
                notes: vec!["the device ended the transfer".to_owned()],
                ..flow()
            })
        });
        let (outcome, kept, notes) = done(&alone(), &mut target);
        assert!(outcome.is_ok());
        assert_eq!(notes, ["the device ended the transfer"]);
        assert_eq!(kept[0].setting().notes, notes);
    }

    #[test]
    fn a_transfer_of_nothing_has_failed() {
        let mut target = Scripted::new(|_| {
            Ok(Outcome {
                from_device: Some(Flow::stream(0, 2_000_000_000, CountedAt::Host)),
                ..Outcome::default()
            })
        });
        let (outcome, kept, _) = done(&alone(), &mut target);
        let error = outcome.expect_err("nothing").to_string();
        assert!(
            error.contains("nothing of what was sent arrived"),
            "{error}"
        );
        assert!(kept.is_empty());
    }
}

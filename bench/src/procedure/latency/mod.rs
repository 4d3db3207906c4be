//! Round trips, idle and under load.

mod floor;

pub use floor::noise_floor;

use std::time::Duration;

use linerate_results::record::{
    Direction, Distribution, Latency as Record, LatencyLimits, LatencyMetrics, LatencyParams,
    Ledger, Load, Measurement, Transport,
};

use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Datagrams, Outcome, RoundTrips, Stream, Target, TargetError, Trial};
use linerate_results::distribution;

/// A load lasts this much longer than the requests sent during it.
const MARGIN: Duration = Duration::from_secs(1);
/// Round trips measured before another procedure that needs the round-trip time.
const BEFORE: RoundTrips = RoundTrips {
    count: 50,
    interval: Duration::from_millis(20),
    payload_octets: 44,
    load: None,
};

/// Round trips, idle and under each of the loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Number, interval and size of the requests.
    pub round_trips: RoundTrips,
    /// The loads; the idle round trips are always measured first.
    pub loads: Vec<Load>,
}

impl Latency {
    /// Idle, and under TCP in each direction.
    pub fn idle_and_loaded(round_trips: RoundTrips) -> Self {
        let load = |direction| Load {
            transport: Transport::Tcp,
            direction,
            offered_bytes_per_s: 0.0,
        };
        Self {
            round_trips,
            loads: vec![load(Direction::ToDevice), load(Direction::FromDevice)],
        }
    }

    /// Idle, and under UDP at each of these rates (payload, bits a second), in each direction
    /// alone.
    pub fn over_loads(round_trips: RoundTrips, ways: &[Direction], offers: &[u64]) -> Self {
        let load = |direction, offer: u64| Load {
            transport: Transport::Udp,
            direction,
            offered_bytes_per_s: offer as f64 / 8.0,
        };
        let mut loads = Vec::new();
        for way in ways {
            loads.extend(offers.iter().map(|offer| load(*way, *offer)));
        }
        Self { round_trips, loads }
    }

    /// True if `target` supports any of the loads: a reflector alone does not.
    pub fn supports_any_load(&self, target: &dyn Target) -> bool {
        let mut loads = self.loads.iter();
        loads.any(|load| target.supports(&self.trial(Some(*load))).is_ok())
    }

    fn span(&self) -> Duration {
        self.round_trips.interval * self.round_trips.count
    }

    fn trial(&self, load: Option<Load>) -> Trial {
        let amount = Amount::Span(self.span() + MARGIN);
        let trial = load.map(|load| match load.transport {
            Transport::Tcp | Transport::LinkStream => {
                Trial::Stream(Stream::of(load.direction, amount))
            }
            Transport::Udp | Transport::LinkDatagrams => Trial::Datagrams(Datagrams {
                direction: load.direction,
                amount,
                payload_octets: 1_470,
                payload_bits_per_s: (load.offered_bytes_per_s * 8.0).round() as u64,
            }),
        });
        Trial::RoundTrips(RoundTrips {
            load: trial.map(Box::new),
            ..self.round_trips.clone()
        })
    }

    fn record(
        &self,
        load: Option<Load>,
        metrics: LatencyMetrics,
        (context, limits): (&TrialContext<'_>, &LatencyLimits),
    ) -> Measurement {
        Measurement::Latency(Record {
            params: LatencyParams {
                setting: context.setting(),
                count: u64::from(self.round_trips.count),
                interval_ns: self.round_trips.interval.as_nanos() as u64,
                payload_bytes: u64::from(self.round_trips.payload_octets),
                load,
            },
            metrics,
            limits: limits.clone(),
            ledger: Ledger::default(),
        })
    }
}

/// The metrics of an outcome.
fn metrics(outcome: Outcome) -> LatencyMetrics {
    let Some(answers) = outcome.round_trips else {
        return failed("the target did not report any answers".to_owned());
    };
    let rtt = distribution::of(answers.samples.iter().map(|it| it.round_trip_ns));
    LatencyMetrics {
        sent: answers.sent,
        answered: answers.samples.len() as u64,
        lost_to_device: answers.lost_forward,
        lost_from_device: answers.lost_backward,
        lost_either: answers.lost_unknown,
        out_of_order: answers.out_of_order,
        duplicates: answers.duplicates,
        pdv_ns: rtt.as_ref().map_or(0, Distribution::pdv_ns),
        failure: match &rtt {
            Some(_) => String::new(),
            None => "no request was answered".to_owned(),
        },
        rtt,
        to_device: outcome.to_device,
        from_device: outcome.from_device,
    }
}

fn failed(failure: String) -> LatencyMetrics {
    LatencyMetrics {
        failure,
        ..LatencyMetrics::default()
    }
}

/// Limits of the measurement on this host: a simulation has none.
fn limits(asked: &RoundTrips, target: &dyn Target) -> LatencyLimits {
    let is_simulated = target.is_simulated();
    LatencyLimits {
        is_simulated,
        noise_floor: if is_simulated {
            None
        } else {
            noise_floor(asked)
        },
    }
}

/// Measures idle round trips, for a procedure that needs them; `None` if the target does not support
/// them.
pub(super) fn idle(
    target: &mut dyn Target,
    context: &mut TrialContext<'_>,
) -> Result<Option<Distribution>, SessionError> {
    let trial = Trial::RoundTrips(BEFORE);
    if target.supports(&trial).is_err() {
        return Ok(None);
    }
    let outcome = context.trial(target, &trial)?;
    let answers = outcome.round_trips.unwrap_or_default();
    Ok(distribution::of(
        answers.samples.iter().map(|it| it.round_trip_ns),
    ))
}

/// Maximum duration of [`idle`].
pub(super) fn max_idle_duration(target: &dyn Target) -> Duration {
    let trial = Trial::RoundTrips(BEFORE);
    if target.supports(&trial).is_err() {
        return Duration::ZERO;
    }
    target.deadline(&trial).unwrap_or_default()
}

impl Procedure for Latency {
    fn label(&self) -> String {
        "latency".to_owned()
    }

    fn min_duration(&self) -> Duration {
        let loaded = (self.span() + MARGIN) * self.loads.len() as u32;
        self.span() + loaded
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        let loads = self.loads.iter().map(|load| self.trial(Some(*load)));
        let loaded = loads.filter(|trial| target.supports(trial).is_ok());
        let loaded: Option<Duration> = loaded.map(|trial| target.deadline(&trial)).sum();
        Some(floor::MAX_DURATION + target.deadline(&self.trial(None))? + loaded?)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        target.supports(&self.trial(None))
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let limits = limits(&self.round_trips, target);
        context.note(&limits.sentence());
        let idle = context.trial(target, &self.trial(None))?;
        if context.is_cancelled() {
            return Ok(());
        }
        context.save(self.record(None, metrics(idle), (context, &limits)))?;
        for &load in &self.loads {
            let trial = self.trial(Some(load));
            if let Err(why) = target.supports(&trial) {
                context.note(&format!(
                    "latency under {}: not measured: {why}",
                    load.label()
                ));
                continue;
            }
            let metrics = match context.trial(target, &trial) {
                Ok(outcome) => metrics(outcome),
                // It answered without load.
                Err(TargetError::Failed { what, .. } | TargetError::Unreachable { what, .. }) => {
                    failed(what)
                }
                Err(error) => return Err(error.into()),
            };
            if context.is_cancelled() {
                return Ok(());
            }
            let load = Load {
                transport: target.transport(load.transport),
                ..load
            };
            context.save(self.record(Some(load), metrics, (context, &limits)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

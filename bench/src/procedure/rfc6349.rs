//! RFC 6349: path MTU, round trip and bottleneck of a path, then TCP with windows around the
//! bandwidth-delay product of these.

use std::time::Duration;

use linerate_results::record::{
    Direction, Distribution, Flow, Ledger, Measurement, Rfc6349 as Record, Rfc6349Metrics,
    Rfc6349Params, Rfc6349Step as Step,
};

use super::latency::{idle, max_idle_duration};
use super::sweep_trials::{SweepOutcome, SweepTrials, max_duration};
use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, RoundTrips, Stream, Target, Trial};
use linerate_results::distribution;

/// Windows, per cent of the bandwidth-delay product.
const WINDOWS_PERCENT: [u64; 5] = [25, 50, 75, 100, 125];
/// Duration of the RFC's transfer (section 3.3).
const FULL: Duration = Duration::from_secs(30);
/// Ethernet's MTU, assumed if the path's is unknown.
const ETHERNET_MTU: u64 = 1_500;
/// Approximate minimum buffer size of any system.
const MIN_WINDOW_OCTETS: u64 = 2_048;
/// Interval of requests during a transfer.
const INTERVAL: Duration = Duration::from_millis(20);
/// The load begins before the requests and ends after them.
const MARGIN: Duration = Duration::from_secs(1);

/// RFC 6349, each direction in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rfc6349 {
    /// The directions, each measured alone.
    pub directions: Vec<Direction>,
    /// Duration of a transfer; from 30 s on it is the full procedure.
    pub span: Duration,
    /// Parallel connections that measure the bottleneck.
    pub streams: u8,
    /// Time between two trials.
    pub settle: Duration,
}

impl Rfc6349 {
    fn is_full(&self) -> bool {
        self.span >= FULL
    }

    const fn stream(&self, direction: Direction, streams: u8, window: Option<u32>) -> Trial {
        Trial::Stream(Stream {
            direction,
            amount: Amount::Span(self.span),
            streams,
            write_octets: 0,
            window_octets: window,
        })
    }

    /// The number of connections requested, or the maximum that the target supports.
    fn streams_of(&self, direction: Direction, target: &dyn Target) -> u8 {
        let can = |streams: &u8| {
            target
                .supports(&self.stream(direction, *streams, None))
                .is_ok()
        };
        (1..=self.streams).rev().find(can).unwrap_or(1)
    }

    /// A transfer with one window, with concurrent round trips if the target supports them.
    fn transfer(&self, direction: Direction, window: u32, target: &dyn Target) -> Trial {
        let load = self.stream(direction, 1, Some(window));
        let during = self.span.saturating_sub(MARGIN);
        let count = (during.as_nanos() / INTERVAL.as_nanos()).max(1);
        let loaded = Trial::RoundTrips(RoundTrips {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            interval: INTERVAL,
            payload_octets: 44,
            load: Some(Box::new(load.clone())),
        });
        if target.supports(&loaded).is_ok() {
            loaded
        } else {
            load
        }
    }
}

/// Saves a step.
fn keep(
    context: &mut TrialContext<'_>,
    mut params: Rfc6349Params,
    metrics: Rfc6349Metrics,
) -> Result<(), SessionError> {
    params.setting = context.setting();
    context.save(Measurement::Rfc6349(Record {
        params,
        metrics,
        ledger: Ledger::default(),
    }))
}

impl Rfc6349 {
    fn params(&self, step: Step, direction: Direction) -> Rfc6349Params {
        Rfc6349Params {
            step,
            direction,
            is_full: self.is_full(),
            ..Rfc6349Params::default()
        }
    }

    /// Measures what applies to both directions. Returns the shortest round trip.
    fn path(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<Option<u64>, SessionError> {
        let mtu = target.path_mtu();
        let metrics = Rfc6349Metrics {
            path_mtu_bytes: Some(mtu.map_or(ETHERNET_MTU, u64::from)),
            is_assumed: mtu.is_none(),
            ..Rfc6349Metrics::default()
        };
        keep(
            context,
            self.params(Step::PathMtu, Direction::ToDevice),
            metrics,
        )?;
        let Some(rtt) = idle(target, context)? else {
            return Ok(None);
        };
        let base_ns = rtt.min_ns;
        let metrics = Rfc6349Metrics {
            rtt: Some(rtt),
            ..Rfc6349Metrics::default()
        };
        let params = self.params(Step::BaselineRtt, Direction::ToDevice);
        keep(context, params, metrics)?;
        Ok(Some(base_ns))
    }

    fn one_way(
        &self,
        direction: Direction,
        base_ns: Option<u64>,
        trials: &mut SweepTrials<'_, '_>,
    ) -> Result<(), SessionError> {
        let streams = self.streams_of(direction, trials.target);
        let many = self.stream(direction, streams, None);
        let (flow, failure) = match trials.run_one(&many, direction)? {
            SweepOutcome::Flow(flow, _) => (Some(*flow), String::new()),
            SweepOutcome::NoReport(why) => (None, why),
            SweepOutcome::Cancelled => return Ok(()),
        };
        let bottleneck = flow.as_ref().map(|flow| flow.goodput_bytes_per_s);
        let params = Rfc6349Params {
            streams: u64::from(streams),
            ..self.params(Step::Bottleneck, direction)
        };
        keep(trials.context, params, metrics(flow, None, failure))?;
        let (Some(bottleneck), Some(base_ns)) = (bottleneck, base_ns) else {
            return Ok(());
        };
        let bdp = bottleneck * base_ns as f64 / 1e9;
        for percent in WINDOWS_PERCENT {
            if trials.context.is_cancelled() {
                return Ok(());
            }
            let window = ((bdp * percent as f64 / 100.0).round() as u64).max(MIN_WINDOW_OCTETS);
            let window = u32::try_from(window).unwrap_or(u32::MAX);
            let trial = self.transfer(direction, window, trials.target);
            let metrics = match trials.run_one(&trial, direction)? {
                SweepOutcome::Flow(flow, rest) => {
                    let answers = rest.round_trips.unwrap_or_default();
                    let times = answers.samples.iter().map(|it| it.round_trip_ns);
                    metrics(Some(*flow), distribution::of(times), String::new())
                }
                SweepOutcome::NoReport(why) => metrics(None, None, why),
                SweepOutcome::Cancelled => return Ok(()),
            };
            let params = Rfc6349Params {
                streams: 1,
                window_percent: Some(percent),
                ..self.params(Step::Transfer, direction)
            };
            let metrics = Rfc6349Metrics {
                window_bytes: Some(u64::from(window)),
                ..metrics
            };
            keep(trials.context, params, metrics)?;
        }
        Ok(())
    }
}

fn metrics(flow: Option<Flow>, rtt: Option<Distribution>, failure: String) -> Rfc6349Metrics {
    Rfc6349Metrics {
        flow,
        rtt,
        failure,
        ..Rfc6349Metrics::default()
    }
}

impl Procedure for Rfc6349 {
    fn label(&self) -> String {
        "RFC 6349".to_owned()
    }

    fn min_duration(&self) -> Duration {
        let transfers = (1 + WINDOWS_PERCENT.len()) * self.directions.len();
        (self.span + self.settle) * transfers as u32
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        let transfers = self.directions.iter().flat_map(|way| {
            let many = self.stream(*way, self.streams_of(*way, target), None);
            let windows = WINDOWS_PERCENT.map(|_| self.transfer(*way, 1 << 16, target));
            std::iter::once(many).chain(windows)
        });
        let transfers = max_duration(target, transfers, self.settle)?;
        Some(max_idle_duration(target) + transfers)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        let mut directions = self.directions.iter();
        directions.try_for_each(|way| target.supports(&self.stream(*way, 1, Some(1 << 16))))
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let base_ns = self.path(target, context)?;
        if base_ns.is_none() {
            context.note(
                "the target has no round trips, so windows can't be sized by them: name a --probe, as \
                 stamp://HOST",
            );
        }
        let mut trials = SweepTrials::new(target, context, self.settle);
        for &direction in &self.directions {
            if !trials.context.is_cancelled() {
                self.one_way(direction, base_ns, &mut trials)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{Scripted, answered, done};
    use super::*;
    use crate::endpoint::Outcome;
    use linerate_results::record::CountedAt;

    fn procedure() -> Rfc6349 {
        Rfc6349 {
            directions: vec![Direction::ToDevice],
            span: Duration::from_secs(3),
            streams: 4,
            settle: Duration::ZERO,
        }
    }

    /// 10 Mbit/s, 8 ms: a product of 10 kB.
    fn path(trial: &Trial) -> Result<Outcome, &'static str> {
        let to_device = |stream: &Stream| {
            let window = stream.window_octets.map_or(1e9, f64::from);
            let rate = (window / 0.008).min(1_250_000.0);
            Some(Flow::stream(rate as u64, 1_000_000_000, CountedAt::Host))
        };
        match trial {
            Trial::Stream(stream) => Ok(Outcome {
                to_device: to_device(stream),
                ..Outcome::default()
            }),
            Trial::RoundTrips(asked) => match asked.load.as_deref() {
                None => Ok(answered(asked, 8_000_000)),
                Some(Trial::Stream(stream)) => Ok(Outcome {
                    to_device: to_device(stream),
                    ..answered(asked, 12_000_000)
                }),
                Some(_) => Err("no stream"),
            },
            _ => Err("neither a stream nor round trips"),
        }
    }

    fn steps(kept: &[Measurement]) -> Vec<&Record> {
        kept.iter()
            .map(|result| match result {
                Measurement::Rfc6349(it) => it,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn windows_are_shares_of_the_bandwidth_delay_product() {
        let (outcome, kept, _) = done(&procedure(), &mut Scripted::new(path));
        assert!(outcome.is_ok());
        let steps = steps(&kept);
        let kinds: Vec<Step> = steps.iter().map(|it| it.params.step).collect();
        let expected = [Step::PathMtu, Step::BaselineRtt, Step::Bottleneck];
        assert_eq!(kinds[..3], expected);
        assert!(steps[0].metrics.is_assumed && steps.iter().all(|it| !it.params.is_full));
        let windows: Vec<Option<u64>> = steps[3..]
            .iter()
            .map(|it| it.metrics.window_bytes)
            .collect();
        assert_eq!(windows, [2_500, 5_000, 7_500, 10_000, 12_500].map(Some));
        let during = steps[6].metrics.rtt.as_ref().map(|it| it.p50_ns);
        assert_eq!(during, Some(12_000_000));
    }

    #[test]
    fn the_longest_time_is_that_of_all_trials() {
        let procedure = Rfc6349 {
            directions: vec![Direction::ToDevice, Direction::FromDevice],
            settle: Duration::from_secs(1),
            ..procedure()
        };
        let mut target = Scripted::new(|trial| {
            let outcome = path(trial)?;
            Ok(Outcome {
                from_device: outcome.to_device.clone(),
                ..outcome
            })
        });
        assert_eq!(procedure.max_duration(&target), None, "simulated");
        target.deadline = Some(Duration::from_secs(10));
        let stated = procedure.max_duration(&target);
        let (outcome, ..) = done(&procedure, &mut target);
        assert!(outcome.is_ok());
        // The idle round trips, then transfers with a pause.
        assert_eq!(target.asked.len(), 13);
        assert_eq!(stated, Some(Duration::from_secs(13 * 10 + 12)));
    }

    #[test]
    fn from_thirty_seconds_on_it_is_the_full_procedure() {
        let full = Rfc6349 {
            span: Duration::from_secs(30),
            ..procedure()
        };
        let (_, kept, _) = done(&full, &mut Scripted::new(path));
        assert!(steps(&kept).iter().all(|it| it.params.is_full));
    }
}

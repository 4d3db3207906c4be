//! Sweep over TCP's window.

use std::time::Duration;

use linerate_results::record::{
    Direction, Ledger, Measurement, Observation, WindowSweep as Record, WindowSweepMetrics,
    WindowSweepParams,
};

use linerate_results::distribution;

use super::latency::idle;
use super::sweep_trials::{SweepTrials, SweptFlow, max_duration};
use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Stream, Target, Trial};

/// TCP with a series of socket buffer sizes, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSweep {
    /// The direction.
    pub direction: Direction,
    /// This end's socket buffers, octets.
    pub windows: Vec<u32>,
    /// Duration of each transfer.
    pub span: Duration,
    /// Time between two trials.
    pub settle: Duration,
}

impl WindowSweep {
    fn trial(&self, window: u32) -> Trial {
        Trial::Stream(Stream {
            direction: self.direction,
            amount: Amount::Span(self.span),
            streams: 1,
            write_octets: 0,
            window_octets: Some(window),
        })
    }
}

/// The largest window that the device granted, and the median round trip, of the connection to the device that carried
/// most.
fn sent(observation: &Observation) -> (Option<u64>, Option<u64>) {
    let mut connections = observation.connections.iter();
    let connection = connections.find(|it| it.direction == Direction::ToDevice);
    let samples = connection.map_or(&[][..], |it| &it.samples);
    let window = samples.iter().filter_map(|it| it.send_window_bytes).max();
    let trips = samples.iter().map(|it| it.rtt_ns).filter(|ns| *ns > 0);
    (window, distribution::of(trips).map(|it| it.p50_ns))
}

impl Procedure for WindowSweep {
    fn label(&self) -> String {
        format!("TCP windows, {}", self.direction.label())
    }

    fn min_duration(&self) -> Duration {
        (self.span + self.settle) * self.windows.len() as u32
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        let trials = self.windows.iter().map(|window| self.trial(*window));
        let idle = super::latency::max_idle_duration(target);
        Some(idle + max_duration(target, trials, self.settle)?)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        let mut windows = self.windows.iter();
        windows.try_for_each(|window| target.supports(&self.trial(*window)))
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let rtt_ns = idle(target, context)?.map(|rtt| rtt.min_ns);
        let result = |window: u32, setting, swept: SweptFlow| {
            let SweptFlow {
                flow,
                failure,
                observation,
            } = swept;
            let (device_window_bytes, loaded_rtt_ns) = sent(&observation);
            Measurement::WindowSweep(Record {
                params: WindowSweepParams {
                    setting,
                    direction: self.direction,
                    window_bytes: u64::from(window),
                },
                metrics: WindowSweepMetrics {
                    flow,
                    rtt_ns,
                    device_window_bytes,
                    loaded_rtt_ns,
                    failure,
                },
                ledger: Ledger::default(),
            })
        };
        let mut trials = SweepTrials::new(target, context, self.settle);
        let trial = |window| self.trial(window);
        trials.run_each(&self.windows, self.direction, trial, result)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{Scripted, answered, done};
    use super::*;
    use crate::endpoint::Outcome;
    use linerate_results::record::{CountedAt, Flow};

    #[test]
    fn the_round_trip_is_measured_first_and_is_in_each_result() {
        let sweep = WindowSweep {
            direction: Direction::ToDevice,
            windows: vec![4_000, 8_000],
            span: Duration::from_secs(1),
            settle: Duration::ZERO,
        };
        let mut target = Scripted::new(|trial| match trial {
            Trial::RoundTrips(asked) => Ok(answered(asked, 2_000_000)),
            Trial::Stream(stream) => Ok(Outcome {
                to_device: Some(Flow::stream(
                    u64::from(stream.window_octets.unwrap_or(0)) * 500,
                    1_000_000_000,
                    CountedAt::Host,
                )),
                ..Outcome::default()
            }),
            _ => Err("no stream"),
        });
        let (outcome, kept, _) = done(&sweep, &mut target);
        assert!(outcome.is_ok());
        let shown = |result: &Measurement| match result {
            Measurement::WindowSweep(it) => (it.params.window_bytes, it.metrics.rtt_ns),
            other => panic!("{other:?}"),
        };
        let expected = [(4_000, Some(2_000_000)), (8_000, Some(2_000_000))];
        assert_eq!(kept.iter().map(shown).collect::<Vec<_>>(), expected);
    }
}

//! Sweep over the size of sends, TCP or UDP.

use std::time::Duration;

use linerate_results::record::{
    Direction, Ledger, Measurement, SizeSweep as Record, SizeSweepMetrics, SizeSweepParams,
    Transport,
};

use super::sweep_trials::{SweepTrials, SweptFlow, max_duration};
use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Datagrams, Stream, Target, Trial};

/// Transfers with a series of send sizes, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeSweep {
    /// TCP or UDP.
    pub transport: Transport,
    /// The direction.
    pub direction: Direction,
    /// Octets of a write or of a datagram's payload.
    pub sizes: Vec<u32>,
    /// Duration of each transfer.
    pub span: Duration,
    /// Payload that UDP offers, bits a second; 0: as fast as possible.
    pub payload_bits_per_s: u64,
    /// Time between two trials.
    pub settle: Duration,
}

impl SizeSweep {
    fn trial(&self, octets: u32) -> Trial {
        let amount = Amount::Span(self.span);
        match self.transport {
            Transport::Tcp | Transport::LinkStream => Trial::Stream(Stream {
                direction: self.direction,
                amount,
                streams: 1,
                write_octets: octets,
                window_octets: None,
            }),
            Transport::Udp | Transport::LinkDatagrams => Trial::Datagrams(Datagrams {
                direction: self.direction,
                amount,
                payload_octets: u16::try_from(octets).unwrap_or(u16::MAX),
                payload_bits_per_s: self.payload_bits_per_s,
            }),
        }
    }
}

impl Procedure for SizeSweep {
    fn label(&self) -> String {
        let way = self.direction.label();
        format!("sizes of sends, {} {way}", self.transport.label())
    }

    fn min_duration(&self) -> Duration {
        (self.span + self.settle) * self.sizes.len() as u32
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        let trials = self.sizes.iter().map(|size| self.trial(*size));
        max_duration(target, trials, self.settle)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        let mut sizes = self.sizes.iter();
        sizes.try_for_each(|size| target.supports(&self.trial(*size)))
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let offered_bytes_per_s = match self.transport {
            Transport::Tcp | Transport::LinkStream => 0.0,
            Transport::Udp | Transport::LinkDatagrams => self.payload_bits_per_s as f64 / 8.0,
        };
        let transport = target.transport(self.transport);
        let result = |size: u32, setting, swept: SweptFlow| {
            let SweptFlow { flow, failure, .. } = swept;
            Measurement::SizeSweep(Record {
                params: SizeSweepParams {
                    setting,
                    transport,
                    direction: self.direction,
                    payload_bytes: u64::from(size),
                    offered_bytes_per_s,
                },
                metrics: SizeSweepMetrics { flow, failure },
                ledger: Ledger::default(),
            })
        };
        let mut trials = SweepTrials::new(target, context, self.settle);
        let trial = |size| self.trial(size);
        trials.run_each(&self.sizes, self.direction, trial, result)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{Scripted, done};
    use super::*;
    use crate::endpoint::Outcome;
    use linerate_results::record::{CountedAt, Flow};

    #[test]
    fn each_size_is_a_result_and_so_is_a_missing_report() {
        let sweep = SizeSweep {
            transport: Transport::Tcp,
            direction: Direction::FromDevice,
            sizes: vec![64, 1_024, 4_096],
            span: Duration::from_secs(1),
            payload_bits_per_s: 0,
            settle: Duration::ZERO,
        };
        let mut target = Scripted::new(|trial| match trial {
            Trial::Stream(stream) if stream.write_octets == 1_024 => Err("gone quiet"),
            Trial::Stream(stream) => Ok(Outcome {
                from_device: Some(Flow::stream(
                    u64::from(stream.write_octets) * 100,
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
            Measurement::SizeSweep(it) => (
                it.metrics.flow.as_ref().map(|flow| flow.octets),
                it.metrics.failure.clone(),
            ),
            other => panic!("{other:?}"),
        };
        let expected = [
            (Some(6_400), String::new()),
            (None, "gone quiet".to_owned()),
            (Some(409_600), String::new()),
        ];
        assert_eq!(kept.iter().map(shown).collect::<Vec<_>>(), expected);
    }
}

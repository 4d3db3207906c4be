//! The times between datagrams, by their size.

use std::time::Duration;

use linerate_results::record::{
    Direction, Ledger, Measurement, PacketGaps as Record, PacketGapsMetrics, PacketGapsParams,
};

use super::sweep_trials::{SweepTrials, SweptFlow, max_duration};
use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Datagrams, Target, Trial};

/// Datagrams of a series of sizes, one way, with their arrival times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketGaps {
    /// The direction.
    pub direction: Direction,
    /// Octets of payload.
    pub sizes: Vec<u16>,
    /// Duration of each transfer.
    pub span: Duration,
    /// Payload offered, bits a second; 0: as fast as possible.
    pub payload_bits_per_s: u64,
    /// Time between two trials.
    pub settle: Duration,
}

impl PacketGaps {
    fn trial(&self, payload_octets: u16) -> Trial {
        Trial::Datagrams(Datagrams {
            direction: self.direction,
            amount: Amount::Span(self.span),
            payload_octets,
            payload_bits_per_s: self.payload_bits_per_s,
        })
    }
}

impl Procedure for PacketGaps {
    fn label(&self) -> String {
        format!("gaps between datagrams, {}", self.direction.label())
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
        let is_simulated = target.is_simulated();
        let result = |size: u16, setting, swept: SweptFlow| {
            let SweptFlow { flow, failure, .. } = swept;
            let is_unseen = flow.as_ref().is_some_and(|flow| flow.gaps.is_none());
            let failure = if is_unseen {
                "arrival times of datagrams are not available here".to_owned()
            } else {
                failure
            };
            Measurement::PacketGaps(Record {
                params: PacketGapsParams {
                    setting,
                    direction: self.direction,
                    payload_bytes: u64::from(size),
                    offered_bytes_per_s: self.payload_bits_per_s as f64 / 8.0,
                    is_simulated,
                },
                metrics: PacketGapsMetrics { flow, failure },
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
    use super::super::scripted::{Scripted, counted, done};
    use super::*;
    use crate::endpoint::Outcome;
    use linerate_results::distribution;
    use linerate_results::record::Flow;

    #[test]
    fn gaps_come_from_the_target_and_their_absence_is_reported() {
        let gaps = PacketGaps {
            direction: Direction::FromDevice,
            sizes: vec![64, 1_470],
            span: Duration::from_secs(1),
            payload_bits_per_s: 1_000_000,
            settle: Duration::ZERO,
        };
        let mut target = Scripted::new(|trial| match trial {
            Trial::Datagrams(asked) => Ok(Outcome {
                from_device: Some(Flow {
                    gaps: (asked.payload_octets == 64)
                        .then(|| distribution::of([500_000, 520_000]))
                        .flatten(),
                    ..counted(asked, asked.payload_bits_per_s)
                }),
                ..Outcome::default()
            }),
            _ => Err("no datagrams"),
        });
        let (outcome, kept, _) = done(&gaps, &mut target);
        assert!(outcome.is_ok());
        let shown = |result: &Measurement| match result {
            Measurement::PacketGaps(it) => {
                let gaps = it.metrics.flow.as_ref().and_then(|flow| flow.gaps.clone());
                (gaps.map(|gaps| gaps.max_ns), it.metrics.failure.is_empty())
            }
            other => panic!("{other:?}"),
        };
        let expected = [(Some(520_000), true), (None, false)];
        assert_eq!(kept.iter().map(shown).collect::<Vec<_>>(), expected);
    }
}

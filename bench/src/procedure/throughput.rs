//! Throughput: one transfer, TCP or UDP, one way or both.

use std::time::Duration;

use linerate_results::record::{
    Direction, Ledger, Measurement, Throughput as Record, ThroughputMetrics, ThroughputParams,
    Transport,
};

use super::{Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Target, Trial};

/// A transfer to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// A [`Trial::Stream`] or [`Trial::Datagrams`].
    pub trial: Trial,
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

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        target.supports(&self.trial)
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let params = self.params(context);
        let outcome = context.trial(target, &self.trial)?;
        let missing = match self.direction() {
            Direction::ToDevice => outcome.to_device.is_none(),
            Direction::FromDevice => outcome.from_device.is_none(),
            Direction::Both => outcome.to_device.is_none() || outcome.from_device.is_none(),
        };
        if missing {
            context.note(&format!(
                "{}: the target did not report what it received",
                self.label()
            ));
        }
        context.save(Measurement::Throughput(Record {
            params,
            metrics: ThroughputMetrics {
                to_device: outcome.to_device,
                from_device: outcome.from_device,
            },
            ledger: Ledger::default(),
            findings: Vec::new(),
        }))
    }
}

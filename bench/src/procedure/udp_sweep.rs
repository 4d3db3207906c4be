//! Load sweep: datagrams at a series of rates, to find where a link saturates and how it behaves
//! beyond.

use std::time::Duration;

use linerate_results::record::{
    Direction, Ledger, Measurement, UdpSweep as Record, UdpSweepMetrics, UdpSweepParams,
};

use super::sweep_trials::{SweepOutcome, SweepTrials, max_duration};
use super::{CountersCommand, Procedure, SessionError, TrialContext};
use crate::endpoint::{Amount, Datagrams, Target, Trial};

/// Consecutive loads without a report from the receiver: then the load alone is not the cause.
const MAX_SILENT: u32 = 2;
/// In a search, each load is the previous one times this factor.
const FACTOR: u64 = 2;
/// A search ends after this many consecutive loads without a gain.
const MAX_WITHOUT_GAIN: u32 = 3;
/// Minimum ratio to the best rate so far that counts as a gain.
const MIN_GAIN: f64 = 1.1;
/// Loads tried on each side of the knee.
const KNEE_LOADS: u32 = 5;
/// Maximum load of a search: payload, bits a second.
const MAX_BITS_PER_S: u64 = 100_000_000_000;

/// A load sweep, each direction in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpSweep {
    /// The directions, each measured alone.
    pub directions: Vec<Direction>,
    /// The offered loads.
    pub offers: OfferedLoads,
    /// Duration of each trial.
    pub span: Duration,
    /// Octets of payload of a datagram.
    pub payload_octets: u16,
    /// Time between two loads, for queues to drain. A simulated target needs none.
    pub settle: Duration,
    /// Reads the device's counters before and after each trial.
    pub counters: Option<CountersCommand>,
}

/// The loads of a sweep: payload, bits a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferedLoads {
    /// A list.
    Listed(Vec<u64>),
    /// Doubled from the first one until no more arrives, then some around the knee.
    Searched {
        /// The first load.
        from: u64,
    },
}

/// State of a search, by the rates received so far.
struct LoadSearch {
    offer: u64,
    best: f64,
    /// The offer with the highest received rate.
    best_offer: u64,
    without_gain: u32,
}

impl LoadSearch {
    const fn new(from: u64) -> Self {
        let from = if from == 0 { 1 } else { from };
        Self {
            offer: from,
            best: 0.0,
            best_offer: from,
            without_gain: 0,
        }
    }

    /// Returns the next load, given the received rate of the last one.
    fn next(&mut self, received: f64) -> Option<u64> {
        if received > self.best * MIN_GAIN {
            self.best = received;
            self.best_offer = self.offer;
            self.without_gain = 0;
        } else {
            self.without_gain += 1;
        }
        self.offer = self.offer.saturating_mul(FACTOR);
        (self.without_gain < MAX_WITHOUT_GAIN && self.offer <= MAX_BITS_PER_S).then_some(self.offer)
    }

    /// Loads around the knee, which is within a factor of the best load.
    fn around_knee(&self) -> Vec<u64> {
        let (below, above) = (
            self.best_offer / FACTOR,
            self.best_offer.saturating_mul(FACTOR),
        );
        let count = 2 * KNEE_LOADS + 1;
        let mut offers = super::steps::even(below, above, count);
        offers.retain(|offer| ![below, self.best_offer, above].contains(offer));
        offers
    }
}

impl UdpSweep {
    fn trial(&self, direction: Direction, payload_bits_per_s: u64) -> Trial {
        Trial::Datagrams(Datagrams {
            direction,
            amount: Amount::Span(self.span),
            payload_octets: self.payload_octets,
            payload_bits_per_s,
        })
    }

    /// Number of loads in each direction; approximate for a search.
    const fn loads(&self) -> usize {
        match &self.offers {
            OfferedLoads::Listed(offers) => offers.len(),
            OfferedLoads::Searched { .. } => 12 + 2 * KNEE_LOADS as usize,
        }
    }
}

/// A running load sweep.
struct SweepRun<'a, 'b, 'c> {
    sweep: &'a UdpSweep,
    trials: SweepTrials<'b, 'c>,
}

impl SweepRun<'_, '_, '_> {
    /// Runs one load. Returns the received rate, bytes a second, or `None` without a report from
    /// the receiver.
    fn run_load(&mut self, direction: Direction, offer: u64) -> Result<Option<f64>, SessionError> {
        let sweep = self.sweep;
        let mut params = UdpSweepParams {
            setting: self.trials.context.setting(),
            direction,
            payload_bytes: u64::from(sweep.payload_octets),
            offered_bytes_per_s: offer as f64 / 8.0,
            span_ns: sweep.span.as_nanos() as u64,
        };
        let trial = sweep.trial(direction, offer);
        let before = sweep.counters.as_ref().map(CountersCommand::read);
        let (mut metrics, received) = match self.trials.run_one(&trial, direction)? {
            SweepOutcome::Flow(flow, outcome) if flow.datagrams.is_some() => {
                let mut metrics = UdpSweepMetrics::of(&params, *flow);
                metrics.device_counters = outcome.device_counters;
                let received = metrics.received_bytes_per_s;
                (metrics, Some(received))
            }
            SweepOutcome::Flow(..) => (
                failed("the target did not count datagrams".to_owned()),
                None,
            ),
            // A target that answered before is silenced by the load.
            SweepOutcome::NoReport(why) => (failed(why), None),
            SweepOutcome::Cancelled => return Ok(None),
        };
        if let (Some(command), Some(before)) = (&sweep.counters, before) {
            match before.and_then(|before| Ok(command.read()?.since(&before))) {
                Ok(changes) => metrics.device_counters = changes,
                Err(why) => params.setting.notes.push(why),
            }
        }
        self.trials.context.save(Measurement::UdpSweep(Record {
            params,
            metrics,
            ledger: Ledger::default(),
        }))?;
        Ok(received)
    }

    /// Runs the loads of a list, until reports from the receiver are missing.
    fn listed(&mut self, direction: Direction, offers: &[u64]) -> Result<(), SessionError> {
        let mut silent = 0;
        for &offer in offers {
            if self.trials.context.is_cancelled() {
                return Ok(());
            }
            match self.run_load(direction, offer)? {
                Some(_) => silent = 0,
                None => silent += 1,
            }
            if silent == MAX_SILENT {
                self.trials.context.note(&format!(
                    "load sweep: {MAX_SILENT} consecutive loads without an answer: no further loads {}",
                    direction.label()
                ));
                return Ok(());
            }
        }
        Ok(())
    }

    fn searched(&mut self, direction: Direction, from: u64) -> Result<(), SessionError> {
        let mut search = LoadSearch::new(from);
        let mut next = Some(search.offer);
        while let Some(offer) = next {
            if self.trials.context.is_cancelled() {
                return Ok(());
            }
            let received = self.run_load(direction, offer)?;
            next = search.next(received.unwrap_or(0.0));
        }
        self.listed(direction, &search.around_knee())
    }
}

fn failed(failure: String) -> UdpSweepMetrics {
    UdpSweepMetrics {
        failure,
        ..UdpSweepMetrics::default()
    }
}

impl Procedure for UdpSweep {
    fn label(&self) -> String {
        "load sweep".to_owned()
    }

    fn min_duration(&self) -> Duration {
        let loads = self.loads() * self.directions.len();
        (self.span + self.settle) * u32::try_from(loads).unwrap_or(u32::MAX)
    }

    fn max_duration(&self, target: &dyn Target) -> Option<Duration> {
        let loads = match &self.offers {
            OfferedLoads::Listed(offers) => offers.len() as u32,
            OfferedLoads::Searched { from } => {
                let doublings = (MAX_BITS_PER_S / (*from).max(1)).max(1).ilog2();
                doublings + 1 + 2 * KNEE_LOADS
            }
        };
        let trials = self.directions.iter().map(|way| self.trial(*way, 1));
        Some(max_duration(target, trials, self.settle)? * loads)
    }

    fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        let mut directions = self.directions.iter();
        directions.try_for_each(|way| target.supports(&self.trial(*way, 1)))
    }

    fn run(
        &self,
        target: &mut dyn Target,
        context: &mut TrialContext<'_>,
    ) -> Result<(), SessionError> {
        let mut run = SweepRun {
            sweep: self,
            trials: SweepTrials::new(target, context, self.settle),
        };
        for &direction in &self.directions {
            match &self.offers {
                OfferedLoads::Listed(offers) => run.listed(direction, offers)?,
                OfferedLoads::Searched { from } => run.searched(direction, *from)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

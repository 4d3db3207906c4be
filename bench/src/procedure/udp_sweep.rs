//! Load sweep: datagrams at one rate after another, to find where a link saturates and what it does
//! beyond.

use std::time::Duration;

use linerate_results::record::{
    Direction, Ledger, Measurement, UdpSweep as Record, UdpSweepMetrics, UdpSweepParams,
};

use super::one_way::{Counted, Trials};
use super::{Bench, Procedure, SessionError};
use crate::endpoint::{Amount, Datagrams, Target, Trial};

/// Loads in a row that a receiver tells nothing of: then it is not the load alone.
const SILENT: u32 = 2;
/// A search for the range: each load is so many times the one before.
const FACTOR: u64 = 2;
/// It goes on until so many loads in a row brought no more than the ones before.
const NO_MORE: u32 = 3;
/// More is at least so much more.
const MORE: f64 = 1.1;
/// So many loads lie between the last one that grew and the first that did not.
const BETWEEN: u32 = 5;
/// A search ends here: payload, bits a second.
const MOST_BITS_PER_S: u64 = 100_000_000_000;

/// A load sweep, one way after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpSweep {
    /// Which ways, each alone.
    pub directions: Vec<Direction>,
    /// What is offered.
    pub offers: Offers,
    /// For how long each time.
    pub span: Duration,
    /// Octets of payload of a datagram.
    pub payload_octets: u16,
    /// The time between two loads, for queues to become empty. A simulated target needs none.
    pub settle: Duration,
}

/// The loads of a sweep: payload, bits a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offers {
    /// These.
    Listed(Vec<u64>),
    /// From this one on twice as much each time until no more arrives, then some around the knee.
    Searched {
        /// The first.
        from: u64,
    },
}

/// How a search goes on, by what has arrived so far.
struct Search {
    offer: u64,
    most: f64,
    /// The offer that brought the most.
    most_at: u64,
    no_more: u32,
}

impl Search {
    const fn new(from: u64) -> Self {
        let from = if from == 0 { 1 } else { from };
        Self {
            offer: from,
            most: 0.0,
            most_at: from,
            no_more: 0,
        }
    }

    /// The next load once so much of the last one has arrived.
    fn next(&mut self, received: f64) -> Option<u64> {
        if received > self.most * MORE {
            self.most = received;
            self.most_at = self.offer;
            self.no_more = 0;
        } else {
            self.no_more += 1;
        }
        self.offer = self.offer.saturating_mul(FACTOR);
        (self.no_more < NO_MORE && self.offer <= MOST_BITS_PER_S).then_some(self.offer)
    }

    /// Loads around the knee, which lies within a factor of the load that brought the most.
    fn between(&self) -> Vec<u64> {
        let (below, above) = (self.most_at / FACTOR, self.most_at.saturating_mul(FACTOR));
        let count = 2 * BETWEEN + 1;
        let mut offers = super::steps::even(below, above, count);
        offers.retain(|offer| ![below, self.most_at, above].contains(offer));
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

    /// How many loads there are each way; of a search, about.
    const fn loads(&self) -> usize {
        match &self.offers {
            Offers::Listed(offers) => offers.len(),
            Offers::Searched { .. } => 12 + 2 * BETWEEN as usize,
        }
    }
}

/// A load sweep under way.
struct Going<'a, 'b, 'c> {
    sweep: &'a UdpSweep,
    trials: Trials<'b, 'c>,
}

impl Going<'_, '_, '_> {
    /// One load; what arrived, bytes a second, or `None` when the receiver told nothing.
    fn point(&mut self, direction: Direction, offer: u64) -> Result<Option<f64>, SessionError> {
        let sweep = self.sweep;
        let params = UdpSweepParams {
            variant: String::new(),
            setting: self.trials.bench.setting(),
            direction,
            payload_bytes: u64::from(sweep.payload_octets),
            offered_bytes_per_s: offer as f64 / 8.0,
            span_ns: sweep.span.as_nanos() as u64,
        };
        let trial = sweep.trial(direction, offer);
        let (metrics, received) = match self.trials.one_way(&trial, direction)? {
            Counted::Flow(flow, _) if flow.datagrams.is_some() => {
                let metrics = UdpSweepMetrics::of(&params, flow);
                let received = metrics.received_bytes_per_s;
                (metrics, Some(received))
            }
            Counted::Flow(..) => (
                failed("the target did not count datagrams".to_owned()),
                None,
            ),
            // Whoever was there before is silenced by the load.
            Counted::Nothing(why) => (failed(why), None),
            Counted::Cut => return Ok(None),
        };
        self.trials.bench.keep(Measurement::UdpSweep(Record {
            params,
            metrics,
            ledger: Ledger::default(),
            findings: Vec::new(),
        }))?;
        Ok(received)
    }

    /// The loads of a list, until the receiver has stopped telling.
    fn listed(&mut self, direction: Direction, offers: &[u64]) -> Result<(), SessionError> {
        let mut silent = 0;
        for &offer in offers {
            if self.trials.bench.is_over() {
                return Ok(());
            }
            match self.point(direction, offer)? {
                Some(_) => silent = 0,
                None => silent += 1,
            }
            if silent == SILENT {
                self.trials.bench.note(&format!(
                    "load sweep: {SILENT} loads in a row without an answer: no further ones {}",
                    direction.label()
                ));
                return Ok(());
            }
        }
        Ok(())
    }

    fn searched(&mut self, direction: Direction, from: u64) -> Result<(), SessionError> {
        let mut search = Search::new(from);
        let mut next = Some(search.offer);
        while let Some(offer) = next {
            if self.trials.bench.is_over() {
                return Ok(());
            }
            let received = self.point(direction, offer)?;
            next = search.next(received.unwrap_or(0.0));
        }
        self.listed(direction, &search.between())
    }
}

fn failed(failure: String) -> UdpSweepMetrics {
    UdpSweepMetrics {
        failure,
        ..UdpSweepMetrics::default()
    }
}

impl Procedure for UdpSweep {
    fn words(&self) -> String {
        "load sweep".to_owned()
    }

    fn at_least(&self) -> Duration {
        let loads = self.loads() * self.directions.len();
        (self.span + self.settle) * u32::try_from(loads).unwrap_or(u32::MAX)
    }

    fn can(&self, target: &dyn Target) -> Result<(), &'static str> {
        let mut directions = self.directions.iter();
        directions.try_for_each(|way| target.can(&self.trial(*way, 1)))
    }

    fn run(&self, target: &mut dyn Target, bench: &mut Bench<'_>) -> Result<(), SessionError> {
        let mut going = Going {
            sweep: self,
            trials: Trials::new(target, bench, self.settle),
        };
        for &direction in &self.directions {
            match &self.offers {
                Offers::Listed(offers) => going.listed(direction, offers)?,
                Offers::Searched { from } => going.searched(direction, *from)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Losses and their cost.

use super::fills_between_stops;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::flight::ConstantFlight;
use linerate_capture::model::Limit;
use linerate_results::stats;

/// From this loss rate on, the window has room for fewer than four segments: the square root of 3 / (2 * rate) (Mathis et
/// al. 1997). Then few flights have the two segments that a receiver acknowledges at once (RFC 5681 section 4.2).
const MIN_WITHHOLDING_RATE: f64 = 0.1;

/// Losses and their cost.
pub(super) struct Losses {
    pub(super) lost: u64,
    pub(super) segments: u64,
    pub(super) timeout: f64,
    pub(super) recovery: f64,
    /// Time in which the window that losses shrank limited the sender.
    pub(super) reduced: f64,
    /// Time in which the receiver held back acknowledgments because that window was too small for two segments.
    pub(super) withheld: f64,
}

impl Losses {
    pub(super) fn of(facts: &FlowFacts<'_>) -> Self {
        let (lost, segments) = (facts.model.view.lost(), facts.stats().segments);
        let rate = stats::ratio(lost as f64, segments as f64);
        Self {
            lost,
            segments,
            timeout: facts.share(Limit::Timeout),
            recovery: facts.share(Limit::FastRecovery),
            reduced: if fills_between_stops(facts)
                || facts.model.waits_at_losses().leave_path_full()
            {
                0.0
            } else {
                (facts.share(Limit::InFlight) - constant_share(facts)).max(0.0)
            },
            withheld: if rate >= MIN_WITHHOLDING_RATE {
                facts.share(Limit::LateAck)
            } else {
                0.0
            },
        }
    }

    pub(super) fn repair(&self) -> f64 {
        self.timeout + self.recovery
    }

    pub(super) fn cost(&self) -> f64 {
        (self.repair() + self.reduced + self.withheld).min(1.0)
    }

    pub(super) fn rate(&self) -> f64 {
        stats::ratio(self.lost as f64, self.segments as f64)
    }
}

/// Share of the time with the same data in flight in each round trip between losses: a window that they shrank grows.
fn constant_share(facts: &FlowFacts<'_>) -> f64 {
    let flight = ConstantFlight::of(facts).filter(|it| !it.is_whole());
    flight.map_or(0.0, |it| it.in_flight_share(facts))
}

//! A device that receives less as the offered load rises.

use crate::cause::scored::{ScoredFinding, evidence};
use crate::series::load::{Point, collapse, saturation};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Unit in which rates are reported.
#[derive(Clone, Copy)]
pub(super) enum RateUnit {
    /// Payload of datagrams.
    Payload,
    /// Whole frames of `octets` each.
    Frames { octets: u64 },
}

impl RateUnit {
    fn format(self, bytes_per_s: f64) -> String {
        match self {
            Self::Payload => format::bit_rate(bytes_per_s),
            Self::Frames { octets } => format!(
                "{} frames/s of {octets} octets",
                format::count(stats::ratio(bytes_per_s, octets as f64).round() as u64)
            ),
        }
    }
}

/// Evaluates the `points` of a load sweep to the device, sorted by offered rate.
pub(super) fn evaluate(points: &[Point], unit: RateUnit) -> Option<ScoredFinding> {
    let most = saturation(points)?;
    let least = collapse(points, most)?;
    // A collapse persists: a single failed trial is none, nor a trial in which the sender sent less.
    let is_low = |it: &&Point| collapse(&[**it], most).is_some();
    let first = points.iter().position(|it| is_low(&it))?;
    let beyond = &points[first..];
    if !beyond
        .iter()
        .all(|it| is_low(&it) && it.sent > most.received)
    {
        return None;
    }
    let gain = most.received / least.received;
    let once = beyond.len() == 1;
    Some(ScoredFinding {
        weight: 1.0 - stats::ratio(least.received, most.received),
        finding: Finding {
            cause: Cause::ReceiveLivelock,
            confidence: if once { 0.7 } else { 0.9 },
            summary: format!(
                "The device receives less as the offered load rises: {} at best, {} with {} offered. The time spent on \
                 frames that it drops is not available for those that it keeps.",
                unit.format(most.received),
                unit.format(least.received),
                unit.format(least.offered),
            ),
            evidence: evidence([
                ("most_received_bytes_per_s", most.received),
                ("offered_at_most_bytes_per_s", most.offered),
                ("least_received_bytes_per_s", least.received),
                ("offered_at_least_bytes_per_s", least.offered),
                ("sent_at_least_bytes_per_s", least.sent),
                ("loss_share_at_least", least.loss),
            ]),
            advice: format!(
                "Poll with a budget under high load, let the hardware drop frames for which no \
                 descriptor is free, or send pause frames according to the queue level. {}",
                if least.received > 0.0 {
                    format!(
                        "Without this the device would receive {gain:.1} times as much under overload."
                    )
                } else {
                    "At present nothing is received under overload.".to_owned()
                }
            ),
        },
    })
}

//! A device that receives less, the more it is offered.

use crate::cause::scored::{Weighed, evidence};
use crate::series::load::{Point, collapsed, most};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// What rates are of.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// Payload of datagrams.
    Payload,
    /// Whole frames of so many octets.
    Frames { octets: u64 },
}

impl Unit {
    fn rate(self, bytes_per_s: f64) -> String {
        match self {
            Self::Payload => format::bit_rate(bytes_per_s),
            Self::Frames { octets } => format!(
                "{} frames/s of {octets} octets",
                format::count(stats::ratio(bytes_per_s, octets as f64).round() as u64)
            ),
        }
    }
}

/// `points` of a load sweep to the device, by what was offered.
pub(super) fn look(points: &[Point], unit: Unit) -> Option<Weighed> {
    let most = most(points)?;
    let least = collapsed(points, most)?;
    // What has collapsed stays so: a trial that failed is none, nor one where the sender sent less.
    let is_low = |it: &&Point| collapsed(&[**it], most).is_some();
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
    Some(Weighed {
        weight: 1.0 - stats::ratio(least.received, most.received),
        finding: Finding {
            cause: Cause::ReceiveLivelock,
            confidence: if once { 0.7 } else { 0.9 },
            summary: format!(
                "The more the device is offered, the less it receives: {} at its best, {} with {} offered. What it \
                 spends on frames that it drops is missing for those that it keeps.",
                unit.rate(most.received),
                unit.rate(least.received),
                unit.rate(least.offered),
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
                "Take frames in by polling with a budget while there are many, let the hardware drop what finds no \
                 descriptor, or ask for pause frames by the queue's level. {}",
                if least.received > 0.0 {
                    format!("Without this the overload would bring {gain:.1} times as much.")
                } else {
                    "Now nothing arrives under overload.".to_owned()
                }
            ),
        },
    })
}

//! Findings that take too little of the time to be the reason for anything.

use super::scored::{MIN_SHARE, PathFinding};
use linerate_results::record::Cause;
use std::collections::HashMap;

/// True if a share of the time does not measure this: a refusal takes none, copies, wrong checksums and lost datagrams are a share of
/// the packets, the share of some others is unknown (0), and the limit of a healthy transfer costs nothing.
fn is_not_of_time(found: &PathFinding) -> bool {
    let is_of_packets = match found.finding.cause {
        Cause::Refused
        | Cause::AtLineRate
        | Cause::PathRate
        | Cause::DuplicateFrames
        | Cause::ChecksumErrors
        | Cause::Reordering
        | Cause::AbovePathRate
        | Cause::BroadcastStorm => true,
        Cause::RandomLoss | Cause::LossInBursts => found.connection_packet().is_none(),
        _ => false,
    };
    is_of_packets || found.share_of_time <= 0.0
}

/// Takes the causes that explain less than 5% of the time, wherever they were found, out of `findings`, in their order.
pub fn take_minor(findings: &mut Vec<PathFinding>) -> Vec<PathFinding> {
    let mut shares: HashMap<Cause, f64> = HashMap::new();
    for it in findings.iter().filter(|it| it.alternative_to.is_none()) {
        *shares.entry(it.finding.cause).or_default() += it.share_of_time;
    }
    // What may be the reason instead goes with its reason.
    let reason = |it: &PathFinding| it.alternative_to.unwrap_or(it.finding.cause);
    let share = |it: &PathFinding| shares.get(&reason(it)).copied().unwrap_or(0.0);
    let is_minor = |it: &PathFinding| !is_not_of_time(it) && share(it) < MIN_SHARE;
    let (minor, major) = std::mem::take(findings).into_iter().partition(is_minor);
    *findings = major;
    minor
}

#[cfg(test)]
mod tests;

//! Findings that take too little of the time to be the reason for anything.

use super::scored::{MIN_SHARE, PathFinding};
use linerate_results::record::Cause;

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
    // What may be the reason instead goes with its reason.
    let reason = |it: &PathFinding| it.alternative_to.unwrap_or(it.finding.cause);
    let share = |cause: Cause| -> f64 {
        let reasons = findings.iter().filter(|it| it.alternative_to.is_none());
        let of_cause = reasons.filter(|it| it.finding.cause == cause);
        of_cause.map(|it| it.share_of_time).sum()
    };
    let is_minor: Vec<bool> = findings
        .iter()
        .map(|it| !is_not_of_time(it) && share(reason(it)) < MIN_SHARE)
        .collect();
    let mut is_minor = is_minor.into_iter();
    let parts = std::mem::take(findings).into_iter();
    let (minor, major) = parts.partition(|_| is_minor.next().unwrap_or(false));
    *findings = major;
    minor
}

#[cfg(test)]
mod tests;

//! The order of findings: what to look at first.

use super::combined;
use super::rule::is_limit;
use crate::cause::scored::PathFinding;
use linerate_results::record::Cause;

/// Most of the time of a host, or of the packets.
const MOST: f64 = 0.5;

/// Largest share of the time first; the limit of a healthy transfer is no fault and comes behind those between the same hosts.
pub(in crate::cause) fn sort_by_cost(found: &mut [PathFinding]) {
    let faults = found.iter().filter(|it| !is_limit(it.finding.cause));
    let faulty: Vec<(Vec<String>, f64)> = faults.map(|it| (hosts(it), cost(it))).collect();
    // What concerns no hosts in particular concerns all; what costs most of the time, all that its hosts transfer.
    let is_faulty = |it: &PathFinding| {
        let own = hosts(it);
        let concerns = |(of, cost): &(Vec<String>, f64)| {
            let has_common = of.iter().any(|it| own.contains(it));
            has_common && *cost >= MOST
                || of.iter().all(|it| own.contains(it))
                || own.iter().all(|it| of.contains(it))
        };
        faulty.iter().any(concerns)
    };
    let is_last = |it: &PathFinding| is_limit(it.finding.cause) && is_faulty(it);
    found.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    found.sort_by_cached_key(is_last);
}

/// The hosts that a finding is about.
fn hosts(found: &PathFinding) -> Vec<String> {
    let both = [&found.sender, &found.receiver];
    both.into_iter().flatten().cloned().collect()
}

/// Share of the time that would be saved, or else that the cause explains. Each station receives all broadcasts: where they are most of
/// the packets, they are what a slow one does, whatever its window or its acknowledgments show.
fn cost(found: &PathFinding) -> f64 {
    let figure = |name: &str| found.finding.evidence.get(name).copied().unwrap_or(0.0);
    let is_storm = found.finding.cause == Cause::BroadcastStorm;
    if is_storm && figure("broadcasts") >= MOST * figure("packets") {
        return 1.0;
    }
    let saved = found.finding.evidence.get(combined::SAVED).copied();
    saved.unwrap_or(found.share_of_time)
}

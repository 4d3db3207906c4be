//! A capture combined with the results of the same transfers: the device's counters show more than packets do.

use super::scored_findings;
use crate::cause::scored::PathFinding;
use crate::cause::traffic::link::place_incomplete;
use linerate_results::record::{Measurement, Run};
use linerate_results::stats;

/// The findings of a capture (`found`), combined with those from the counters of `run`: first those from counters, then the others, and
/// those about the capture itself first if the others are in doubt or nothing is wrong, else last.
pub fn with_results(found: Vec<PathFinding>, run: &Run) -> Vec<PathFinding> {
    let gets: Vec<_> = run
        .results
        .iter()
        .filter_map(|result| match result {
            Measurement::HttpGet(get) => Some(get),
            _ => None,
        })
        .collect();
    let mut counted: Vec<PathFinding> = Vec::new();
    let time_ns = |of: &[linerate_results::record::Request]| -> u64 {
        of.iter()
            .map(|it| it.end_ns.saturating_sub(it.start_ns))
            .sum()
    };
    let all_ns: u64 = gets.iter().map(|get| time_ns(&get.samples.requests)).sum();
    for get in &gets {
        let part = stats::ratio(time_ns(&get.samples.requests) as f64, all_ns as f64);
        for scored in scored_findings(get) {
            let share_of_time = scored.weight.min(1.0) * part;
            let same = |it: &&mut PathFinding| it.finding.cause == scored.finding.cause;
            match counted.iter_mut().find(same) {
                Some(before) => before.share_of_time += share_of_time,
                None => counted.push(PathFinding {
                    alternative_to: None,
                    sender: None,
                    receiver: None,
                    share_of_time,
                    finding: scored.finding,
                }),
            }
        }
    }
    // Findings across measurements of a target have no share of the time: they follow, in their own order.
    for finding in super::explain_targets(run) {
        counted.push(PathFinding {
            alternative_to: None,
            sender: None,
            receiver: None,
            share_of_time: 0.0,
            finding,
        });
    }
    counted.sort_by(|a, b| b.share_of_time.total_cmp(&a.share_of_time));
    let mut all = counted;
    for finding in found {
        if all
            .iter()
            .all(|it| it.finding.cause != finding.finding.cause)
        {
            all.push(finding);
        }
    }
    place_incomplete(all)
}

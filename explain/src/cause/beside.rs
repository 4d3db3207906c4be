//! A capture beside the results of the same transfers: what the device counted says more than packets do.

use super::weighed;
use crate::cause::scored::PathFinding;
use linerate_results::record::{Cause, Measurement, Run};
use linerate_results::stats;

/// `found` in a capture, with what the counters of `run` name. What is wrong with the capture stays first; then comes
/// what was counted, then what else the capture shows.
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
        for weighed in weighed(get) {
            let share_of_time = weighed.weight.min(1.0) * part;
            let same = |it: &&mut PathFinding| it.finding.cause == weighed.finding.cause;
            match counted.iter_mut().find(same) {
                Some(before) => before.share_of_time += share_of_time,
                None => counted.push(PathFinding {
                    sender: None,
                    receiver: None,
                    share_of_time,
                    finding: weighed.finding,
                }),
            }
        }
    }
    // What measurements of a target show together is no part of the time: it comes behind, in its own order.
    for finding in super::of_targets(run) {
        counted.push(PathFinding {
            sender: None,
            receiver: None,
            share_of_time: 0.0,
            finding,
        });
    }
    counted.sort_by(|a, b| b.share_of_time.total_cmp(&a.share_of_time));
    let of_capture = |it: &PathFinding| it.finding.cause == Cause::CaptureIncomplete;
    let (mut all, others): (Vec<_>, Vec<_>) = found.into_iter().partition(of_capture);
    all.append(&mut counted);
    for finding in others {
        if all
            .iter()
            .all(|it| it.finding.cause != finding.finding.cause)
        {
            all.push(finding);
        }
    }
    all
}

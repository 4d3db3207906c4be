//! From what captures show to causes: what each cost of the time of the connections between two hosts.
//!
//! Each rule is a function that looks at a [`Path`] and says nothing or a weighed finding, as in the rest of
//! this module. Rules about the capture itself come first: what it missed must not be blamed on the link.
//!
//! | module | whose fault |
//! |---|---|
//! | `link` | the capture's, or of the link as a whole |
//! | `loss` | segments that were lost |
//! | `receiver` | the receiver's |
//! | `sender` | the sender's |
//! | `route` | of what lies between |
//! | `signs` | what several rules go by |

mod link;
mod loss;
mod receiver;
mod route;
mod sender;
mod signs;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::cause::scored::PathFinding;
use crate::cause::scored::Weighed;
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::{Counts, Path};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;
use signs::Signs;

/// Every look at a path.
const LOOKS: [fn(&Path, &Signs) -> Option<Weighed>; 12] = [
    loss::loss,
    route::overtaken,
    receiver::window,
    receiver::held_back,
    receiver::late,
    sender::idle,
    sender::congestion,
    sender::paced,
    sender::one_in_flight,
    sender::small_writes,
    route::bloated,
    route::rate,
];

/// Fewer losses are chance.
const FEWEST_LOSSES: u64 = 3;
/// A smaller gain is not worth a sentence.
const LEAST_GAIN: f64 = 0.05;

/// Why the connections are slow, what cost the most time first. Empty if nothing stands out.
pub fn of_traffic(counts: &Counts, duration_ns: u64, paths: &[Path]) -> Vec<PathFinding> {
    let total_ns: f64 = paths.iter().map(|path| path.time_ns as f64).sum();
    let mut found = Vec::new();
    for path in paths {
        let part = stats::ratio(path.time_ns as f64, total_ns);
        let signs = Signs::of(path);
        let weighed = LOOKS.iter().filter_map(|look| look(path, &signs));
        for Weighed { weight, finding } in weighed {
            let weight = weight.min(1.0);
            found.push(PathFinding {
                sender: Some(path.sender.to_string()),
                receiver: Some(path.receiver.to_string()),
                share_of_time: weight * part,
                finding: with_gain(finding, path, weight),
            });
        }
    }
    found.extend(link::paused(counts, duration_ns));
    // That a path is full is no cause: whatever else there is comes before it.
    let is_full = |found: &PathFinding| found.finding.cause == Cause::AtLineRate;
    found.sort_by(|a, b| {
        let by_time = b.share_of_time.total_cmp(&a.share_of_time);
        is_full(a).cmp(&is_full(b)).then(by_time)
    });
    let mut first: Vec<PathFinding> = paths.iter().filter_map(link::missed).collect();
    first.extend(link::storm(counts, duration_ns));
    first.extend(found);
    first
}

/// Says what the transfers would take if the cause were gone. The times of connections are added up, whether one
/// comes behind the other or beside it.
fn with_gain(mut finding: Finding, path: &Path, weight: f64) -> Finding {
    if finding.cause != Cause::AtLineRate && weight >= LEAST_GAIN {
        let without_ns = (path.time_ns as f64 * (1.0 - weight)) as u64;
        let figures = &mut finding.evidence;
        figures.insert("time_ns".to_owned(), path.time_ns as f64);
        figures.insert("time_without_ns".to_owned(), without_ns as f64);
        let (with, without) = (format::time(path.time_ns), format::time(without_ns));
        let whose = match path.connections {
            1 => format!("its {with}"),
            _ => format!("the connections' {with}, added up,"),
        };
        let _ = write!(
            finding.advice,
            " Without this {whose} would be about {without}."
        );
    }
    finding
}

fn share(path: &Path, limit: Limit) -> f64 {
    stats::ratio(path.shares[limit as usize] as f64, path.time_ns as f64)
}

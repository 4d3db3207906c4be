//! Findings from a capture: each cause, with its share of the time of the connections between two hosts.
//!
//! Each rule is a function that evaluates a [`Path`] and returns `None` or a scored finding. Rules about the
//! capture itself come first: packets that it missed must not be blamed on the link.
//!
//! | module | causes |
//! |---|---|
//! | `link` | the capture, or the link as a whole |
//! | `loss` | lost segments |
//! | `receiver` | the receiver |
//! | `sender` | the sender |
//! | `path` | the network between the ends |
//! | `symptoms` | observations that several rules use |

mod link;
mod loss;
mod path;
mod receiver;
mod sender;
mod symptoms;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::cause::scored::PathFinding;
use crate::cause::scored::ScoredFinding;
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::{Counts, Path};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;
use symptoms::PathSymptoms;

/// The rules for a path.
const RULES: [fn(&Path, &PathSymptoms) -> Option<ScoredFinding>; 12] = [
    loss::losses,
    path::reordering,
    receiver::receive_window,
    receiver::delayed_ack_with_nagle,
    receiver::late_acks,
    sender::sender_idle,
    sender::congestion_window,
    sender::host_pacing,
    sender::one_in_flight,
    sender::small_writes,
    path::bufferbloat,
    path::path_rate,
];

/// Fewer losses may be chance.
const MIN_LOSSES: u64 = 3;
/// A smaller gain is not worth a sentence.
const MIN_GAIN: f64 = 0.05;

/// The reasons why the connections are slow, largest share of the time first. Empty if nothing is wrong.
pub fn explain_traffic(counts: &Counts, duration_ns: u64, paths: &[Path]) -> Vec<PathFinding> {
    let total_ns: f64 = paths.iter().map(|path| path.time_ns as f64).sum();
    let mut found = Vec::new();
    for path in paths {
        let path_share = stats::ratio(path.time_ns as f64, total_ns);
        let symptoms = PathSymptoms::of(path);
        let scored = RULES.iter().filter_map(|rule| rule(path, &symptoms));
        for ScoredFinding { weight, finding } in scored {
            let weight = weight.min(1.0);
            found.push(PathFinding {
                sender: Some(path.sender.to_string()),
                receiver: Some(path.receiver.to_string()),
                share_of_time: weight * path_share,
                finding: with_gain(finding, path, weight),
            });
        }
    }
    found.extend(link::pause_frames(counts, duration_ns));
    // A full path is not a fault: all other findings precede it.
    let is_full = |found: &PathFinding| found.finding.cause == Cause::AtLineRate;
    found.sort_by(|a, b| {
        let by_time = b.share_of_time.total_cmp(&a.share_of_time);
        is_full(a).cmp(&is_full(b)).then(by_time)
    });
    let mut first: Vec<PathFinding> = paths.iter().filter_map(link::incomplete_capture).collect();
    first.extend(link::broadcast_storm(counts, duration_ns));
    first.extend(found);
    first
}

/// Adds the estimated time without the cause to the advice. The times of all connections are added up, consecutive or
/// concurrent.
fn with_gain(mut finding: Finding, path: &Path, weight: f64) -> Finding {
    if finding.cause != Cause::AtLineRate && weight >= MIN_GAIN {
        let without_ns = (path.time_ns as f64 * (1.0 - weight)) as u64;
        let figures = &mut finding.evidence;
        figures.insert("time_ns".to_owned(), path.time_ns as f64);
        figures.insert("time_without_ns".to_owned(), without_ns as f64);
        let (with, without) = (format::time(path.time_ns), format::time(without_ns));
        let whose = match path.connections {
            1 => format!("its {with}"),
            _ => format!("the connections' total of {with}"),
        };
        let _ = write!(
            finding.advice,
            " Without this, {whose} would be about {without}."
        );
    }
    finding
}

fn share(path: &Path, limit: Limit) -> f64 {
    stats::ratio(path.shares[limit as usize] as f64, path.time_ns as f64)
}

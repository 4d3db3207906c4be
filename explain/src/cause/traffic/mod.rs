//! Findings from a capture: the connections' causes, and those of the capture or the link as a whole.
//!
//! Findings about the capture itself come first if it lacks so much that the others are in doubt: packets that it missed must not be
//! blamed on the link. Else they come last.

#[cfg(test)]
mod dialogue;
pub(in crate::cause) mod link;
#[cfg(test)]
mod tests;

use crate::cause::flow;
use crate::cause::scored::PathFinding;
use linerate_capture::model::TimeShares;
use linerate_capture::traffic::Analysis;

/// What a capture shows of its connections.
#[derive(Debug, Default)]
pub struct ExplainedTraffic {
    /// The reasons why they are slow, largest share of the time first. Empty if nothing is wrong.
    pub findings: Vec<PathFinding>,
    /// The time of each connection by limit.
    pub times: Vec<TimeShares>,
}

/// Explains the connections of a capture.
pub fn explain_traffic(analysis: &Analysis) -> ExplainedTraffic {
    let (mut costs, times) = flow::explain_flows(&analysis.flows);
    costs.extend(link::broadcast_storm(analysis));
    if let Some(paused) = link::pause_frames(analysis) {
        // Pauses are why the sender waited.
        let is_larger = |it: &PathFinding| it.share_of_time > 2.0 * paused.share_of_time;
        // What is no reason has no alternative either.
        let cause = |it: &PathFinding| it.alternative_to.unwrap_or(it.finding.cause);
        costs.retain(|it| !flow::is_generic(cause(it)) || is_larger(it));
        costs.push(paused);
    }
    flow::sort_by_cost(&mut costs);
    costs.extend(link::incomplete_captures(&analysis.flows));
    let findings = link::place_incomplete(costs);
    ExplainedTraffic { findings, times }
}

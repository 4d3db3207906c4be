//! Findings about traffic other than TCP, and about the integrity of all packets.
//!
//! | module | contents |
//! |---|---|
//! | `loss` | datagrams of iperf that are lost or reordered |
//! | `above_path` | more datagrams than the path carries |
//! | `dialogue` | questions and answers, one at a time |
//! | `timeouts` | dialogues that wait for timers |
//! | `names` | waiting for names |
//! | `lock_step` | transfers with one datagram per round trip |
//! | `rejected` | TCP connections that ICMP rejects |
//! | `unanswered` | requests that are refused or not answered, absent hosts |
//! | `integrity` | wrong checksums, duplicate packets |

mod above_path;
mod dialogue;
mod integrity;
mod lock_step;
mod loss;
mod names;
mod rejected;
#[cfg(test)]
mod tests;
mod timeouts;
mod unanswered;

pub use loss::numbered_streams;

use linerate_capture::traffic::Analysis;
use linerate_results::record::Cause;

use crate::cause::flow;
use crate::cause::scored::PathFinding;
use crate::cause::traffic::link::place_incomplete;

/// A cause that costs less is not worth a finding: a person does not notice it (ITU-T G.1010, highly interactive use).
const MIN_COST_NS: u64 = 50_000_000;
/// The same as a share of the time.
const MIN_COST_SHARE: f64 = 0.1;

/// Adds the findings about traffic other than TCP to `found`, those about TCP, the largest cost first, and places those about the capture
/// itself.
pub fn add_datagram_findings(found: &mut Vec<PathFinding>, analysis: &Analysis) {
    let is_of_capture = |it: &PathFinding| it.finding.cause == Cause::CaptureIncomplete;
    let (mut of_capture, mut others): (Vec<_>, Vec<_>) =
        std::mem::take(found).into_iter().partition(is_of_capture);
    for finding in integrity::checksums(&analysis.other_traffic.checksums) {
        integrity::take_losses(finding, &mut others);
    }
    others.extend(integrity::duplicates(&analysis.other_traffic.repeats));
    others.extend(names::waiting(
        &analysis.other_traffic.names,
        &analysis.flows,
        analysis.duration_ns,
    ));
    others.extend(lock_step::transfers(
        &analysis.other_traffic.transfers,
        analysis.duration_ns,
    ));
    others.extend(dialogue::dialogues(
        &analysis.other_traffic.dialogues,
        analysis.duration_ns,
    ));
    others.extend(timeouts::timeouts(
        &analysis.other_traffic.timeouts,
        analysis.duration_ns,
    ));
    let rejected = rejected::rejected(analysis, &mut others);
    others.extend(rejected);
    others.extend(unanswered::unanswered(analysis, &others));
    others.extend(loss::explain_udp_streams(
        &analysis.udp_streams,
        &analysis.identified_streams,
    ));
    flow::sort_by_cost(&mut others);
    others.append(&mut of_capture);
    *found = place_incomplete(others);
}

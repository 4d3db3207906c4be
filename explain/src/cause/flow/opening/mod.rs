//! Connections that are not opened, or open slowly.
//!
//! | module | contents |
//! |---|---|
//! | `kind` | how a connection failed to open, or opened |
//! | `request` | requests that are never answered |
//! | `cut_off` | transfers that a reset ends |
//! | `queued` | connections that wait in a full accept queue |
//! | `attempts` | attempts by hosts and port |
//! | `accepted` | what else those ports accepted |
//! | `finding` | the sentence |
//! | `many` | findings that are one |

mod accepted;
mod attempts;
mod cut_off;
#[cfg(test)]
mod cut_off_tests;
mod finding;
#[cfg(test)]
mod hang_tests;
mod kind;
mod many;
mod queued;
#[cfg(test)]
mod queued_tests;
mod request;
#[cfg(test)]
mod tests;

use super::cost::MIN_COST_NS;
use crate::cause::busy::{busy_ns, union_ns};
use crate::cause::scored::{self, PathFinding};
use accepted::{Accepted, ByPort};
use attempts::{Attempts, attempts};
use cut_off::resets_data;
pub(super) use finding::HANG_NS;
use finding::finding;
use kind::{MIN_SHARE, Opening, SLOW_NS, opening, unacknowledged_ns};
use linerate_capture::traffic::Flow;
use linerate_results::stats;
pub(in crate::cause) use many::counts_host;
use many::{Found, merged};

/// No program waits so long before its second attempt: somebody started it again.
const STARTED_AGAIN_NS: u64 = 30_000_000_000;
/// A client that is accepted this soon after a refusal is not slowed down (ITU-T G.1010: delays of interactive use).
const RETRY_NS: u64 = 1_000_000_000;
/// A refusal that took a smaller part of the time than this, beside a transfer, does not slow down anything.
const MIN_ASIDE: f64 = 0.04;
/// Segments of a transfer at least.
const TRANSFER_SEGMENTS: u64 = 50;
/// A client whose connections nearly all open, but for an attempt and its repetition, does what it is asked for: the rest is a service
/// that it tries in the background.
const BACKGROUND_ATTEMPTS: u64 = 2;
const BACKGROUND_DIVISOR: u64 = 10;

/// Times of all connections.
struct Times {
    /// Sum of all.
    total_ns: f64,
    /// The same, without their pauses.
    busy_ns: f64,
    /// In which at least one of them was open, and from the first to the last packet.
    passed_ns: u64,
    whole_ns: u64,
    has_transfer: bool,
}

impl Times {
    fn of(flows: &[Flow]) -> Self {
        let spans: Vec<(u64, u64)> = flows.iter().map(span).collect();
        let start_ns = spans.iter().map(|it| it.0).min();
        let end_ns = spans.iter().map(|it| it.1).max();
        let total_ns = |(start_ns, end_ns): &(u64, u64)| (end_ns - start_ns) as f64;
        Self {
            total_ns: spans.iter().map(total_ns).sum(),
            busy_ns: flows.iter().map(busy_ns).sum::<u64>() as f64,
            whole_ns: end_ns.unwrap_or(0) - start_ns.unwrap_or(0),
            passed_ns: union_ns(spans),
            has_transfer: flows.iter().map(segments).sum::<u64>() >= TRANSFER_SEGMENTS,
        }
    }
}

/// The findings about opening, by pair of hosts and port, or by client.
pub(super) fn openings(flows: &[Flow]) -> Vec<PathFinding> {
    let times = Times::of(flows);
    let by_port = ByPort::of(flows);
    let mut found = Vec::new();
    for ((opening, client, place), attempts) in attempts(flows) {
        let accepted = if attempts.ports.len() == 1 {
            by_port.accepted(&attempts)
        } else {
            Accepted::default()
        };
        let is_nothing = match opening {
            Opening::Refused => {
                is_aside(&attempts, accepted, &times) || is_retried(&attempts, accepted, &by_port)
            }
            Opening::NoAnswer => is_unknown(&attempts, accepted),
            Opening::Slow | Opening::Queued => is_short(&attempts, accepted, &times),
            _ => false,
        };
        if is_nothing || is_background(opening, &attempts, &by_port) {
            continue;
        }
        // SYNs that are repeated cost seconds, however long other connections are kept open.
        let is_repeated = matches!(opening, Opening::Slow | Opening::NoAnswer)
            && attempts.syns > attempts.connections;
        let total_ns = if is_repeated {
            times.busy_ns
        } else {
            times.total_ns
        };
        let mut finding = finding(opening, client, &place, &attempts, accepted, total_ns);
        if opening == Opening::NoAnswer {
            // The others may last however long, and wait for nothing, while this one cannot work: it is no minor cause.
            let passed = stats::ratio(attempts.passed_ns() as f64, times.passed_ns as f64);
            finding.share_of_time = finding.share_of_time.max(passed.min(scored::MIN_SHARE));
        }
        found.push(Found {
            opening,
            attempts,
            finding,
        });
    }
    merged(found, times.busy_ns)
}

/// True if a refusal costs little: a program tries several addresses, or twice, at once.
fn is_aside(attempts: &Attempts, accepted: Accepted, times: &Times) -> bool {
    // Whoever waits until it tries again loses that time, too.
    let lost_ns = accepted.after_ns.unwrap_or(attempts.time_ns);
    attempts.last_ns - attempts.first_ns < RETRY_NS
        && times.total_ns.max(times.whole_ns as f64) * MIN_ASIDE > lost_ns as f64
        && times.has_transfer
}

/// True if the client that was refused is accepted soon afterwards, or over the other version of IP, or is started again.
fn is_retried(attempts: &Attempts, accepted: Accepted, by_port: &ByPort) -> bool {
    let is_soon = accepted.after_ns.is_some_and(|ns| ns < RETRY_NS);
    let is_started_again =
        attempts.connections == 1 && accepted.after_ns.is_some_and(|ns| ns >= STARTED_AGAIN_NS);
    is_soon || is_started_again || by_port.opens_other_version(attempts)
}

/// True if a capture ends just after the first SYN, or if one SYN was lost: that shows nothing.
fn is_unknown(attempts: &Attempts, accepted: Accepted) -> bool {
    attempts.syns < 2
        || attempts.passed_ns() < SLOW_NS
        || attempts.syns == attempts.connections && accepted.is_any()
}

/// True if nobody notices that a connection opened late, or if it is one of several, such as the first one, which waits for ARP.
fn is_short(attempts: &Attempts, accepted: Accepted, times: &Times) -> bool {
    let is_first = attempts.connections == 1
        && accepted.is_any()
        && (attempts.time_ns as f64) < (times.total_ns * MIN_SHARE).min(RETRY_NS as f64);
    is_first || attempts.passed_ns() < MIN_COST_NS as u64
}

/// True for an attempt or two beside many connections that open.
fn is_background(opening: Opening, attempts: &Attempts, by_port: &ByPort) -> bool {
    matches!(opening, Opening::Refused | Opening::NoAnswer)
        && attempts.connections <= BACKGROUND_ATTEMPTS
        && by_port.opened(attempts) > attempts.connections * BACKGROUND_DIVISOR
}

/// Start and end of a connection.
fn span(flow: &Flow) -> (u64, u64) {
    (flow.connection.start_ns, flow.connection.end_ns)
}

/// Segments with the payload of a connection.
fn segments(flow: &Flow) -> u64 {
    let sender = flow.connection.data_sender();
    flow.connection.stats(sender).segments
}

/// True if nothing was transferred because the server refused or ignored it: the time of the connection is that of the failure.
pub(super) fn has_failed(flow: &Flow) -> bool {
    let packets = flow.connection.log().packets();
    resets_data(packets) || unacknowledged_ns(packets).is_some()
}

/// Time for which the client waited behind its last request, if the server answered all but that.
pub(super) fn hang_ns(flow: &Flow) -> Option<u64> {
    let (_, waited_ns) = opening(flow).filter(|(kind, _)| *kind == Opening::LastUnanswered)?;
    Some(waited_ns)
}

//! Acknowledgments that wait behind a transfer in the other direction.

use super::{BackQueue, MAX_UTILIZATION, MIN_ACK_QUEUE_NS};
use crate::cause::flow::facts::{FlowFacts, OppositeTransfer};
use crate::cause::flow::rate;
use crate::cause::scored::evidence;
use linerate_results::{format, stats};

/// Transfers whose rates differ by less than this factor may share a line that carries as much in both directions.
const EQUAL_RATES: f64 = 1.25;
/// The one whose acknowledgments wait longer has less of such a line (1.3 to 1.75 times in captures of lab/office and lab/teacher), but
/// this part of its own fastest rate: an asymmetric line, whose way back fills at a tenth of it, leaves it less.
const SIMILAR_RATES: f64 = 1.8;
const MIN_OF_SIMILAR: f64 = 0.3;
/// A queue that each packet of a connection meets is this many times longer than the path: hosts that answer a SYN late, or
/// a path that changes, differ by less.
const ALWAYS_FACTOR: u64 = 3;

/// Without stamps: a transfer in the other direction fills the way back, and the data has room.
pub(super) fn behind_opposite(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let against = facts.against.filter(|it| it.may_fill)?;
    let has_room = facts.model.utilization < MAX_UTILIZATION;
    if facts.model.ack_queue_ns.is_some() || !has_room || shares_line(facts, against) {
        return None;
    }
    let base_ns = facts.model.base_rtt_ns()?;
    // Only near the receiver, gaps between segments show that nothing waits on their way: elsewhere, transfers of the
    // same rate may fill both ways of a line with equal ones.
    let (queue_ns, confidence) = if facts.model.is_near_receiver() {
        (against.queue_ns?, 0.75)
    } else {
        let queue_ns = facts.model.queue_ns.filter(|_| facts.model.is_queued)?.0;
        (
            Some(queue_ns).filter(|_| !is_as_fast(facts, against))?,
            0.65,
        )
    };
    (queue_ns >= MIN_ACK_QUEUE_NS.max(base_ns / 2)).then(|| BackQueue {
        observed: format!(
            "Packets between {} and {} wait {} (median), and the data passes at {} of its fastest rate on average, so it \
             is not its own way that is full",
            facts.sender,
            facts.receiver,
            format::time(queue_ns),
            format::percent(facts.model.utilization),
        ),
        evidence: evidence([
            ("queue_ns_p50", queue_ns as f64),
            ("base_rtt_ns", base_ns as f64),
            ("utilization", facts.model.utilization),
        ]),
        share: 1.0 - stats::ratio(base_ns as f64, (base_ns + queue_ns) as f64),
        confidence,
    })
}

/// True if both directions may be those of a line that carries as much in both, and is full.
pub(super) fn fills_both_ways(facts: &FlowFacts<'_>, against: OppositeTransfer) -> bool {
    is_as_fast(facts, against) && rate::is_full(facts)
}

/// True if both directions have about as much of a line that carries as much in both.
pub(super) fn shares_line(facts: &FlowFacts<'_>, against: OppositeTransfer) -> bool {
    differs_less(facts, against, SIMILAR_RATES) && facts.model.utilization >= MIN_OF_SIMILAR
}

/// True if both directions may be those of a line that carries as much in both.
fn is_as_fast(facts: &FlowFacts<'_>, against: OppositeTransfer) -> bool {
    differs_less(facts, against, EQUAL_RATES)
}

/// True if the rates of both directions differ by less than this factor.
fn differs_less(facts: &FlowFacts<'_>, against: OppositeTransfer, factor: f64) -> bool {
    let ratio = facts.goodput() / against.bytes_per_s;
    (1.0 / factor..factor).contains(&ratio)
}

/// Not one packet passes as fast as those of another connection between the same hosts, although a transfer in the other
/// direction is all that passes beside it: what waits is its acknowledgments, since its own data has not always been there.
pub(super) fn always_behind_opposite(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let against = facts.against?;
    let is_shared = facts.shared.is_some() || facts.is_beside_full || facts.fills_together;
    let (own_ns, least_ns) = (facts.model.base_rtt_ns()?, facts.least_rtt_ns?);
    let queue_ns = own_ns.checked_sub(least_ns)?;
    if is_shared
        || is_as_fast(facts, against)
        || facts.connection().handshake().legs_ns().is_none()
        || queue_ns < MIN_ACK_QUEUE_NS.max(ALWAYS_FACTOR * least_ns)
    {
        return None;
    }
    Some(BackQueue {
        observed: format!(
            "From the handshake on, a round trip takes {} at least, where another connection between {} and {} took {}",
            format::time(own_ns),
            facts.sender,
            facts.receiver,
            format::time(least_ns),
        ),
        evidence: evidence([
            ("base_rtt_ns", least_ns as f64),
            ("least_rtt_ns", own_ns as f64),
            ("queue_ns_least", queue_ns as f64),
        ]),
        share: 1.0 - stats::ratio(least_ns as f64, own_ns as f64),
        confidence: 0.75,
    })
}

//! Lost acknowledgments: the sender repeats, after a timeout, what has arrived.

use super::{MIN_COST, MIN_LOSSES};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Transmission};
use linerate_capture::tcp::PacketClass;
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::HashMap;

/// The shortest retransmission timeout of common stacks, less the resolution of their timers.
pub(super) const MIN_TIMEOUT_NS: u64 = 180_000_000;
/// A wait is a timeout, and not the delay of the path, if it takes this many round trips.
const MIN_ROUND_TRIPS: u64 = 4;

/// True if a timeout is much longer than the path accounts for: the acknowledgment that it waited for was not only late.
pub(super) fn are_timeouts_longer_than_path(facts: &FlowFacts<'_>) -> bool {
    let base_ns = facts.model.base_rtt_ns();
    let queue_ns = facts.model.queue_ns.map_or(0, |(_, ns)| ns);
    base_ns.is_some_and(|ns| (ns + queue_ns) * MIN_ROUND_TRIPS <= MIN_TIMEOUT_NS)
}

/// Transmissions with payload, and for each whether the same octets came again after a timeout although their receipt had
/// been acknowledged: near the receiver, the acknowledgment was captured so long before that it should have reached the sender; near the
/// sender, the receiver reports that they arrived twice (RFC 2883).
pub(super) fn repeated_in_vain<'a>(facts: &'a FlowFacts<'_>) -> Vec<(&'a Transmission, bool)> {
    let view = &facts.model.view;
    let is_near_receiver = facts.model.is_near_receiver();
    let mut reports = view.acks.iter().filter(|it| it.has_dsack).peekable();
    // What the sender had not received when it sent.
    let on_the_way_ns = facts.model.to_sender.base_ns().unwrap_or(0) / 8 * 7;
    let (mut acks, mut acked) = (view.acks.iter().peekable(), 0);
    let mut latest: HashMap<u64, usize> = HashMap::new();
    let mut found: Vec<(&Transmission, bool)> = Vec::new();
    let mut sent = view.sent.iter().filter(|it| it.len > 0).peekable();
    while let Some(it) = sent.next() {
        let before = latest.insert(it.start, found.len());
        found.push((it, false));
        let Some(before) = before.and_then(|at| found.get_mut(at)) else {
            continue;
        };
        let is_late = it.time_ns - before.0.time_ns >= MIN_TIMEOUT_NS;
        let is_reported = if is_near_receiver {
            while let Some(ack) = acks.next_if(|ack| ack.time_ns + on_the_way_ns <= it.time_ns) {
                acked = acked.max(ack.ack);
            }
            it.class == PacketClass::SpuriousRetransmission && acked >= it.end
        } else {
            // The answer comes before the sender transmits anything else: after a timeout it sends one segment.
            let next = sent.peek().map_or(u64::MAX, |next| next.time_ns);
            while reports.next_if(|ack| ack.time_ns < it.time_ns).is_some() {}
            reports.peek().is_some_and(|ack| ack.time_ns <= next)
        };
        before.1 |= is_late && is_reported;
    }
    found
}

/// The sender waits for acknowledgments that were sent, and repeats what they acknowledge.
pub(super) fn lost_acks(facts: &FlowFacts<'_>) -> Option<Rule> {
    let share = facts.share(Limit::Timeout);
    if share < MIN_COST || !are_timeouts_longer_than_path(facts) {
        return None;
    }
    let lost = repeated_in_vain(facts).iter().filter(|it| it.1).count() as u64;
    // Losses of data cost more otherwise.
    if lost < MIN_LOSSES || lost < facts.model.view.lost() {
        return None;
    }
    Some(Rule {
        share,
        cause: Cause::RandomLoss,
        confidence: 0.7,
        summary: format!(
            "{} segments of {} arrived, and came again after a timeout: the acknowledgments of {} for them were lost on \
             the way back. Waits for the retransmission timer take {} of the time.",
            format::count(lost),
            facts.sender,
            facts.receiver,
            format::percent(share),
        ),
        evidence: evidence([
            ("lost_acks", lost as f64),
            ("lost_segments", facts.model.view.lost() as f64),
            ("time_out_share", share),
        ]),
        advice: format!(
            "Look for the loss in the direction from {} to {}: transmit errors and collisions at the former, receive \
             errors and drops at the latter (ethtool -S), the duplex setting of both.",
            facts.receiver, facts.sender
        ),
        limits: &[Limit::Timeout],
        has_gain: true,
    })
}

//! Losses of a receiver that stands still.

use crate::cause::flow::facts::FlowFacts;
use linerate_capture::model::{Span, Transmission};
use linerate_capture::tcp::PacketClass;
use std::collections::HashMap;

fn is_spurious(it: &Transmission) -> bool {
    it.class == PacketClass::SpuriousRetransmission
}

/// Number of lost segments that were sent in one of `stalls`, or just before.
pub(super) fn lost_meanwhile(facts: &FlowFacts<'_>, stalls: &[Span]) -> u64 {
    let round_trip_ns = facts.model.to_receiver.percentile(90).unwrap_or(0);
    let is_in_stall = |ns: u64| {
        let after = stalls.partition_point(|it| it.start_ns <= ns + round_trip_ns);
        after > 0 && ns <= stalls[after - 1].end_ns
    };
    // When each was sent; of those that the capture lacks, when the next one was.
    let mut sent_ns: HashMap<u64, u64> = HashMap::new();
    let mut gaps: Vec<(u64, u64)> = Vec::new();
    let mut highest = 0;
    let mut lost = 0;
    for it in &facts.model.view.sent {
        let before_ns = sent_ns.insert(it.start, it.time_ns).or_else(|| {
            let gap = gaps.partition_point(|(end, _)| *end <= it.start);
            gaps.get(gap).map(|(_, ns)| *ns)
        });
        if it.is_retransmission() && !it.is_discarded && !is_spurious(it) {
            lost += u64::from(before_ns.is_some_and(is_in_stall));
        }
        if it.start > highest && highest > 0 {
            gaps.push((it.start, it.time_ns));
        }
        highest = highest.max(it.end);
    }
    lost
}

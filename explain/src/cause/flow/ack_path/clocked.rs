//! Near the receiver, in captures that begin late: acknowledgments that wait, by the gaps that they leave in the data.
//!
//! The shortest round trip of a late capture may contain a queue, so that echoed timestamps show only its changes. But a link
//! that is full of data spaces all segments by at least the time that each takes (RFC 3449 section 2.1). Where the segments
//! that one acknowledgment released arrive close together, and nothing between them and the next ones, the data's own way is
//! empty at that time: what waits does so on the way back.

use super::{BackQueue, MIN_ACK_QUEUE_NS, MIN_ECHOES};
use crate::cause::flow::class::takes_turns;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::scored::evidence;
use linerate_capture::model::percentile;
use linerate_results::format;
use linerate_results::stats;

/// A gap that is longer by this factor than the distance of segments of one acknowledgment separates those of two.
const GAP_FACTOR: u64 = 3;
/// A delayed acknowledgment is for two segments (RFC 9293 section 3.8.6.3) and releases one more while the window grows; radio
/// aggregates and time slots hold more.
const MOST_RELEASED: u64 = 4;
/// The link of the data is idle for this share of the time.
const MIN_IDLE: f64 = 0.5;

/// Round trips vary by a queue, and the data's link is idle between the segments of each acknowledgment.
pub(super) fn clocked_queue(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let model = &facts.model;
    let is_shared = facts.shared.is_some() || facts.is_beside_full || facts.fills_together;
    let (queue_ns, _) = model.queue_ns.filter(|_| model.is_queued)?;
    let is_whole = facts.connection().handshake().syn_ns.is_some();
    let is_answering = takes_turns(model);
    if !model.is_near_receiver()
        || is_whole
        || is_shared
        || is_answering
        || queue_ns < MIN_ACK_QUEUE_NS
        || model.to_sender.count() < MIN_ECHOES
    {
        return None;
    }
    let sent: Vec<_> = model.view.sent.iter().filter(|it| it.len > 0).collect();
    let gaps: Vec<u64> = sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns)
        .collect();
    let close_ns = percentile(gaps.clone(), 25)?;
    let is_gap = |ns: u64| ns > GAP_FACTOR * close_ns;
    let idle_ns: u64 = gaps.iter().filter(|ns| is_gap(**ns)).sum();
    let idle = stats::ratio(idle_ns as f64, gaps.iter().sum::<u64>() as f64);
    // Segments between two gaps, and whether they echo one acknowledgment.
    let mut groups: Vec<(u64, bool)> = vec![(1, true)];
    for (pair, ns) in sent.windows(2).zip(&gaps) {
        match groups.last_mut() {
            Some((count, is_one)) if !is_gap(*ns) => {
                *count += 1;
                *is_one &= pair[0].echo == pair[1].echo;
            }
            _ => groups.push((1, true)),
        }
    }
    let of_one = groups
        .iter()
        .filter(|(count, is_one)| *is_one && *count <= MOST_RELEASED);
    let several = groups.iter().filter(|(count, _)| *count >= 2).count();
    let is_released = of_one.count() * 10 >= groups.len() * 9 && several * 2 >= groups.len();
    (idle >= MIN_IDLE && is_released).then(|| BackQueue {
        observed: format!(
            "Round trips vary by {} (median), but the link of the data is idle for {} of the time, between the segments that one \
             acknowledgment releases and the next ones",
            format::time(queue_ns),
            format::percent(idle),
        ),
        evidence: evidence([
            ("queue_ns_p50", queue_ns as f64),
            ("idle_share", idle),
            ("groups", groups.len() as f64),
        ]),
        share: idle,
        confidence: 0.65,
    })
}

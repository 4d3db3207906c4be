//! Segments that arrived, and that the receiver discarded.

use super::{Losses, MIN_LOSSES};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::{DirectionView, Limit};
use linerate_capture::tcp::PacketClass;
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::{BTreeMap, HashSet};

/// A receiver owes an acknowledgment for so many segments.
const OWED_SEGMENTS: u64 = 2;
/// A receiver this near to the capture point sees what the capture shows.
const NEAR_NS: u64 = 300_000;

/// Near the receiver, lost segments were captured: they arrived, and the receiver discarded them.
pub(super) fn discarded(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    waits: &str,
    figures: &BTreeMap<String, f64>,
) -> Option<Rule> {
    let model = &facts.model;
    let (to_receiver_ns, to_sender_ns) = (model.to_receiver.base_ns()?, model.to_sender.base_ns()?);
    // A network between them may lose what passed the capture point.
    let is_at_receiver =
        model.is_near_receiver() && to_receiver_ns < NEAR_NS && to_sender_ns > 8 * to_receiver_ns;
    let arrived = discarded_in_order(&model.view).min(losses.lost);
    let mut figures = figures.clone();
    figures.insert("arrived_segments".to_owned(), arrived as f64);
    // With one segment in flight, no other shows that the receiver had acknowledged what it has: it may only be slow to
    // (RFC 9293 section 3.8.6.3 permits 500 ms, more than the timers of many senders).
    let has_others = u64::from(facts.stats().max_in_flight) >= 2 * facts.full;
    let is_most = arrived * 10 >= losses.lost * 8 && losses.lost >= MIN_LOSSES;
    (is_at_receiver && has_others && is_most).then(|| Rule {
        share: losses.cost(),
        cause: Cause::ChecksumErrors,
        confidence: 0.6,
        summary: format!(
            "{} of {} segments arrived at {} and had to be repeated all the same: it discarded them, as it does with a \
             wrong checksum. {waits}",
            format::count(arrived),
            format::count(losses.segments),
            facts.receiver,
        ),
        evidence: figures.clone(),
        advice: "Compare the receiver's counters (TcpInCsumErrors in nstat, InErrs; lwIP: stats.tcp.chkerr, memerr): bits \
                 that are flipped behind the FCS (a bus, DMA without cache maintenance, a bridge), or no memory for a \
                 segment."
            .to_owned(),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight],
        has_gain: true,
    })
}

/// Segments that came again, and not needlessly, although they had arrived when all before them had been acknowledged. What arrives
/// behind a gap a receiver may discard for want of room (RFC 9293 section 3.10.7.4).
fn discarded_in_order(view: &DirectionView) -> u64 {
    let full = u64::from(view.full_segment());
    let mut acks = view.acks.iter().peekable();
    let (mut acked, mut is_stuck, mut next) = (0, false, 0);
    let mut in_order: HashSet<u64> = HashSet::new();
    let mut discarded = 0;
    for sent in view.sent.iter().filter(|it| it.len > 0) {
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            is_stuck = ack.ack <= acked;
            acked = acked.max(ack.ack);
        }
        let is_needed = sent.is_retransmission()
            && sent.class != PacketClass::SpuriousRetransmission
            && !sent.is_discarded;
        discarded += u64::from(is_needed && in_order.contains(&sent.start));
        // A receiver acknowledges each second segment (RFC 9293 section 3.8.6.3), or a few that arrive together.
        if sent.start <= acked + OWED_SEGMENTS * full || !is_stuck && sent.start <= next {
            in_order.insert(sent.start);
        }
        if sent.start <= next || next == 0 {
            next = next.max(sent.end);
        }
    }
    discarded
}

//! The rate of the link that spaces segments which left closer together.

use crate::cause::flow::facts::FlowFacts;

/// Pairs are dispersed if they are acknowledged at this multiple of the distance at which they were sent.
const DISPERSED: u64 = 2;
/// Shorter distances are those of hosts.
const MIN_GAP_NS: u64 = 20_000;
/// An acknowledgment of more full segments may have been held back.
const MAX_SEGMENTS: u64 = 3;
/// Rates within this factor are equal: that of a bucket is an estimate.
const SAME_RATE: f64 = 1.15;
/// Fewer pairs show no rate.
const MIN_PAIRS: usize = 12;
/// One in so many of them has that rate: most of a sender's time, acknowledgments keep the distance of the link already. Behind
/// policers that were measured, it is less than one in twenty.
const MIN_PART_DIVISOR: usize = 8;

/// True if a link of this rate, octets of payload per second, spaces segments that were sent closer together: that of many of such
/// pairs. False near the receiver, where nothing shows how they were sent.
pub(super) fn is_of_link(facts: &FlowFacts<'_>, bytes_per_s: f64) -> bool {
    let model = &facts.model;
    if model.is_near_receiver() {
        return false;
    }
    let rtt_ns = model.base_rtt_ns().unwrap_or(0);
    let mut sent = model
        .view
        .sent
        .iter()
        .filter(|it| !it.is_retransmission())
        .peekable();
    let mut before: Option<(u64, u64, u64)> = None;
    let (mut pairs, mut near) = (0, 0);
    for ack in &model.view.acks {
        if before.is_some_and(|(acked, ..)| ack.ack <= acked) {
            continue;
        }
        let mut last_ns = None;
        while let Some(it) = sent.next_if(|it| it.end <= ack.ack) {
            last_ns = Some(it.time_ns);
        }
        let Some(sent_ns) = last_ns else { continue };
        if let Some((acked, before_ns, before_sent_ns)) = before {
            let (octets, gap_ns) = (ack.ack - acked, ack.time_ns - before_ns);
            let is_usual = (facts.full..=MAX_SEGMENTS * facts.full).contains(&octets);
            let is_dispersed = sent_ns - before_sent_ns <= gap_ns / DISPERSED;
            // Between flights, and while losses are repaired, the sender waits.
            let is_within_flight = (MIN_GAP_NS..=rtt_ns / 2).contains(&gap_ns);
            if is_usual && is_dispersed && is_within_flight {
                pairs += 1;
                let ratio = octets as f64 * 1e9 / gap_ns as f64 / bytes_per_s;
                near += usize::from((1.0 / SAME_RATE..=SAME_RATE).contains(&ratio));
            }
        }
        before = Some((ack.ack, ack.time_ns, sent_ns));
    }
    near >= MIN_PAIRS && near * MIN_PART_DIVISOR >= pairs
}

//! The rate of the link that spaces segments which left closer together.

use crate::cause::flow::facts::FlowFacts;
use linerate_capture::model::Transmission;
use linerate_results::stats;

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

/// Twice as fast is no jitter of a link, and half as much again may be the error of a bucket's rate.
const FASTER: f64 = 2.0;
const AS_FAST: f64 = 1.5;
/// Behind a link, hardly any segments come faster than it carries them; what comes as it was sent follows what was sent with it, at
/// least in pairs (RFC 9293 section 3.8.6.3: an acknowledgment for two segments releases two).
const HARDLY_ANY: f64 = 0.05;
const PAIRS: f64 = 0.25;

/// How segments arrive near the receiver, beside a rate at which they are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrivals {
    /// As they were sent: much faster than this rate.
    AsSent,
    /// Hardly ever faster than this rate: from a link that carries no more.
    Spaced,
    Unknown,
}

impl Arrivals {
    /// Those of `facts` beside this rate, octets of payload per second.
    pub(super) fn of(facts: &FlowFacts<'_>, bytes_per_s: f64) -> Self {
        if !facts.model.is_near_receiver() {
            return Self::Unknown;
        }
        let sent = &facts.model.view.sent;
        let follows = |pair: &&[Transmission]| {
            let is_full = u64::from(pair[1].len) == facts.full;
            is_full && pair[0].end == pair[1].start
        };
        let pairs = sent.windows(2).filter(follows);
        let gaps: Vec<u64> = pairs
            .map(|pair| pair[1].time_ns.saturating_sub(pair[0].time_ns))
            .collect();
        let full_ns = facts.full as f64 * 1e9 / bytes_per_s;
        let closer_than = |ns: f64| {
            let closer = gaps.iter().filter(|it| (**it as f64) < ns).count();
            stats::ratio(closer as f64, gaps.len() as f64)
        };
        let is_at_rate = |ns: &&u64| {
            let ratio = full_ns / **ns as f64;
            (1.0 / SAME_RATE..=SAME_RATE).contains(&ratio)
        };
        let at_rate = gaps.iter().filter(is_at_rate).count();
        // A shaper passes a burst at once, too, and spaces what follows.
        let is_shaped = at_rate >= MIN_PAIRS && at_rate * MIN_PART_DIVISOR >= gaps.len();
        if gaps.len() < MIN_PAIRS {
            Self::Unknown
        } else if closer_than(full_ns / AS_FAST) <= HARDLY_ANY {
            Self::Spaced
        } else if closer_than(full_ns / FASTER) >= PAIRS && !is_shaped {
            Self::AsSent
        } else {
            Self::Unknown
        }
    }
}

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

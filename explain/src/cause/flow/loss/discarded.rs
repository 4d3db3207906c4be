//! Segments that arrived, and that the receiver discarded.

use super::{Losses, MIN_LOSSES};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::{DirectionView, Limit};
use linerate_capture::tcp::PacketClass;
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::{BTreeMap, HashMap};

/// A receiver owes an acknowledgment for so many segments.
const OWED_SEGMENTS: u64 = 2;
/// With fewer segments in a silence of the receiver, it may only be slow to acknowledge them.
const MIN_UNANSWERED: usize = 4;
/// A host that works answers sooner.
const SILENT_NS: u64 = 20_000_000;
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
    let found = Discarded::of(&model.view);
    let arrived = found.segments.min(losses.lost);
    let mut figures = figures.clone();
    figures.insert("arrived_segments".to_owned(), arrived as f64);
    // With one segment in flight, no other shows that the receiver had acknowledged what it has: it may only be slow to
    // (RFC 9293 section 3.8.6.3 permits 500 ms, more than the timers of many senders).
    let has_others = u64::from(facts.stats().max_in_flight) >= 2 * facts.full;
    let is_most = arrived * 10 >= losses.lost * 8 && losses.lost >= MIN_LOSSES;
    if !(is_at_receiver && has_others && is_most) {
        return None;
    }
    if found.unanswered * 2 >= found.segments {
        return Some(stops(facts, losses, &found, waits, figures));
    }
    Some(Rule {
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

/// The rule of a receiver that answers nothing while most of what it discards arrives.
fn stops(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    found: &Discarded,
    waits: &str,
    mut figures: BTreeMap<String, f64>,
) -> Rule {
    figures.insert("unanswered_segments".to_owned(), found.unanswered as f64);
    figures.insert("silences".to_owned(), found.silences as f64);
    figures.insert("silence_ns_max".to_owned(), found.longest_ns as f64);
    Rule {
        share: losses.cost(),
        cause: Cause::ReceiverStalls,
        confidence: 0.75,
        summary: format!(
            "{} of {} segments arrived at {} and had to be repeated all the same, {} of them while it answered nothing ({}, the longest \
             silence {}): it stood still, and had no room for more. {waits}",
            format::count(found.segments.min(losses.lost)),
            format::count(losses.segments),
            facts.receiver,
            format::count(found.unanswered),
            format::times(found.silences),
            format::time(found.longest_ns),
        ),
        evidence: figures,
        advice: "Find what stops the receiver at these times: a flash erase or write, a long interrupt handler, garbage collection, a radio \
                 that scans; split that work, or move it to another core. More receive buffers bridge short stops."
            .to_owned(),
        limits: &[Limit::Timeout, Limit::FastRecovery, Limit::InFlight],
        has_gain: true,
    }
}

/// Segments that came again, and not needlessly, although they had arrived when all before them had been acknowledged. What arrives
/// behind a gap a receiver may discard for want of room (RFC 9293 section 3.10.7.4).
#[derive(Clone, Copy, Debug, Default)]
struct Discarded {
    segments: u64,
    /// Of these, those that arrived while the receiver answered none of several.
    unanswered: u64,
    /// Such silences.
    silences: u64,
    longest_ns: u64,
}

impl Discarded {
    fn of(view: &DirectionView) -> Self {
        let full = u64::from(view.full_segment());
        let mut acks = view.acks.iter().peekable();
        let (mut acked, mut is_stuck, mut next) = (0, false, 0);
        // When they arrived, if in order.
        let mut in_order: HashMap<u64, u64> = HashMap::new();
        let mut silences = silences(view);
        let mut segments = 0;
        for sent in view.sent.iter().filter(|it| it.len > 0) {
            while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
                is_stuck = ack.ack <= acked;
                acked = acked.max(ack.ack);
            }
            let is_needed = sent.is_retransmission()
                && sent.class != PacketClass::SpuriousRetransmission
                && !sent.is_discarded;
            if let Some(arrived_ns) = in_order.get(&sent.start).filter(|_| is_needed) {
                segments += 1;
                let at = silences.partition_point(|it| it.end_ns <= *arrived_ns);
                let during = silences.get_mut(at);
                if let Some(it) = during.filter(|it| it.start_ns <= *arrived_ns) {
                    it.discarded += 1;
                }
            }
            // A receiver acknowledges each second segment (RFC 9293 section 3.8.6.3), or a few that arrive together.
            if sent.start <= acked + OWED_SEGMENTS * full || !is_stuck && sent.start <= next {
                in_order.insert(sent.start, sent.time_ns);
            }
            if sent.start <= next || next == 0 {
                next = next.max(sent.end);
            }
        }
        // A sender that waits too little for a late acknowledgment repeats one.
        silences.retain(|it| it.discarded > 1);
        Self {
            segments,
            unanswered: silences.iter().map(|it| it.discarded).sum(),
            silences: silences.len() as u64,
            longest_ns: silences.iter().map(Silence::ns).max().unwrap_or(0),
        }
    }
}

/// From a segment that the receiver answers late, or not at all, to its next packet, with several segments that arrive meanwhile.
#[derive(Clone, Copy, Debug)]
struct Silence {
    start_ns: u64,
    end_ns: u64,
    discarded: u64,
}

impl Silence {
    fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

fn silences(view: &DirectionView) -> Vec<Silence> {
    let mut silences = Vec::new();
    let mut sent = view.sent.iter().filter(|it| it.len > 0).peekable();
    for ack in &view.acks {
        let mut during = Vec::new();
        while let Some(it) = sent.next_if(|it| it.number < ack.number) {
            during.push(it.time_ns);
        }
        let Some(first_ns) = during.first() else {
            continue;
        };
        if during.len() >= MIN_UNANSWERED && ack.time_ns - first_ns >= SILENT_NS {
            silences.push(Silence {
                start_ns: *first_ns,
                end_ns: ack.time_ns,
                discarded: 0,
            });
        }
    }
    silences
}

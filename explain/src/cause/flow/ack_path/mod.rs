//! Acknowledgments wait on the way back, which is slow, or full of other data (RFC 3449).
//!
//! Four things show it: the clocks that stamp packets; acknowledgments that come at one interval, whatever they
//! acknowledge; segments that arrive so, because acknowledgments released them; and a transfer in the other direction that is captured, too, while the data has room on its own way.

pub(super) mod arrivals;
mod clocked;
mod opposite;
#[cfg(test)]
mod tests;

use crate::cause::flow::class::{FlowClass, takes_turns};
use crate::cause::flow::facts::{FlowFacts, OppositeTransfer};
use crate::cause::flow::order;
use crate::cause::flow::repeats;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::BTreeMap;

/// A shorter queue of acknowledgments is noise of clocks with ticks of 1 to 10 ms.
const MIN_ACK_QUEUE_NS: u64 = 15_000_000;
/// Acknowledgments that wait account for nearly all that waits: ticks of 10 ms and clocks that drift take the rest.
const MOST_TENTHS: u64 = 8;
/// Fewer echoed timestamps may all be old.
const MIN_ECHOES: usize = 16;
/// Data that passes at more than this share of the fastest rate fills its own way: the fastest rate is the 90th percentile.
const MAX_UTILIZATION: f64 = 0.85;
/// Fewer lost segments may be chance.
const MIN_LOST: u64 = 10;
/// Intervals that differ by a smaller part are equal: a link sets them, no host.
const EQUAL_PART: u64 = 32;
/// So many of them, in this share of the time.
const MIN_EQUAL: usize = 24;
const MIN_EQUAL_SHARE: f64 = 0.4;
/// Acknowledgments for two segments are that rare only if something else delays them.
const RARE_SEGMENTS: u64 = 6;
/// So many of them wait at a time.
const MIN_INTERVALS: u64 = 4;

/// Acknowledgments that wait on the way back.
struct BackQueue {
    observed: String,
    evidence: BTreeMap<String, f64>,
    share: f64,
    confidence: f64,
}

/// Acknowledgments wait in a queue on the way back, although the way of the data has room.
pub(super) fn ack_path_full(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk {
        return None;
    }
    let mut back = stamped_queue(facts)
        .or_else(|| echoed_queue(facts))
        .or_else(|| spaced_acks(facts))
        .or_else(|| rare_acks(facts))
        .or_else(|| clocked::clocked_queue(facts))
        .or_else(|| arrivals::released_queue(facts))
        .or_else(|| opposite::behind_opposite(facts))
        .or_else(|| opposite::always_behind_opposite(facts))
        .or_else(|| late_stamped_queue(facts))?;
    let mut opposite = String::new();
    if let Some(against) = facts.against {
        back.evidence
            .insert("opposite_bytes_per_s".to_owned(), against.bytes_per_s);
        opposite = format!(
            " A transfer from {} to {} {} {}.",
            facts.receiver,
            facts.sender,
            if against.may_fill {
                "fills it with"
            } else {
                "passes there at"
            },
            format::rate(against.bytes_per_s)
        );
    }
    Some(Rule {
        share: back.share,
        cause: Cause::AckPathFull,
        confidence: back.confidence,
        summary: format!("{}: the way back is full.{opposite}", back.observed),
        evidence: back.evidence,
        advice: if facts.against.is_some() {
            format!(
                "Limit the transfer from {} to {} just below the rate of its link, or let the queue before that link \
                 pass acknowledgments first (tc fq_codel or cake, priority queue).",
                facts.receiver, facts.sender
            )
        } else {
            "Look for other traffic on the way back, and for its rate (an asymmetric line needs about a fiftieth of \
             the rate for acknowledgments); send acknowledgments first (priority queue), or fewer of them."
                .to_owned()
        },
        limits: &[
            Limit::PathRate,
            Limit::InFlight,
            Limit::SlowStart,
            Limit::ReceiveWindow,
            Limit::LateAck,
            Limit::SenderIdle,
        ],
        has_gain: false,
    })
}

/// The clocks that stamp packets show that most of the waiting is on the way back.
fn stamped_queue(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    stamped(facts, |back_ns, _, base_ns| back_ns >= base_ns / 2)
}

/// The shortest round trip of a capture that begins late may contain the queue. Then, near the sender, nearly all that varies waits on
/// the way back.
fn late_stamped_queue(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let is_nearly_all = |back_ns: u64, queue_ns: u64, _| back_ns * 10 >= queue_ns * 9;
    let shows_all = facts.begins_late() && !facts.model.is_near_receiver();
    stamped(facts, is_nearly_all).filter(|_| shows_all)
}

/// The same, if the wait of acknowledgments is long beside that of all packets and the shortest round trip.
fn stamped(facts: &FlowFacts<'_>, is_long: impl Fn(u64, u64, u64) -> bool) -> Option<BackQueue> {
    let (queue_ns, _) = facts.model.queue_ns?;
    let back_ns = facts.model.ack_queue_ns?;
    let base_ns = facts.least_rtt_ns.unwrap_or(0);
    // Where data waits, too, both share a medium or a line that is full: one frame or one turn of it delays either.
    let is_most = is_long(back_ns, queue_ns, base_ns)
        && back_ns * 10 >= queue_ns * MOST_TENTHS
        && back_ns >= MIN_ACK_QUEUE_NS
        && back_ns <= queue_ns + queue_ns / 4
        && facts.model.is_queued;
    let back_ns = back_ns.min(queue_ns);
    // Both ways may be full. Then the data waits, too, or arrives at the rate of its way all the time.
    let has_room = || back_ns * 10 >= queue_ns * 9 && facts.model.utilization < MAX_UTILIZATION;
    let is_clear =
        |it: OppositeTransfer| !opposite::fills_both_ways(facts, it) && (!it.is_full || has_room());
    (is_most && facts.against.is_none_or(is_clear)).then(|| BackQueue {
        observed: format!(
            "Acknowledgments wait {} (median) on the way from {} back to {}, of {} that all packets wait",
            format::time(back_ns),
            facts.receiver,
            facts.sender,
            format::time(queue_ns),
        ),
        evidence: evidence([
            ("ack_queue_ns_p50", back_ns as f64),
            ("queue_ns_p50", queue_ns as f64),
            ("base_rtt_ns", base_ns as f64),
        ]),
        share: 1.0 - stats::ratio(base_ns as f64, (base_ns + queue_ns) as f64),
        confidence: 0.8,
    })
}

/// Near the receiver, segments echo timestamps of acknowledgments that left long before, and do not wait themselves: they
/// arrive with gaps between them, as no full way delivers them.
fn echoed_queue(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let model = &facts.model;
    let shares_path = facts.shared.is_some() || facts.is_beside_full || facts.fills_together;
    // Requests are not acknowledgments that wait.
    let is_answering = takes_turns(model);
    // All packets of a capture that begins late may have waited, in either direction.
    let is_opposed = facts.against.is_some_and(|it| it.may_fill);
    let may_wait_there = facts.begins_late() && !is_opposed;
    if !model.is_near_receiver() || model.is_queued || shares_path || is_answering || may_wait_there
    {
        return None;
    }
    let base_ns = model.to_sender.base_ns()?;
    let waits = unreceived_ns(facts, base_ns);
    if waits.len() < MIN_ECHOES || model.utilization >= MAX_UTILIZATION {
        return None;
    }
    let queue_ns = percentile(waits, 50)?;
    // What arrives with gaps may wait for turns that its way gives it.
    let data_waits = model.data_delay_ns.is_some_and(|ns| ns * 2 >= queue_ns);
    if queue_ns < MIN_ACK_QUEUE_NS.max(base_ns) || data_waits {
        return None;
    }
    Some(BackQueue {
        observed: format!(
            "When {} sends its segments, acknowledgments that left {} before (median) have not reached it, although a round \
             trip takes {}, and the segments arrive with gaps between them",
            facts.sender,
            format::time(base_ns + queue_ns),
            format::time(base_ns),
        ),
        evidence: evidence([
            ("echo_ns_p50", (base_ns + queue_ns) as f64),
            ("base_rtt_ns", base_ns as f64),
            ("queue_ns_p50", queue_ns as f64),
        ]),
        share: 1.0 - stats::ratio(base_ns as f64, (base_ns + queue_ns) as f64),
        confidence: 0.7,
    })
}

/// For each segment, the time beyond a round trip since the first acknowledgment that its sender had not received: it echoes
/// the timestamp of the last one that it had (RFC 7323 section 4.3), whether its program was idle meanwhile or not.
fn unreceived_ns(facts: &FlowFacts<'_>, base_ns: u64) -> Vec<u64> {
    let view = &facts.model.view;
    let acks: Vec<_> = view.acks.iter().filter(|it| it.timestamp != 0).collect();
    let echoes = view.sent.iter().filter(|it| it.echo != 0);
    echoes
        .map(|sent| {
            let is_received = |stamp: u32| stamp.wrapping_sub(sent.echo) as i32 <= 0;
            let next = acks.partition_point(|ack| is_received(ack.timestamp));
            let since_ns = acks
                .get(next)
                .map_or(0, |ack| sent.time_ns.saturating_sub(ack.time_ns));
            since_ns.saturating_sub(base_ns)
        })
        .collect()
}

/// Near the sender, acknowledgments come at one interval, whatever they acknowledge.
fn spaced_acks(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let interval = facts.model.ack_interval?;
    // A way of the data that is full loses data again and again. A way back that is full loses acknowledgments at most.
    if facts.model.view.lost() >= MIN_LOST && repeats::is_spread(facts) {
        return None;
    }
    let (queue_ns, _) = facts.model.queue_ns.filter(|_| facts.model.is_queued)?;
    let base_ns = facts.model.base_rtt_ns();
    let base_ns = base_ns.or(facts.model.to_receiver.base_ns())?;
    // The shortest round trip of a capture that begins late may contain the queue.
    let visible_ns = if facts.begins_late() { 0 } else { base_ns / 2 };
    let least_ns = MIN_ACK_QUEUE_NS.max(visible_ns).max(2 * interval.ns);
    if facts.model.is_near_receiver() || queue_ns < least_ns {
        return None;
    }
    // Each copy takes the time of its segment, and is acknowledged, too.
    if order::duplicates(facts).is_some() {
        return None;
    }
    let [few, many] = interval.counts;
    Some(BackQueue {
        observed: format!(
            "For {} of the time, acknowledgments arrive every {}, whether for a few segments ({} times) or for at least \
             twice as many ({} times), although a path full of data takes twice as long for those",
            format::percent(interval.share_of_time),
            format::time(interval.ns),
            format::count(few as u64),
            format::count(many as u64),
        ),
        evidence: evidence([
            ("ack_interval_ns", interval.ns as f64),
            ("ack_interval_share", interval.share_of_time),
            ("intervals_of_few_segments", few as f64),
            ("intervals_of_more_segments", many as f64),
            ("queue_ns_p50", queue_ns as f64),
            ("base_rtt_ns", base_ns as f64),
        ]),
        share: 1.0 - stats::ratio(base_ns as f64, (base_ns + queue_ns) as f64),
        confidence: 0.75,
    })
}

/// Near the sender, acknowledgments come at one interval, also while losses are repaired, in which the way of the data passes many
/// segments: it carried them before, so that what is in flight does not wait there for so long.
fn rare_acks(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    if facts
        .against
        .is_some_and(|it| opposite::shares_line(facts, it))
    {
        return None;
    }
    let (fastest, base_ns) = (facts.fastest()?, facts.model.base_rtt_ns()?);
    let passes_ns = |octets: u64| (octets as f64 * 1e9 / fastest) as u64;
    let bare = facts.model.view.acks.iter().filter(|it| it.is_bare);
    let times: Vec<u64> = bare.map(|it| it.time_ns).collect();
    let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    // Half of the time passes in shorter ones.
    let half_ns = gaps.iter().sum::<u64>() / 2;
    let mut passed_ns = 0;
    let usual_ns = *gaps.iter().find(|ns| {
        passed_ns += **ns;
        passed_ns >= half_ns
    })?;
    let equal: Vec<u64> = gaps
        .into_iter()
        .filter(|ns| ns.abs_diff(usual_ns) <= usual_ns / EQUAL_PART)
        .collect();
    let share = facts.share_of(equal.iter().sum());
    let waited_ns = facts
        .model
        .to_receiver
        .percentile(50)?
        .checked_sub(base_ns)?;
    let most = facts.model.flights().into_iter().max().unwrap_or(0);
    let is_rare = usual_ns >= RARE_SEGMENTS * passes_ns(facts.full);
    // An interval of the receiver's own delays an acknowledgment by one of them at most.
    let is_queued = waited_ns >= MIN_ACK_QUEUE_NS.max(MIN_INTERVALS * usual_ns)
        && waited_ns >= 2 * passes_ns(most);
    let is_shown = equal.len() >= MIN_EQUAL && share >= MIN_EQUAL_SHARE;
    (!facts.model.is_near_receiver() && is_rare && is_queued && is_shown).then(|| BackQueue {
        observed: format!(
            "For {} of the time, acknowledgments arrive every {}, whatever they acknowledge, {} (median) later than on an empty \
             path; the way of the data passed a segment in {} before",
            format::percent(share),
            format::time(usual_ns),
            format::time(waited_ns),
            format::time(passes_ns(facts.full)),
        ),
        evidence: evidence([
            ("ack_interval_ns", usual_ns as f64),
            ("ack_interval_share", share),
            ("queue_ns_p50", waited_ns as f64),
            ("base_rtt_ns", base_ns as f64),
            ("segment_ns", passes_ns(facts.full) as f64),
        ]),
        share: 1.0 - stats::ratio(base_ns as f64, (base_ns + waited_ns) as f64),
        confidence: 0.7,
    })
}

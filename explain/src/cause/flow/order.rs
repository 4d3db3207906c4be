//! Segments that overtake each other, or arrive twice.

use super::facts::FlowFacts;
use super::rate;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{DirectionView, Limit, Transmission};
use linerate_capture::tcp::PacketClass;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A path that exchanges fewer segments rarely does so by the three places that look like a loss (RFC 5681 section 3.2).
const MIN_REORDERED: f64 = 0.01;
/// Reordering that costs less of the time, and makes the sender repeat nothing, does not matter.
const MIN_REORDERING_COST: f64 = 0.04;
/// A path that is full for a larger share of the time would hardly be faster, whatever makes up the rest.
const NEARLY_FULL: f64 = 0.85;
/// So many segments that arrive behind a gap make a sender repeat what it lacks (RFC 5681 section 3.2).
const MIN_PLACES: usize = 3;
/// Segments between a packet and its copy at most.
const MOST_BETWEEN: usize = 8;
/// Fewer packets may be chance.
const MIN_COUNT: u64 = 10;

pub(super) const ADVICE: &str = "Several queues or links carry one connection: keep each connection on one of them. A stack that drops \
                                 out-of-order segments (smoltcp, lwIP with TCP_QUEUE_OOSEQ=0) has them all retransmitted.";

/// Segments that later ones overtook, before the capture point or after it.
pub(super) fn overtaken(facts: &FlowFacts<'_>) -> u64 {
    let view = &facts.model.view;
    if view.is_numbered && facts.model.is_near_receiver() {
        return view.overtaken_before();
    }
    view.overtaken().max(facts.stats().reordered_after_capture)
}

/// True if hardly any segment was overtaken by so many that its sender would repeat it.
fn is_tolerated(facts: &FlowFacts<'_>) -> bool {
    let sent = &facts.model.view.sent;
    let is_far = |at: &usize| {
        let before = sent[..*at].iter().rev().take(MOST_BETWEEN);
        let overtook = before.filter(|it| it.start >= sent[*at].end);
        sent[*at].class == PacketClass::Reordered && overtook.count() >= MIN_PLACES
    };
    let far = (0..sent.len()).filter(is_far).count();
    stats::ratio(far as f64, sent.len() as f64) < MIN_REORDERED
}

/// Segments that the sender repeated needlessly, as the receiver reports or the time of its answer shows.
fn needless(view: &DirectionView) -> u64 {
    let answered = view.overtaken() - view.overtaken_before();
    answered.max(view.dsacks())
}

pub(super) fn reordering(facts: &FlowFacts<'_>) -> Option<Rule> {
    let stats = facts.stats();
    let overtaken = overtaken(facts);
    let lost = facts.model.view.lost();
    let part = stats::ratio(overtaken as f64, stats.segments as f64);
    if overtaken < MIN_COUNT || part < 0.003 || overtaken < 2 * lost || duplicates(facts).is_some()
    {
        return None;
    }
    let share = facts.share(Limit::FastRecovery)
        + facts.share(Limit::InFlight)
        + facts.share(Limit::Timeout);
    // Adapters with several queues, and captures of them, exchange segments that the receiver puts back in order.
    let is_cheap = share < MIN_REORDERING_COST && (part < MIN_REORDERED || is_tolerated(facts));
    let is_full = rate::busy_share(facts) >= NEARLY_FULL;
    if (is_cheap || is_full) && needless(&facts.model.view) < MIN_COUNT {
        return None;
    }
    Some(Rule {
        share: share.max(0.05),
        cause: Cause::Reordering,
        confidence: 0.85,
        summary: format!(
            "{} of {} segments arrived after segments sent later.",
            format::count(overtaken),
            format::count(stats.segments),
        ),
        evidence: evidence([
            ("out_of_order", overtaken as f64),
            ("segments", stats.segments as f64),
        ]),
        advice: ADVICE.to_owned(),
        limits: &[
            Limit::FastRecovery,
            Limit::InFlight,
            Limit::SlowStart,
            Limit::Timeout,
        ],
        has_gain: false,
    })
}

/// The same segment, twice within a time in which no sender repeats it.
pub(super) fn duplicates(facts: &FlowFacts<'_>) -> Option<Rule> {
    let view = &facts.model.view;
    let rtt_ns = facts.model.base_rtt_ns().unwrap_or(0).max(1_000_000);
    let mut count = view.copies;
    // Without the numbers of packets, a copy is what no sender repeats so soon.
    for (at, sent) in view.sent.iter().enumerate() {
        let is_candidate = !view.is_numbered
            && sent.is_retransmission()
            && sent.class != PacketClass::TimeoutRetransmission;
        // A copy has the time stamp of its original, too.
        let is_copy_of = |it: &Transmission| {
            it.start == sent.start
                && it.end == sent.end
                && it.timestamp == sent.timestamp
                && sent.time_ns - it.time_ns < rtt_ns / 2
        };
        let mut before = view.sent[..at].iter().rev().take(MOST_BETWEEN);
        count += u64::from(is_candidate && before.any(is_copy_of));
    }
    // Before the duplication, only the receiver's reports show it.
    let repeated = view.sent.iter().filter(|it| it.is_retransmission()).count() as u64;
    let reported = view.dsacks();
    let is_reported = reported >= MIN_COUNT && reported > 2 * repeated;
    let count = if is_reported {
        reported.max(count)
    } else {
        count
    };
    // Some may have arrived more than twice.
    let part = stats::ratio(count as f64, view.sent.len() as f64).min(1.0);
    (count >= MIN_COUNT && part >= 0.01).then(|| Rule {
        share: part,
        cause: Cause::DuplicateFrames,
        confidence: 0.85,
        summary: format!(
            "{} copies arrived of {} segments that {} did not repeat.",
            format::count(count),
            format::count(view.sent.len() as u64),
            facts.sender,
        ),
        evidence: evidence([
            ("duplicates", count as f64),
            ("segments", view.sent.len() as f64),
        ]),
        advice: "Look for a loop or a second path between the switches (spanning tree), a mirror port that copies both \
                 directions, a driver that transmits a descriptor twice."
            .to_owned(),
        limits: &[],
        has_gain: false,
    })
}

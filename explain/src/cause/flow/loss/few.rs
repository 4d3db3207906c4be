//! A congestion window that few losses reduced, or few segments that were taken for lost.

use super::{Losses, is_rare};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::order;
use crate::cause::flow::rule::Rule;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;

/// One loss may be anything; a queue that overflows again and again loses more.
const MIN_LOST: u64 = 2;
/// One that is overtaken may be chance; each halves the window (RFC 5681 section 3.2).
const MIN_OVERTAKEN: u64 = 3;

/// The reason of a congestion window that limits the sender: the losses that reduced it, if there are any. A window that grows until a
/// queue overflows loses a segment in each of its cycles (RFC 5681 section 3.1), and a part of a transfer contains few of them.
pub(in crate::cause::flow) fn reason_of_window(facts: &FlowFacts<'_>, rule: Rule) -> Rule {
    // From its beginning on, a transfer whose window mostly grows as in slow start has not reached any queue.
    let is_reduced =
        facts.begins_late() || facts.share(Limit::InFlight) > facts.share(Limit::SlowStart);
    let losses = Losses::of(facts);
    let overtaken = order::overtaken(facts);
    if rule.cause == Cause::CongestionWindow
        && is_reduced
        && overtaken >= MIN_OVERTAKEN.max(2 * losses.lost)
    {
        return taken_for_lost(facts, rule, overtaken);
    }
    let is_few = losses.lost >= MIN_LOST && is_rare(facts);
    if rule.cause != Cause::CongestionWindow || !is_reduced || !is_few {
        return rule;
    }
    let mut evidence = rule.evidence;
    evidence.insert("lost_segments".to_owned(), losses.lost as f64);
    evidence.insert("segments".to_owned(), losses.segments as f64);
    evidence.insert("loss_rate".to_owned(), losses.rate());
    Rule {
        cause: Cause::ShallowQueue,
        confidence: 0.6,
        summary: format!(
            "{} {} of {} segments were lost: as few as a window loses that grows until the queue before the slowest link overflows.",
            rule.summary,
            format::count(losses.lost),
            format::count(losses.segments),
        ),
        evidence,
        advice: "Give the queue before the slowest link room for the rate times the round trip (switch port, tc limit, transmit \
                 ring), or pace the sender."
            .to_owned(),
        has_gain: false,
        ..rule
    }
}

/// Segments that arrived after later ones, and that the sender took for lost.
fn taken_for_lost(facts: &FlowFacts<'_>, rule: Rule, overtaken: u64) -> Rule {
    let segments = facts.stats().segments;
    let mut evidence = rule.evidence;
    evidence.insert("out_of_order".to_owned(), overtaken as f64);
    evidence.insert("segments".to_owned(), segments as f64);
    Rule {
        cause: Cause::Reordering,
        confidence: 0.6,
        summary: format!(
            "{} {} of {} segments arrived after later ones: for each that it takes for lost, {} halves its window.",
            rule.summary,
            format::count(overtaken),
            format::count(segments),
            facts.sender,
        ),
        evidence,
        advice: order::ADVICE.to_owned(),
        has_gain: false,
        ..rule
    }
}

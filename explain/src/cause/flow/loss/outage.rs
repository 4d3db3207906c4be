//! Nothing passes: for a while, or above a size.

use super::MIN_COST;
use crate::cause::flow::facts::{FlowClass, FlowFacts};
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span};
use linerate_results::format;
use linerate_results::record::Cause;

/// A longer silence of both ends is an interruption, not a loss.
const INTERRUPTION_NS: u64 = 400_000_000;
/// Two timeouts in a row take 600 ms at least (RFC 6298 with the usual minimum of 200 ms).
const SILENCE_NS: u64 = 580_000_000;

/// One or two long silences of both ends, with hardly any loss otherwise.
pub(super) fn interrupted(facts: &FlowFacts<'_>) -> Option<Rule> {
    let long: Vec<&Span> = facts
        .model
        .spans
        .iter()
        .filter(|span| span.limit == Limit::Timeout && span.ns() >= INTERRUPTION_NS)
        .collect();
    let longest = long.iter().max_by_key(|span| span.ns())?;
    if facts.class != FlowClass::Bulk {
        return None;
    }
    let other_timeouts = facts.share(Limit::Timeout) - facts.share_of(longest.ns());
    // Several timeouts in a row, or, near the receiver, nothing for as long as these take.
    let is_silent = facts.stats().max_backoff >= 2 || longest.ns() >= SILENCE_NS;
    if !is_silent || other_timeouts > 0.02 || facts.share_of(longest.ns()) < MIN_COST {
        return None;
    }
    Some(Rule {
        share: facts.share_of(longest.ns()),
        cause: Cause::LinkInterrupted,
        confidence: 0.8,
        summary: format!(
            "Nothing passed for {}, from {} after the beginning on. Before and after it, hardly anything was lost.",
            format::time(longest.ns()),
            format::time(longest.start_ns),
        ),
        evidence: evidence([
            ("interruption_ns", longest.ns() as f64),
            ("interruption_start_ns", longest.start_ns as f64),
            ("time_outs", facts.stats().time_outs as f64),
        ]),
        advice: "Look for a lost link at that time: kernel log (link is down), the PHY's status register, roaming, a \
                 loose connector, a reset of one end. The sender resumed only when its retransmission timer expired."
            .to_owned(),
        limits: &[Limit::Timeout],
        has_gain: true,
    })
}

/// Only segments above a size are lost, always.
pub(super) fn mtu_black_hole(facts: &FlowFacts<'_>) -> Option<Rule> {
    let sent = &facts.model.view.sent;
    let is_retransmitted = |len: u32| {
        sent.iter()
            .filter(|it| it.len == len && it.is_retransmission())
            .count()
    };
    let full = facts.full as u32;
    let repeated = is_retransmitted(full);
    let acked = facts.model.view.acks.last()?.ack;
    // No full segment was ever acknowledged, smaller ones were.
    let first_full = sent.iter().find(|it| it.len == full)?;
    let full_acked = facts
        .model
        .view
        .acks
        .iter()
        .any(|it| it.ack >= first_full.end);
    let smaller_passed = sent
        .iter()
        .any(|it| it.len > 0 && it.len < full && it.end <= acked);
    let timeouts = facts.share(Limit::Timeout) + facts.share(Limit::FastRecovery);
    if full_acked || repeated < 3 || timeouts < 0.5 || full < 500 {
        return None;
    }
    Some(Rule {
        share: timeouts,
        cause: Cause::MtuBlackHole,
        confidence: if smaller_passed { 0.85 } else { 0.6 },
        summary: format!(
            "No segment of {} B was ever acknowledged, although it was sent {} times{}.",
            format::count(facts.full),
            format::count(repeated as u64 + 1),
            if smaller_passed { "; smaller ones were" } else { "" },
        ),
        evidence: evidence([
            ("segment_bytes", facts.full as f64),
            ("transmissions", repeated as f64 + 1.0),
            ("time_out_share", timeouts),
        ]),
        advice: "A link on the path carries smaller packets only, and the ICMP message that says so does not arrive: \
                 set the MTU or MSS to its size (TCP_MSS; ip route ... advmss), or let ICMP type 3 code 4 pass."
            .to_owned(),
        limits: &[Limit::Timeout],
        has_gain: false,
    })
}

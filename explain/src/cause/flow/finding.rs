//! What a rule found in a connection, as a finding: with the packets and the figures of the connection.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::alternative;
use super::facts::FlowFacts;
use super::opening;
use super::rule::Rule;
use crate::cause::scored::ALTERNATIVE;
use linerate_capture::model::{Limit, Span};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// A handshake that takes longer than this multiple of a round trip was held up.
const SLOWER_HANDSHAKE: f64 = 1.5;
/// Fewer round trips may be those of other packets.
const MIN_ROUND_TRIPS: usize = 3;
/// Shares of the time are those after the opening; an opening that takes less of the whole time is not mentioned.
const MIN_OPENING: f64 = 0.05;

/// The advice of a rule, unless it puts more in flight than the receiver or a queue has room for.
fn advice(facts: &FlowFacts<'_>, rule: &Rule, beside: &[Cause]) -> String {
    let adds = matches!(
        rule.cause,
        Cause::ReceiveWindow
            | Cause::NoWindowScaling
            | Cause::SendBuffer
            | Cause::OneInFlight
            | Cause::LateAcks
    );
    if adds && facts.loses_the_second() {
        return format!(
            "Do not put more in flight before {} accepts a frame while it processes the previous one (more receive \
             buffers, a shorter receive interrupt): now it loses most segments that follow another one closely.",
            facts.receiver
        );
    }
    let overflows = [Cause::QueueOverflow, Cause::ShallowQueue];
    if adds && beside.iter().any(|it| overflows.contains(it)) {
        return "Do not put more in flight before the queue that overflows has room for it: now it loses what exceeds its \
                room."
            .to_owned();
    }
    rule.advice.clone()
}

/// The other explanation of the time that `rule` explains.
pub(super) fn alternative(facts: &FlowFacts<'_>, rule: &Rule) -> Option<Finding> {
    let other = alternative::alternative(facts, rule)?;
    // The figures are those of the first explanation; where to look is the same.
    let mut evidence = rule.evidence.clone();
    evidence.retain(|name, _| name.ends_with("_packet"));
    add_packets(facts, rule.limits, &mut evidence);
    let first_packet = facts.connection().first_packet;
    evidence.insert("connection_packet".to_owned(), first_packet as f64);
    Some(Finding {
        cause: other.cause,
        confidence: ALTERNATIVE,
        summary: other.summary.to_owned(),
        evidence,
        advice: other.advice.to_owned(),
    })
}

pub(super) fn finding(facts: &FlowFacts<'_>, rule: Rule, beside: &[Cause]) -> Finding {
    let advice = advice(facts, &rule, beside);
    let mut evidence = rule.evidence;
    let mut summary = rule.summary;
    // Of several connections, the one that is described.
    let first_packet = facts.connection().first_packet;
    evidence.insert("connection_packet".to_owned(), first_packet as f64);
    if facts.model.is_truncated {
        let packets = facts.connection().log().packets().len() as u64;
        evidence.insert("explained_packets".to_owned(), packets as f64);
        let _ = write!(
            summary,
            " (These are the figures of the first {} packets of the connection.)",
            format::count(packets)
        );
    }
    // Beside a slow opening, shares of the time after it add up to more than all.
    let opening_ns = facts.model.time_ns(Limit::Handshake);
    let is_of_answers = matches!(rule.cause, Cause::ServerThinkTime | Cause::ClientThinkTime);
    let has_share = summary.contains("% of the time");
    if let Some(hang_ns) = opening::hang_ns(facts.flow).filter(|_| has_share) {
        evidence.insert(opening::HANG_NS.to_owned(), hang_ns as f64);
        let _ = write!(
            summary,
            " (That leaves out the {} after the last request, which was not answered.)",
            format::time(hang_ns),
        );
    } else if has_share
        && !is_of_answers
        && stats::ratio(opening_ns as f64, (opening_ns + facts.active_ns) as f64) >= MIN_OPENING
    {
        evidence.insert("opening_ns".to_owned(), opening_ns as f64);
        evidence.insert("active_ns".to_owned(), facts.active_ns as f64);
        let _ = write!(
            summary,
            " (Shares are of the {} after the first {}.)",
            format::time(facts.active_ns),
            format::time(opening_ns),
        );
    }
    if let Some(handshake_ns) = slow_handshake_ns(facts, &evidence) {
        evidence.insert("handshake_rtt_ns".to_owned(), handshake_ns as f64);
        let _ = write!(
            summary,
            " (The handshake took {}: something else was late then, such as the resolution of an address.)",
            format::time(handshake_ns),
        );
    }
    add_packets(facts, rule.limits, &mut evidence);
    Finding {
        cause: rule.cause,
        confidence: if facts.model.is_truncated {
            rule.confidence.min(0.8)
        } else {
            rule.confidence
        },
        summary,
        evidence,
        advice,
    }
}

/// Duration of the handshake, if the round trip of the transfer is much shorter, as several segments show: then it is not
/// that of the path.
fn slow_handshake_ns(facts: &FlowFacts<'_>, evidence: &BTreeMap<String, f64>) -> Option<u64> {
    let rtt_ns = *evidence.get("rtt_ns")?;
    let handshake = facts.connection().handshake();
    let handshake_ns = handshake.rtt_ns()?;
    let legs_ns = handshake.legs_ns()?;
    let model = &facts.model;
    let ends = [model.data_sender.other(), model.data_sender];
    let trips = [&model.to_receiver, &model.to_sender];
    let mut sides = ends.into_iter().zip(trips);
    let is_shown = sides.any(|(end, trips)| {
        let is_greeted = end == model.data_sender && model.greeting_ns.is_some();
        let is_seen = is_greeted || trips.count() >= MIN_ROUND_TRIPS;
        let least_ns = trips.base_ns().filter(|_| is_seen);
        least_ns.is_some_and(|ns| ns * 2 < legs_ns[end as usize])
    });
    (is_shown && rtt_ns * SLOWER_HANDSHAKE < handshake_ns as f64).then_some(handshake_ns)
}

/// Adds the packets that end the time which a finding explains: the first, the last, and the one after the longest time.
fn add_packets(facts: &FlowFacts<'_>, limits: &[Limit], evidence: &mut BTreeMap<String, f64>) {
    let around = [Limit::Handshake, Limit::Tail];
    let is_of = |limit: &Limit| match limits {
        // What costs this transfer nothing can be seen at all times.
        [] => !around.contains(limit),
        limits => limits.contains(limit),
    };
    let of_reason = |span: &&Span| is_of(&span.limit) && span.number > 0;
    let spans: Vec<&Span> = facts.model.spans.iter().filter(of_reason).collect();
    let longest = spans.iter().max_by_key(|span| span.ns());
    let packets = [
        ("first_packet", spans.first()),
        ("last_packet", spans.last()),
        ("worst_packet", longest),
    ];
    for (name, span) in packets {
        if let Some(span) = span {
            evidence
                .entry(name.to_owned())
                .or_insert(span.number.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::synthetic::{MS, MSS, Script};
    use linerate_capture::tcp::End;

    #[test]
    fn no_larger_window_is_advised_beside_a_queue_that_overflows() {
        let mut upload = Script::open(End::First, 4 * MS, MS / 50, 60_000);
        upload.send(10, MSS, MS).ack_all();
        let flow = upload.flow();
        let facts = FlowFacts::of(&flow).expect("payload");
        let rule = Rule {
            share: 0.5,
            cause: Cause::ReceiveWindow,
            confidence: 0.9,
            summary: String::new(),
            evidence: BTreeMap::new(),
            advice: "Enlarge the receive buffer.".to_owned(),
            limits: &[],
            has_gain: true,
        };
        assert_eq!(advice(&facts, &rule, &[Cause::RandomLoss]), rule.advice);
        let other = advice(&facts, &rule, &[Cause::ReceiveWindow, Cause::QueueOverflow]);
        assert!(other.starts_with("Do not put more in flight"), "{other}");
    }
}

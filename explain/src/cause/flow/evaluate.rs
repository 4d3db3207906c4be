//! The causes of one connection: what the rules find, without what something else that they find explains.

use super::cost::MIN_COST_NS;
use super::facts::FlowFacts;
use super::full_line::PathUse;
use super::rule::{Rule, is_generic, is_loss, is_of_transfers};
use super::{
    ack_path, acks, exchange, idle, in_bursts, in_flight, loss, nagle, order, path, rate, sender,
    standstill, window,
};
use linerate_capture::model::Limit;
use linerate_results::record::Cause;

type RuleFn = fn(&FlowFacts<'_>) -> Option<Rule>;

/// The rules.
const RULES: [RuleFn; 16] = [
    standstill::standstills,
    loss::losses,
    order::reordering,
    order::duplicates,
    path::bufferbloat,
    ack_path::ack_path_full,
    path::small_mss,
    nagle::delayed_ack_with_nagle,
    acks::wake_up_latency,
    exchange::server_think_time,
    exchange::client_think_time,
    exchange::requests_in_turn,
    window::receive_window,
    acks::stretch_acks,
    acks::late_acks,
    sender::sender,
];

/// A path that carries its fastest rate for this share of the time is the limit.
const MIN_FULL: f64 = 0.5;

/// The causes found in one connection, the largest first; none explains time that a larger one explains.
pub(super) fn evaluate(facts: &FlowFacts<'_>) -> Vec<Rule> {
    let mut found: Vec<Rule> = RULES.iter().filter_map(|rule| rule(facts)).collect();
    let is_bloated = found.iter().any(|rule| rule.cause == Cause::Bufferbloat);
    let limit = rate::path_rate(facts, is_bloated);
    // Less than a person notices. The time before an answer is no part of the active time.
    found.retain(|rule| {
        rule.limits.is_empty()
            || rule.cause == Cause::ServerThinkTime
            || rule.share * facts.active_ns as f64 >= MIN_COST_NS
    });
    standstill::leave_losses(&mut found);
    let path = PathUse::of(facts, limit.as_ref());
    found.retain(|rule| !path.leaves_nothing_to(rule.cause));
    let limit = limit.filter(|_| !found.iter().any(|rule| sets_rate(facts, rule)));
    leave_to_full_way_back(&mut found);
    leave_to_queue_or_interruption(&mut found);
    leave_to_full_path(facts, limit.as_ref(), &mut found);
    leave_to_dialogue(facts, &mut found);
    leave_to_stops(&mut found);
    leave_to_reasons(&mut found);
    leave_to_copies(&mut found);
    let kept = without_explained(found).into_iter();
    let mut kept: Vec<Rule> = kept
        .map(|rule| loss::reason_of_window(facts, rule))
        .collect();
    if limit.is_some() {
        kept.retain(|rule| !path::is_bearable(rule));
    }
    kept.extend(limit.filter(|_| !(rate::is_steady(facts) && kept.iter().any(sets_pace))));
    if kept.is_empty() {
        kept.extend(in_bursts::in_bursts(facts));
    }
    kept
}

fn is_back_full(rule: &Rule) -> bool {
    rule.cause == Cause::AckPathFull
}

/// True for a cause that makes what passes look like the rate of the path.
fn sets_rate(facts: &FlowFacts<'_>, rule: &Rule) -> bool {
    // Behind a full receive buffer, it is that of the program that reads.
    let is_read = rule.cause == Cause::ReceiverReadsSlowly && rule.share >= MIN_FULL;
    // Whoever waits for each acknowledgment sets an even pace, too.
    let is_lone = rule.cause == Cause::OneInFlight && rate::is_steady(facts);
    is_back_full(rule) || is_read || is_lone
}

/// True where the receiver's window or the program sets the pace: nothing else does.
fn sets_pace(rule: &Rule) -> bool {
    let is_pace = matches!(
        rule.cause,
        Cause::OneInFlight
            | Cause::SillyWindow
            | Cause::ReceiveWindow
            | Cause::NoWindowScaling
            | Cause::SendBuffer
    );
    is_pace && (rule.share >= MIN_FULL || rule.cause == Cause::SillyWindow)
}

/// Late acknowledgments look like a sender without data, a small buffer or a small window, and more in flight only lengthens
/// the queue.
fn leave_to_full_way_back(found: &mut Vec<Rule>) {
    let Some(waits) = found
        .iter()
        .find(|rule| is_back_full(rule))
        .map(|rule| rule.share)
    else {
        return;
    };
    let is_result = |cause: Cause| {
        matches!(
            cause,
            Cause::SendBuffer | Cause::HostPacing | Cause::StretchAcks
        )
    };
    found.retain(|rule| !is_generic(rule.cause) && !is_result(rule.cause));
    // Each repair takes a round trip, which is that much longer.
    for rule in found {
        if rule.evidence.contains_key("repair_share") {
            rule.share *= 1.0 - waits;
        }
    }
}

fn leave_to_queue_or_interruption(found: &mut Vec<Rule>) {
    // A window or a buffer that only lengthens a queue does not limit the rate.
    let queue = found.iter().find(|rule| rule.cause == Cause::Bufferbloat);
    if let Some(queue) = queue {
        let has_enough = queue.evidence.contains_key("needed_in_flight_bytes");
        found.retain(|rule| match rule.cause {
            Cause::CongestionWindow | Cause::SendBuffer => false,
            Cause::ReceiveWindow => !has_enough,
            _ => true,
        });
    }
    // After an interruption the window grows again from one segment (RFC 5681 section 3.1).
    if found
        .iter()
        .any(|rule| rule.cause == Cause::LinkInterrupted)
    {
        found.retain(|rule| rule.cause != Cause::CongestionWindow);
    }
}

fn leave_to_full_path(facts: &FlowFacts<'_>, limit: Option<&Rule>, found: &mut Vec<Rule>) {
    // None of the transfers that fill a path together is slow by itself.
    if facts.fills_together {
        let is_of_one = |rule: &Rule| is_generic(rule.cause) || rule.cause == Cause::SendBuffer;
        found.retain(|rule| !is_of_one(rule) && !is_loss(rule.cause));
    }
    // On a full path, the sender has data, and acknowledgments wait in its queue.
    if limit.is_some_and(|limit| limit.share >= MIN_FULL) {
        // All was acknowledged before a long silence: no path holds anything back then.
        let is_stop = |rule: &Rule| rule.evidence.contains_key(idle::LONG_SILENCES);
        found.retain(|rule| {
            is_stop(rule) || !matches!(rule.cause, Cause::SenderIdle | Cause::LateAcks)
        });
    }
}

fn leave_to_dialogue(facts: &FlowFacts<'_>, found: &mut Vec<Rule>) {
    // One request at a time is how a program is written; what also goes wrong is the news.
    let is_in_turn = |rule: &Rule| rule.evidence.contains_key(exchange::REQUESTS);
    let is_stalled = |rule: &Rule| rule.cause == Cause::RetransmissionStalls;
    if found.iter().any(is_stalled) {
        found.retain(|rule| !is_in_turn(rule));
    }
    // A sender that waits for the next request has nothing to send, whatever its buffer, window or pace permits.
    if found.iter().any(is_in_turn) {
        found.retain(|rule| !is_of_transfers(rule.cause) && !is_generic(rule.cause));
    }
    // What is sent at once, whenever there is something to send, no window, buffer or pace holds back.
    if facts.is_dialogue() {
        let is_guess = |rule: &Rule| rule.evidence.contains_key(in_flight::LEAST_SCALE);
        found.retain(|rule| !is_of_transfers(rule.cause) && !is_guess(rule));
    }
    if facts.may_follow_acks() {
        found.retain(|rule| rule.cause != Cause::HostPacing);
    }
}

fn leave_to_stops(found: &mut Vec<Rule>) {
    // An end that sleeps after each silence stands still, and makes its peer retransmit.
    let wakes = found.iter().filter(|it| it.cause == Cause::WakeUpLatency);
    let woken = wakes.map(|it| it.share).fold(0.0, f64::max);
    found.retain(|rule| {
        let is_result = matches!(
            rule.cause,
            Cause::ReceiverStalls | Cause::RetransmissionStalls
        );
        !is_result || rule.share > 1.5 * woken
    });
    // What is sent while the receiver works on a block waits for it, in no queue of the path.
    let works = |rule: &Rule| rule.evidence.contains_key(standstill::STOP);
    if found.iter().any(works) {
        found.retain(|rule| rule.cause != Cause::Bufferbloat);
    }
    // A larger window only puts more into the queue of a receiver that stands still at intervals, which has to hold all of
    // it: the sentence about its stops names the window, too. After each stop the congestion window grows again from one segment (RFC 5681
    // section 3.1), whatever the sender's buffer or pace permits.
    if found.iter().any(is_standing_still) {
        found.retain(|rule| rule.cause != Cause::ReceiveWindow && !is_of_transfers(rule.cause));
    }
}

/// True for a receiver that stops as a whole, not only its program, regularly.
fn is_standing_still(rule: &Rule) -> bool {
    rule.cause == Cause::ReceiverStalls
        && rule.limits.contains(&Limit::Timeout)
        && rule.evidence.contains_key("period_ns")
}

/// A rule that states only what the sender waited for gives way to one that states why.
fn leave_to_reasons(found: &mut Vec<Rule>) {
    let specific: Vec<(f64, &[Limit])> = found
        .iter()
        .filter(|rule| !is_generic(rule.cause))
        .map(|rule| (rule.share, rule.limits))
        .collect();
    found.retain(|rule| {
        let is_stated = |(share, limits): &(f64, &[Limit])| {
            *share >= rule.share / 2.0 && limits.iter().any(|it| rule.limits.contains(it))
        };
        !(is_generic(rule.cause) && specific.iter().any(is_stated))
    });
}

fn leave_to_copies(found: &mut Vec<Rule>) {
    // What came again because its acknowledgment was delayed was not lost.
    let delayed = found
        .iter()
        .find(|rule| rule.cause == Cause::DelayedAckWithNagle);
    let repeated = delayed.and_then(|rule| rule.evidence.get("repeated").copied());
    found.retain(|rule| {
        let lost = rule.evidence.get("lost_segments");
        repeated
            .zip(lost)
            .is_none_or(|(repeated, lost)| repeated < *lost)
    });
    // Copies that another station made look like retransmissions.
    let figure = |rule: &Rule, name: &str| rule.evidence.get(name).copied();
    let copies = found.iter().find_map(|rule| figure(rule, "duplicates"));
    found.retain(|rule| {
        let lost = figure(rule, "lost_segments");
        copies
            .zip(lost)
            .is_none_or(|(copies, lost)| copies * 2.0 < lost)
    });
}

/// The largest first, without those of which a larger one explains the time.
fn without_explained(mut found: Vec<Rule>) -> Vec<Rule> {
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut kept: Vec<Rule> = Vec::new();
    for rule in found {
        let is_explained = kept
            .iter()
            .any(|other| other.limits.iter().any(|it| rule.limits.contains(it)));
        if !is_explained {
            kept.push(rule);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn rule(cause: Cause, limits: &'static [Limit], figure: &str) -> Rule {
        Rule {
            share: 0.4,
            cause,
            confidence: 0.8,
            summary: String::new(),
            evidence: BTreeMap::from([(figure.to_owned(), 1.0)]),
            advice: String::new(),
            limits,
            has_gain: false,
        }
    }

    fn beside_stops(figure: &str) -> Vec<Cause> {
        let stops = rule(Cause::ReceiverStalls, &[Limit::Timeout], figure);
        let others = [Cause::CongestionWindow, Cause::SendBuffer];
        let mut found: Vec<Rule> = others.map(|it| rule(it, &[Limit::InFlight], "")).into();
        found.push(stops);
        leave_to_stops(&mut found);
        found.into_iter().map(|it| it.cause).collect()
    }

    #[test]
    fn a_window_that_grows_again_behind_each_stop_is_no_cause_of_its_own() {
        assert_eq!(beside_stops("period_ns"), [Cause::ReceiverStalls]);
        assert_eq!(beside_stops("longest_ns").len(), 3, "no regular stops");
    }

    #[test]
    fn what_waits_for_a_receiver_that_works_on_a_block_fills_no_queue() {
        let has_queue = |figure: &str| {
            let stops = rule(Cause::ReceiverStalls, &[], figure);
            let mut found = vec![rule(Cause::Bufferbloat, &[Limit::PathRate], ""), stops];
            leave_to_stops(&mut found);
            found.iter().any(|it| it.cause == Cause::Bufferbloat)
        };
        assert!(!has_queue(standstill::STOP));
        assert!(has_queue("stall_ns_mean"));
    }
}

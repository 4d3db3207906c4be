//! Findings about TCP connections: each rule evaluates one connection with its model; connections between the same hosts
//! are combined.
//!
//! | module | causes |
//! |---|---|
//! | `rate` | the limit of a healthy transfer: the rate of the path |
//! | `full_line` | lines and paths that leave nothing for other causes to cost |
//! | `window`, `silly_window` | the receiver's window |
//! | `crumbs` | a window that only its sender sees |
//! | `loss` | lost segments |
//! | `sender` | the sender's program, buffer, congestion window |
//! | `idle` | a sender without data |
//! | `nagle` | segments that wait for delayed acknowledgments |
//! | `pacing` | a sender that sets its own pace |
//! | `acks` | late and rare acknowledgments |
//! | `beacons` | answers that come late at the ticks of a clock |
//! | `exchange` | requests and answers |
//! | `evenness` | rates that losses do not change |
//! | `flight` | data in flight that is the same in each round trip |
//! | `path` | queues, small segments |
//! | `order` | segments that overtake each other or arrive twice |
//! | `ack_path` | acknowledgments that wait |
//! | `opening` | connections that are not opened |
//! | `alternative` | a second explanation of the same time |
//! | `combined` | the same cause in several connections between two hosts |
//! | `cost` | what each cause costs between two hosts |
//! | `finding` | a rule's result as a finding |
//! | `facts` | what the rules evaluate |
//! | `class` | transfers, requests and answers |
//! | `clock` | programs that send at the ticks of a clock |
//! | `frame` | payload in a frame |
//! | `time_without` | the time of a transfer without a cause |
//! | `service` | a link, or a receiver, that is never idle |
//! | `serialization` | one segment in flight on a slow line |
//! | `shared` | paths that carry several connections at once |
//! | `together` | transfers that fill a path together |
//! | `repeats` | when segments come again |
//! | `rule` | the result of a rule, and kinds of causes |
//! | `rhythm` | events at intervals |
//! | `standstill` | receivers that stop at intervals |

mod ack_path;
mod acks;
mod alternative;
mod beacons;
mod class;
mod clock;
mod combined;
mod cost;
mod crumbs;
mod evenness;
mod exchange;
mod facts;
mod finding;
mod flight;
mod frame;
mod full_line;
mod idle;
mod in_flight;
mod loss;
mod nagle;
mod opening;
mod order;
mod pacing;
mod path;
mod rate;
mod repeats;
mod rhythm;
mod rule;
mod sender;
mod serialization;
mod service;
mod shared;
mod silly_window;
mod standstill;
#[cfg(test)]
mod tests;
mod time_without;
mod together;
mod window;

use class::FlowClass;
use cost::{AllTimes, MIN_COST_IN_PAGE_NS, MIN_COST_NS};
use facts::FlowFacts;
use full_line::PathUse;
use linerate_capture::model::{Limit, TimeShares};
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;
use linerate_results::stats;
pub(super) use rule::is_generic;
use rule::{Rule, is_limit, is_loss, is_of_transfers};
use std::collections::HashMap;

use crate::cause::scored::PathFinding;
use combined::CombinedFindings;

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

/// A host that has so many connections with payload fetches a page.
const MIN_IN_PAGE: usize = 4;
/// A path that carries its fastest rate for this share of the time is the limit.
const MIN_FULL: f64 = 0.5;
/// A connection with less than 1 / this of the payload of another one between the same hosts only controls it.
const CONTROL_DIVISOR: u64 = 500;

/// The reasons why the connections of `flows` are slow, largest share of the time first. Empty if nothing is wrong.
/// Also returns the time of each connection by limit.
pub(super) fn explain_flows(flows: &[Flow]) -> (Vec<PathFinding>, Vec<TimeShares>) {
    let numbered = flows.iter().enumerate();
    let facts = numbered.filter_map(|(at, flow)| Some((at, FlowFacts::among(flows, flow)?)));
    let (places, mut facts): (Vec<usize>, Vec<FlowFacts<'_>>) = facts.unzip();
    shared::share_paths(&mut facts);
    exchange::share_answers(&mut facts);
    let mut times = vec![TimeShares::default(); flows.len()];
    for (at, facts) in places.into_iter().zip(&facts) {
        times[at] = TimeShares::of(&facts.model.spans, facts.connection().start_ns);
    }
    let most = facts.iter().map(FlowFacts::bytes).max().unwrap_or(0);
    let bulk = facts.iter().filter(|it| it.class == FlowClass::Bulk);
    let bulk: Vec<&FlowFacts<'_>> = bulk.collect();
    let matters = |it: &&FlowFacts<'_>| {
        it.bytes() >= most / CONTROL_DIVISOR
            || it.class == FlowClass::Exchange && !is_beside_bulk(it, &bulk)
    };
    let relevant: Vec<&FlowFacts<'_>> = facts
        .iter()
        .filter(|it| matters(it) && !opening::has_failed(it.flow))
        .collect();
    let mut received: HashMap<&String, usize> = HashMap::new();
    for facts in &facts {
        *received.entry(&facts.receiver).or_default() += 1;
    }
    let mut all: Vec<PathFinding> = opening::openings(flows);
    // What is left of the time for everything else.
    let opened = all
        .iter()
        .filter(|it| it.finding.cause == Cause::SlowHandshake);
    let rest = 1.0 - opened.map(|it| it.share_of_time).sum::<f64>().min(1.0);
    let mut found: Vec<(&FlowFacts<'_>, Vec<Rule>)> =
        relevant.into_iter().map(|it| (it, evaluate(it))).collect();
    exchange::leave_parallel(&mut found);
    let costs_ns = cost::costs_ns(&found);
    let times_of_all = AllTimes::of(&found);
    let mut weighed: Vec<(&FlowFacts<'_>, Vec<(Rule, f64)>)> = Vec::new();
    for (at, (facts, mut rules)) in found.into_iter().enumerate() {
        let cost_ns = |cause: Cause| costs_ns[&(&facts.sender, &facts.receiver, cause)];
        rules.retain(|rule| {
            let is_noticed = cost_ns(rule.cause) >= MIN_COST_IN_PAGE_NS;
            let is_in_page = received[&facts.receiver] >= MIN_IN_PAGE;
            is_noticed || !is_of_transfers(rule.cause) || !is_in_page
        });
        // Rules that overlap share the time that they explain together.
        let faults = rules.iter().filter(|rule| !is_limit(rule.cause));
        let sum: f64 = faults.map(|rule| rule.share).sum();
        let weigh = |rule: Rule| {
            let together = if is_limit(rule.cause) {
                1.0
            } else {
                sum.max(1.0)
            };
            let share = times_of_all.share(at, &rule, cost_ns(rule.cause)) / together;
            (rule, share)
        };
        weighed.push((facts, rules.into_iter().map(weigh).collect()));
    }
    // Those that cost more are weighed without the pauses of others: all of them explain no more than all of the time.
    let rules = weighed.iter().flat_map(|(_, rules)| rules);
    let faults = rules.filter(|(rule, _)| !is_limit(rule.cause));
    let explained: f64 = faults.map(|(_, share)| share).sum();
    let mut combined = CombinedFindings::default();
    for (facts, rules) in weighed {
        let causes: Vec<Cause> = rules.iter().map(|(rule, _)| rule.cause).collect();
        for (rule, share) in rules {
            let at_most = if is_limit(rule.cause) {
                1.0
            } else {
                explained.max(1.0)
            };
            let part = rest * stats::ratio(share, rule.share) / at_most;
            combined.add(facts, rule, &causes, part);
        }
    }
    all.extend(combined.into_findings());
    all.extend(exchange::connections_in_turn(&facts));
    join_full_ways(&mut all);
    sort_by_cost(&mut all);
    (all, times)
}

/// The queue in which the acknowledgments of a transfer wait is that of the data in the other direction: one finding.
fn join_full_ways(all: &mut Vec<PathFinding>) {
    let delayed = all
        .iter()
        .filter(|it| it.finding.cause == Cause::AckPathFull);
    let delayed: Vec<_> = delayed
        .map(|it| (it.sender.clone(), it.receiver.clone()))
        .collect();
    all.retain(|it| {
        it.finding.cause != Cause::Bufferbloat
            || !delayed.contains(&(it.receiver.clone(), it.sender.clone()))
    });
}

/// Largest share of the time first; the limit of a healthy transfer is no fault and comes behind those between the same hosts.
pub(super) fn sort_by_cost(found: &mut [PathFinding]) {
    let faults = found.iter().filter(|it| !is_limit(it.finding.cause));
    let faulty: Vec<(Vec<String>, f64)> = faults.map(|it| (hosts(it), cost(it))).collect();
    // What concerns no hosts in particular concerns all; what costs most of the time, all that its hosts transfer.
    let is_faulty = |it: &PathFinding| {
        let own = hosts(it);
        let concerns = |(of, cost): &(Vec<String>, f64)| {
            let has_common = of.iter().any(|it| own.contains(it));
            has_common && *cost >= MIN_FULL
                || of.iter().all(|it| own.contains(it))
                || own.iter().all(|it| of.contains(it))
        };
        faulty.iter().any(concerns)
    };
    let is_last = |it: &PathFinding| is_limit(it.finding.cause) && is_faulty(it);
    found.sort_by(|a, b| {
        is_last(a)
            .cmp(&is_last(b))
            .then(cost(b).total_cmp(&cost(a)))
    });
}

/// The hosts that a finding is about.
fn hosts(found: &PathFinding) -> Vec<String> {
    let both = [&found.sender, &found.receiver];
    both.into_iter().flatten().cloned().collect()
}

/// Share of the time that would be saved, or else that the cause explains.
fn cost(found: &PathFinding) -> f64 {
    let saved = found.finding.evidence.get(combined::SAVED).copied();
    saved.unwrap_or(found.share_of_time)
}

/// True for a receiver that stops as a whole, not only its program, regularly.
fn is_standing_still(rule: &Rule) -> bool {
    rule.cause == Cause::ReceiverStalls
        && rule.limits.contains(&Limit::Timeout)
        && rule.evidence.contains_key("period_ns")
}

/// True if one of these transfers passes between the same hosts at the same time.
fn is_beside_bulk(facts: &FlowFacts<'_>, bulk: &[&FlowFacts<'_>]) -> bool {
    let hosts = |it: &FlowFacts<'_>| {
        let mut hosts = [it.flow.ends[0].0, it.flow.ends[1].0];
        hosts.sort_by_key(|address| address.0);
        hosts
    };
    let overlaps = |other: &FlowFacts<'_>| {
        let (one, other) = (facts.connection(), other.connection());
        one.start_ns <= other.end_ns && other.start_ns <= one.end_ns
    };
    let is_larger = |other: &&&FlowFacts<'_>| other.bytes() / 20 > facts.bytes();
    let larger = bulk.iter().filter(is_larger);
    larger
        .into_iter()
        .any(|other| hosts(other) == hosts(facts) && overlaps(other))
}

/// The causes found in one connection, the largest first; none explains time that a larger one explains.
fn evaluate(facts: &FlowFacts<'_>) -> Vec<Rule> {
    let mut found: Vec<Rule> = RULES.iter().filter_map(|rule| rule(facts)).collect();
    let limit = rate::path_rate(facts);
    let is_back_full = |rule: &Rule| rule.cause == Cause::AckPathFull;
    // Less than a person notices. The time before an answer is no part of the active time.
    found.retain(|rule| {
        rule.limits.is_empty()
            || rule.cause == Cause::ServerThinkTime
            || rule.share * facts.active_ns as f64 >= MIN_COST_NS
    });
    standstill::leave_losses(&mut found);
    let path = PathUse::of(facts, limit.as_ref());
    found.retain(|rule| !path.leaves_nothing_to(rule.cause));
    // Behind a full receive buffer, what looks like the rate of the path is that of the program that reads.
    let is_read = |rule: &Rule| rule.cause == Cause::ReceiverReadsSlowly && rule.share >= MIN_FULL;
    // Whoever waits for each acknowledgment sets an even pace, too.
    let is_lone = |rule: &Rule| rule.cause == Cause::OneInFlight && rate::is_steady(facts);
    let sets_rate = |rule: &Rule| is_back_full(rule) || is_read(rule) || is_lone(rule);
    let limit = limit.filter(|_| !found.iter().any(sets_rate));
    // Late acknowledgments look like a sender without data, a small buffer or a small window, and more in flight only
    // lengthens the queue.
    if found.iter().any(is_back_full) {
        let is_result = |cause: Cause| {
            matches!(
                cause,
                Cause::SendBuffer | Cause::HostPacing | Cause::StretchAcks
            )
        };
        found.retain(|rule| !is_generic(rule.cause) && !is_result(rule.cause));
        // Each repair takes a round trip, which is that much longer.
        let back = found.iter().find(|rule| is_back_full(rule));
        let waits = back.map_or(0.0, |rule| rule.share);
        for rule in &mut found {
            if rule.evidence.contains_key("repair_share") {
                rule.share *= 1.0 - waits;
            }
        }
    }
    // A window or a buffer that only lengthens a queue does not limit the rate.
    if found.iter().any(|rule| rule.cause == Cause::Bufferbloat) {
        found.retain(|rule| !matches!(rule.cause, Cause::CongestionWindow | Cause::SendBuffer));
    }
    // After an interruption the window grows again from one segment (RFC 5681 section 3.1).
    if found
        .iter()
        .any(|rule| rule.cause == Cause::LinkInterrupted)
    {
        found.retain(|rule| rule.cause != Cause::CongestionWindow);
    }
    // None of the transfers that fill a path together is slow by itself.
    if facts.fills_together {
        let is_of_one = |rule: &Rule| is_generic(rule.cause) || rule.cause == Cause::SendBuffer;
        found.retain(|rule| !is_of_one(rule) && !is_loss(rule.cause));
    }
    // On a full path, the sender has data, and acknowledgments wait in its queue.
    if limit.as_ref().is_some_and(|limit| limit.share >= MIN_FULL) {
        // All was acknowledged before a long silence: no path holds anything back then.
        let is_stop = |rule: &Rule| rule.evidence.contains_key(idle::LONG_SILENCES);
        found.retain(|rule| {
            is_stop(rule) || !matches!(rule.cause, Cause::SenderIdle | Cause::LateAcks)
        });
    }
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
    // A larger window only puts more into the queue of a receiver that stands still at intervals, which has to hold all of
    // it: the sentence about its stops names the window, too.
    if found.iter().any(is_standing_still) {
        found.retain(|rule| rule.cause != Cause::ReceiveWindow);
    }
    // A rule that states only what the sender waited for gives way to one that states why.
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
    if limit.is_some() {
        kept.retain(|rule| !path::is_bearable(rule));
    }
    // Where the receiver's window or the program sets the pace, nothing else does.
    let sets_pace = |rule: &Rule| {
        let is_pace = matches!(
            rule.cause,
            Cause::OneInFlight
                | Cause::SillyWindow
                | Cause::ReceiveWindow
                | Cause::NoWindowScaling
                | Cause::SendBuffer
        );
        is_pace && (rule.share >= MIN_FULL || rule.cause == Cause::SillyWindow)
    };
    kept.extend(limit.filter(|_| !(rate::is_steady(facts) && kept.iter().any(sets_pace))));
    kept
}

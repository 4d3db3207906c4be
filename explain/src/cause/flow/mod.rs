//! Findings about TCP connections: each rule evaluates one connection with its model; connections between the same hosts
//! are combined.
//!
//! | module | causes |
//! |---|---|
//! | `evaluate` | the causes of one connection, and which of them give way to others |
//! | `rank` | the order of findings |
//! | `rate` | the limit of a healthy transfer: the rate of the path |
//! | `shown_rate` | its sentence |
//! | `full_line` | lines and paths that leave nothing for other causes to cost |
//! | `window`, `silly_window` | the receiver's window |
//! | `crumbs` | a window that only its sender sees |
//! | `loss` | lost segments |
//! | `sender` | the sender's program, buffer, congestion window |
//! | `idle` | a sender without data |
//! | `nagle` | segments that wait for delayed acknowledgments |
//! | `pacing` | a sender that sets its own pace |
//! | `media` | pictures and sound |
//! | `acks` | late and rare acknowledgments |
//! | `beacons` | answers that come late at the ticks of a clock |
//! | `held_at_sender` | packets that wait at an end that sleeps |
//! | `exchange` | requests and answers |
//! | `evenness` | rates that losses do not change |
//! | `flight` | data in flight that is the same in each round trip |
//! | `path` | queues, small segments |
//! | `order` | segments that overtake each other or arrive twice |
//! | `own_queue` | data that waits behind data of the same transfer |
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
mod evaluate;
mod evenness;
mod exchange;
mod facts;
mod finding;
mod flight;
mod frame;
mod full_line;
mod half_duplex;
mod held_at_sender;
mod idle;
mod in_bursts;
mod in_flight;
mod in_steps;
mod loss;
mod media;
mod nagle;
mod opening;
mod order;
mod own_queue;
mod pacing;
mod path;
mod rank;
mod rate;
mod repeats;
mod rhythm;
mod rule;
mod sender;
mod serialization;
mod service;
mod shared;
mod shown_rate;
mod silly_window;
mod standstill;
#[cfg(test)]
mod tests;
mod time_without;
mod together;
mod unread;
mod window;

use class::FlowClass;
use cost::{AllTimes, MIN_COST_IN_PAGE_NS};
use evaluate::evaluate;
use facts::FlowFacts;
use in_flight::is_short_start;
use linerate_capture::model::TimeShares;
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;
use linerate_results::stats;
pub(super) use opening::counts_host;
pub(super) use rank::sort_by_cost;
pub(super) use rule::is_generic;
use rule::{Rule, is_limit, is_of_transfers};
use std::collections::HashMap;

use crate::cause::scored::PathFinding;
use combined::CombinedFindings;

/// A host that has so many connections with payload fetches a page.
const MIN_IN_PAGE: usize = 4;
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
    let hang_ns: u64 = flows.iter().filter_map(opening::hang_ns).sum();
    let times_of_all = AllTimes::of(&found, hang_ns as f64);
    let mut weighed: Vec<(&FlowFacts<'_>, Vec<(Rule, f64)>)> = Vec::new();
    for (at, (facts, mut rules)) in found.into_iter().enumerate() {
        let cost_ns = |cause: Cause| costs_ns[&(&facts.sender, &facts.receiver, cause)];
        rules.retain(|rule| {
            let is_noticed = cost_ns(rule.cause) >= MIN_COST_IN_PAGE_NS;
            let is_in_page = received[&facts.receiver] >= MIN_IN_PAGE;
            (is_noticed || !is_of_transfers(rule.cause) || !is_in_page)
                && !is_short_start(facts, rule.cause, cost_ns(rule.cause))
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
    for it in &mut all {
        if let Some(ns) = it.finding.evidence.get(opening::HANG_NS) {
            let share = times_of_all.hang_share(*ns, explained);
            it.share_of_time = it.share_of_time.max(share);
        }
    }
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

//! Paths that carry several transfers at once: each alone shows only a part of the path's rate.

use super::class::FlowClass;
use super::facts::{CommonHosts, FlowFacts, OppositeTransfer, SharedRate};
use super::rate;
use super::together;
use linerate_capture::model::{FlowModel, Window};
use std::collections::HashMap;

/// A queue is in use if segments wait at least 1 / this of the typical time.
const QUEUE_DIVISOR: u64 = 4;
/// Between two samples farther apart than this and two round trips, nothing is known.
const LONGEST_GAP_NS: u64 = 50_000_000;

/// Connections by the pair of their hosts, whichever of them sends.
struct HostPairs {
    members: Vec<Vec<usize>>,
    /// Place in `members`, by connection.
    pair_of: Vec<usize>,
}

impl HostPairs {
    fn of(facts: &[FlowFacts<'_>]) -> Self {
        let mut places: HashMap<[&str; 2], usize> = HashMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut pair_of = Vec::new();
        for (at, it) in facts.iter().enumerate() {
            let place = *places.entry(hosts(it)).or_insert(members.len());
            if place == members.len() {
                members.push(Vec::new());
            }
            members[place].push(at);
            pair_of.push(place);
        }
        Self { members, pair_of }
    }

    /// The connections between the hosts of this one that pass at the same time, with itself.
    fn beside<'a>(
        &'a self,
        facts: &'a [FlowFacts<'_>],
        at: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        let members = self.members[self.pair_of[at]].iter().copied();
        members.filter(move |other| overlap(&facts[at], &facts[*other]))
    }
}

/// Attributes the time of transfers that share a path again, with the times at which all of them fill it.
pub(super) fn share_paths(facts: &mut [FlowFacts<'_>]) {
    let pairs = HostPairs::of(facts);
    let is_transfer =
        |it: &FlowFacts<'_>| it.class == FlowClass::Bulk && it.model.fastest.is_some();
    let mut done = vec![false; facts.len()];
    for at in 0..facts.len() {
        if done[at] || !is_transfer(&facts[at]) {
            continue;
        }
        let group = pairs.beside(facts, at);
        let group: Vec<usize> = group.filter(|it| is_transfer(&facts[*it])).collect();
        for member in &group {
            done[*member] = true;
        }
        if group.len() >= 2 {
            share(facts, &group);
        }
    }
    together::fill_paths(facts);
    note_least_round_trips(facts, &pairs);
    note_full(facts, &pairs);
}

/// Notes for each connection the shortest round trip between its hosts, of all connections that pass at the same time.
fn note_least_round_trips(facts: &mut [FlowFacts<'_>], pairs: &HostPairs) {
    let base_ns: Vec<Option<u64>> = facts.iter().map(|it| it.model.base_rtt_ns()).collect();
    let least = (0..facts.len()).map(|at| {
        let beside = pairs.beside(facts, at);
        beside.filter_map(|other| base_ns[other]).min()
    });
    let least: Vec<Option<u64>> = least.collect();
    for (it, least_ns) in facts.iter_mut().zip(least) {
        it.least_rtt_ns = least_ns.or(it.least_rtt_ns);
    }
}

/// Notes for each transfer whether another one fills the path, or the way back, at the same time.
fn note_full(facts: &mut [FlowFacts<'_>], pairs: &HostPairs) {
    let of_transfers = |holds: fn(&FlowFacts<'_>) -> bool| -> Vec<bool> {
        let transfers = facts.iter();
        transfers
            .map(|it| it.class == FlowClass::Bulk && holds(it))
            .collect()
    };
    let full = of_transfers(rate::is_full);
    let fills = of_transfers(|it| rate::is_full(it) || rate::is_steady(it) || is_behind_queue(it));
    let transfers = of_transfers(|_| true);
    for at in 0..facts.len() {
        let beside = pairs
            .beside(facts, at)
            .filter(|it| *it != at && transfers[*it]);
        let (along, opposite): (Vec<usize>, Vec<usize>) =
            beside.partition(|it| facts[*it].sender == facts[at].sender);
        let may_fill = opposite.iter().any(|other| fills[*other]);
        let filling = |other: &&usize| !may_fill || fills[**other];
        let of = opposite.iter().filter(filling).map(|other| &facts[*other]);
        let against = (!opposite.is_empty()).then(|| OppositeTransfer {
            bytes_per_s: of.clone().map(FlowFacts::goodput).sum(),
            queue_ns: of.filter_map(waiting_ns).max(),
            is_full: opposite.iter().any(|other| full[*other]),
            may_fill,
        });
        facts[at].is_beside_full = along.iter().any(|other| full[*other]);
        facts[at].against = against;
    }
}

/// Median time that packets of a transfer wait in queues.
fn waiting_ns(facts: &FlowFacts<'_>) -> Option<u64> {
    let queue_ns = facts.model.queue_ns.filter(|_| facts.model.is_queued);
    queue_ns.map(|(p50, _)| p50)
}

/// True for a transfer whose packets wait longer in a queue than they travel: its way or the way back is full.
fn is_behind_queue(facts: &FlowFacts<'_>) -> bool {
    let base_ns = facts.model.base_rtt_ns();
    waiting_ns(facts)
        .zip(base_ns)
        .is_some_and(|(ns, base_ns)| ns >= base_ns)
}

/// Both hosts: transfers in opposite directions share the queues for their acknowledgments.
pub(super) fn hosts<'a>(facts: &'a FlowFacts<'_>) -> [&'a str; 2] {
    let mut hosts = [facts.sender.as_str(), facts.receiver.as_str()];
    hosts.sort_unstable();
    hosts
}

/// True if at least half of the shorter one passes at the same time as the other one.
pub(super) fn overlap(one: &FlowFacts<'_>, other: &FlowFacts<'_>) -> bool {
    let (one, other) = (one.connection(), other.connection());
    let start_ns = one.start_ns.max(other.start_ns);
    let end_ns = one.end_ns.min(other.end_ns);
    let shorter_ns = (one.end_ns - one.start_ns).min(other.end_ns - other.start_ns);
    end_ns.saturating_sub(start_ns) * 2 >= shorter_ns
}

/// Attributes the times at which segments queue to the path: several transfers fill it, none of them alone.
fn share(facts: &mut [FlowFacts<'_>], group: &[usize]) {
    if !group.iter().all(|at| facts[*at].model.is_queued) {
        return;
    }
    for at in group {
        let busy = queued(&facts[*at].model);
        facts[*at].model.set_busy(busy);
    }
    let shared: Vec<Option<SharedRate>> = group
        .iter()
        .map(|at| {
            let sender = &facts[*at].sender;
            let members = group.iter().map(|other| &facts[*other]);
            rate(
                &members
                    .filter(|it| it.sender == *sender)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    for (at, shared) in group.iter().zip(shared) {
        facts[*at].shared = shared;
    }
}

/// Payload of transfers in one direction per time in which segments of any of them wait.
fn rate(members: &[&FlowFacts<'_>]) -> Option<SharedRate> {
    let start_ns = |it: &FlowFacts<'_>| it.connection().start_ns;
    let mut busy: Vec<(u64, u64)> = Vec::new();
    for member in members {
        let windows = queued(&member.model).into_iter();
        let start_ns = start_ns(member);
        busy.extend(windows.map(|it| (start_ns + it.start_ns, start_ns + it.end_ns)));
    }
    busy.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from_ns, until_ns) in busy {
        match merged.last_mut() {
            Some(last) if from_ns <= last.1 => last.1 = last.1.max(until_ns),
            _ => merged.push((from_ns, until_ns)),
        }
    }
    let is_busy = |at_ns: u64| {
        let at = merged.partition_point(|(from_ns, _)| *from_ns <= at_ns);
        at > 0 && at_ns < merged[at - 1].1
    };
    let passed = |member: &&FlowFacts<'_>| -> u64 {
        let start_ns = start_ns(member);
        let sent = member.model.view.sent.iter();
        let sent = sent.filter(|it| is_busy(start_ns + it.time_ns));
        sent.map(|it| u64::from(it.len)).sum()
    };
    let bytes: u64 = members.iter().map(passed).sum();
    let durations = merged.iter().map(|(from_ns, until_ns)| until_ns - from_ns);
    let total_ns: u64 = durations.sum();
    (members.len() >= 2 && total_ns > 0).then(|| SharedRate {
        connections: members.len(),
        common: CommonHosts::Both,
        bytes_per_s: bytes as f64 * 1e9 / total_ns as f64,
    })
}

/// Times at which segments waited at least a quarter as long as they do typically.
fn queued(model: &FlowModel) -> Vec<Window> {
    let sides = [&model.to_receiver, &model.to_sender];
    let Some(trips) = sides.into_iter().max_by_key(|trips| trips.queue_ns(50)) else {
        return Vec::new();
    };
    let (Some(base_ns), Some(queue_ns)) = (trips.base_ns(), trips.queue_ns(50)) else {
        return Vec::new();
    };
    let is_waiting = |(_, ns): &(u64, u64)| *ns >= base_ns + queue_ns / QUEUE_DIVISOR;
    let pairs = trips.samples().windows(2);
    let waiting = pairs.filter(|pair| {
        pair.iter().all(is_waiting) && pair[1].0 - pair[0].0 <= LONGEST_GAP_NS + 2 * pair[0].1
    });
    waiting
        .map(|pair| Window {
            start_ns: pair[0].0,
            end_ns: pair[1].0,
            bytes: 0,
        })
        .collect()
}

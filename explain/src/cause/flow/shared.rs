//! Paths that carry several transfers at once: each alone shows only a part of the path's rate.

use super::class::FlowClass;
use super::facts::{FlowFacts, OppositeTransfer, SharedRate};
use super::rate;
use linerate_capture::model::{FlowModel, Window};
use linerate_results::stats;
use std::collections::BTreeSet;

/// A queue is in use if segments wait at least 1 / this of the typical time.
const QUEUE_DIVISOR: u64 = 4;
/// Between two samples farther apart than this and two round trips, nothing is known.
const LONGEST_GAP_NS: u64 = 50_000_000;

/// Parts of the time in which rates are compared.
const BINS: u64 = 24;
/// In shorter parts, single recoveries show.
const MIN_BIN_NS: u64 = 100_000_000;
/// The rate of a full path in its slowest parts, as a share of its fastest: random losses make a sum vary by more.
const MIN_STEADY: f64 = 0.75;

/// Transfers that vary by so much, and so many times as much as their sum, use what others leave: independent ones vary less than their
/// sum by the root of their number only.
const MIN_VARIATION: f64 = 0.15;
const STEADIER: f64 = 4.0;

/// Attributes the time of transfers that share a path again, with the times at which all of them fill it.
pub(super) fn share_paths(facts: &mut [FlowFacts<'_>]) {
    let bulk: Vec<usize> = (0..facts.len())
        .filter(|at| facts[*at].class == FlowClass::Bulk && facts[*at].model.fastest.is_some())
        .collect();
    let mut done = vec![false; facts.len()];
    for at in &bulk {
        if done[*at] {
            continue;
        }
        let group: Vec<usize> = bulk
            .iter()
            .copied()
            .filter(|other| {
                let (one, other) = (&facts[*at], &facts[*other]);
                hosts(one) == hosts(other) && overlap(one, other)
            })
            .collect();
        for member in &group {
            done[*member] = true;
        }
        if group.len() >= 2 {
            share(facts, &group);
            fill_together(facts, &group);
        }
    }
    note_least_round_trips(facts);
    note_full(facts);
}

/// Notes for each connection the shortest round trip between its hosts, of all connections that pass at the same time.
fn note_least_round_trips(facts: &mut [FlowFacts<'_>]) {
    let least: Vec<Option<u64>> = facts
        .iter()
        .map(|one| {
            let beside = facts
                .iter()
                .filter(|it| hosts(one) == hosts(it) && overlap(one, it));
            beside.filter_map(|it| it.model.base_rtt_ns()).min()
        })
        .collect();
    for (it, least_ns) in facts.iter_mut().zip(least) {
        it.least_rtt_ns = least_ns.or(it.least_rtt_ns);
    }
}

/// Marks transfers in one direction whose sum is steady while segments wait: the path is full of them, whatever each of them
/// loses to the others.
fn fill_together(facts: &mut [FlowFacts<'_>], group: &[usize]) {
    let senders: BTreeSet<String> = group.iter().map(|at| facts[*at].sender.clone()).collect();
    for sender in senders {
        let of = group.iter().copied();
        let members: Vec<usize> = of.filter(|at| facts[*at].sender == sender).collect();
        let all: Vec<&FlowFacts<'_>> = members.iter().map(|at| &facts[*at]).collect();
        let queued = all.iter().filter(|it| it.model.is_queued).count();
        if members.len() < 2 {
            continue;
        }
        let Some(bins) = Bins::of(&all) else {
            continue;
        };
        // Near the receiver, no round trip shows a queue; but what each of them leaves, the others use.
        let is_queued = queued * 2 >= members.len() || bins.replace_each_other();
        let Some(bytes_per_s) = bins.steady_rate().filter(|_| is_queued) else {
            continue;
        };
        for at in &members {
            facts[*at].fills_together = true;
            facts[*at].shared = Some(SharedRate {
                connections: members.len(),
                bytes_per_s,
            });
        }
    }
}

/// What passed of transfers while all of them last, by parts of the time.
struct Bins {
    /// Octets, by transfer.
    octets: Vec<Vec<u64>>,
    ns: u64,
}

impl Bins {
    fn of(members: &[&FlowFacts<'_>]) -> Option<Self> {
        let start_ns = members.iter().map(|it| it.connection().start_ns).max()?;
        let end_ns = members.iter().map(|it| it.connection().end_ns).min()?;
        let ns = end_ns.saturating_sub(start_ns) / BINS;
        if ns < MIN_BIN_NS {
            return None;
        }
        let octets = members.iter().map(|member| {
            let mut bins = vec![0_u64; BINS as usize];
            for (at_ns, octets) in passed(member) {
                let bin = at_ns.checked_sub(start_ns).map(|at_ns| at_ns / ns);
                if let Some(bin) = bin.and_then(|bin| bins.get_mut(bin as usize)) {
                    *bin += octets;
                }
            }
            // The first part of the time is the beginning of the transfers.
            bins.split_off(BINS as usize / 8)
        });
        Some(Self {
            octets: octets.collect(),
            ns,
        })
    }

    fn sum(&self) -> Vec<u64> {
        let parts = 0..self.octets[0].len();
        parts
            .map(|at| self.octets.iter().map(|bins| bins[at]).sum())
            .collect()
    }

    /// The average rate of the sum, octets per second, if it hardly changes.
    fn steady_rate(&self) -> Option<f64> {
        let sum = self.sum();
        let mean = sum.iter().sum::<u64>() as f64 / sum.len() as f64;
        let (least, most) = extremes(sum);
        let is_steady =
            mean >= rate::MIN_TOGETHER * most as f64 && least as f64 >= MIN_STEADY * most as f64;
        is_steady.then(|| mean * 1e9 / self.ns as f64)
    }

    /// True if each of the transfers varies far more than their sum.
    fn replace_each_other(&self) -> bool {
        let variation = |bins: Vec<u64>| {
            let (least, most) = extremes(bins);
            1.0 - stats::ratio(least as f64, most as f64)
        };
        let least = (STEADIER * variation(self.sum())).max(MIN_VARIATION);
        let mut each = self.octets.iter();
        each.all(|bins| variation(bins.clone()) >= least)
    }
}

/// The values that a tenth of all are below, and above.
fn extremes(mut values: Vec<u64>) -> (u64, u64) {
    values.sort_unstable();
    let count = values.len();
    (values[count / 10], values[count * 9 / 10])
}

/// When octets passed the slowest link, nanoseconds of the capture: those that arrive near the receiver, those that are acknowledged
/// elsewhere.
fn passed(member: &FlowFacts<'_>) -> Vec<(u64, u64)> {
    let since_ns = member.connection().start_ns;
    let view = &member.model.view;
    if member.model.is_near_receiver() {
        let sent = view.sent.iter();
        return sent
            .map(|it| (since_ns + it.time_ns, u64::from(it.len)))
            .collect();
    }
    let mut acked = None;
    let acks = view.acks.iter().map(|ack| {
        let before = acked.unwrap_or(ack.ack);
        acked = Some(before.max(ack.ack));
        (since_ns + ack.time_ns, ack.ack.saturating_sub(before))
    });
    acks.collect()
}

/// Notes for each transfer whether another one fills the path, or the way back, at the same time.
fn note_full(facts: &mut [FlowFacts<'_>]) {
    let full: Vec<bool> = facts
        .iter()
        .map(|it| it.class == FlowClass::Bulk && rate::is_full(it))
        .collect();
    let steady: Vec<bool> = facts
        .iter()
        .map(|it| it.class == FlowClass::Bulk && rate::is_steady(it))
        .collect();
    for at in 0..facts.len() {
        let one = &facts[at];
        let beside = (0..facts.len()).filter(|other| {
            let it = &facts[*other];
            *other != at && hosts(one) == hosts(it) && overlap(one, it)
        });
        let (along, opposite): (Vec<usize>, Vec<usize>) =
            beside.partition(|other| facts[*other].sender == one.sender);
        let opposite: Vec<usize> = opposite
            .into_iter()
            .filter(|other| full[*other] || steady[*other] || is_behind_queue(&facts[*other]))
            .collect();
        let of = opposite.iter().map(|other| &facts[*other]);
        let against = (!opposite.is_empty()).then(|| OppositeTransfer {
            bytes_per_s: of.clone().map(FlowFacts::goodput).sum(),
            queue_ns: of.filter_map(waiting_ns).max(),
            is_full: opposite.iter().any(|other| full[*other]),
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
    facts.class == FlowClass::Bulk
        && waiting_ns(facts)
            .zip(base_ns)
            .is_some_and(|(ns, base_ns)| ns >= base_ns)
}

/// Both hosts: transfers in opposite directions share the queues for their acknowledgments.
fn hosts<'a>(facts: &'a FlowFacts<'_>) -> [&'a str; 2] {
    let mut hosts = [facts.sender.as_str(), facts.receiver.as_str()];
    hosts.sort_unstable();
    hosts
}

/// True if at least half of the shorter one passes at the same time as the other one.
fn overlap(one: &FlowFacts<'_>, other: &FlowFacts<'_>) -> bool {
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

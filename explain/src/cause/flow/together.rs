//! Transfers that fill a path together: as much of all of them passes all the time, whatever each of them loses to the others.

use super::class::FlowClass;
use super::facts::{CommonHosts, FlowFacts, SharedRate};
use super::shared::{hosts, overlap};
use linerate_capture::model::Window;
use linerate_results::stats;
use std::collections::BTreeMap;

/// Parts of the time in which rates are compared, at most and at least.
const BINS: u64 = 24;
const MIN_BINS: u64 = 10;
/// In shorter parts, single recoveries show.
const MIN_BIN_NS: u64 = 100_000_000;
/// The average rate of a full path, and that in its slowest parts, as a share of its fastest: random losses make a sum vary by more.
const MIN_MEAN: f64 = 0.9;
const MIN_STEADY: f64 = 0.75;
/// Transfers that vary by so much, and so many times as much as their sum, use what others leave: independent ones vary less than their
/// sum by the root of their number only.
const MIN_VARIATION: f64 = 0.05;
const STEADIER: f64 = 4.0;
/// With fewer segments between the poorest and the richest part, where the parts begin makes the difference.
const MIN_SEGMENTS: u64 = 4;

/// Sender and receiver, if they are common.
fn hosts_in_common<'a>(facts: &'a FlowFacts<'_>, common: CommonHosts) -> [Option<&'a str>; 2] {
    [
        (common != CommonHosts::Receiver).then_some(facts.sender.as_str()),
        (common != CommonHosts::Sender).then_some(facts.receiver.as_str()),
    ]
}

/// Marks transfers in one direction whose sum is steady: the path is full of them. One alone counts if another one goes the
/// opposite way: its acknowledgments wait behind the data there and come in bursts, faster than on any path (Zhang, Shenker, Clark:
/// Observations on the Dynamics of a Congestion Control Algorithm, 1991).
pub(super) fn fill_paths(facts: &mut [FlowFacts<'_>]) {
    for common in [
        CommonHosts::Both,
        CommonHosts::Receiver,
        CommonHosts::Sender,
    ] {
        for group in groups(facts, common) {
            let Some((members, full)) = filling(facts, &group, common) else {
                continue;
            };
            let shared = SharedRate {
                connections: group.len(),
                common,
                bytes_per_s: full.bytes_per_s,
            };
            for at in members {
                facts[at].fills_together = true;
                facts[at].shared = Some(shared);
                let since_ns = facts[at].connection().start_ns;
                facts[at].model.set_busy(vec![Window {
                    start_ns: full.start_ns.saturating_sub(since_ns),
                    end_ns: full.end_ns.saturating_sub(since_ns),
                    bytes: 0,
                }]);
            }
        }
    }
}

/// Transfers that have these hosts in common, each at the same time as another one of its group.
fn groups(facts: &[FlowFacts<'_>], common: CommonHosts) -> Vec<Vec<usize>> {
    let bulk = (0..facts.len()).filter(|at| facts[*at].class == FlowClass::Bulk);
    let mut by_hosts: BTreeMap<[Option<&str>; 2], Vec<usize>> = BTreeMap::new();
    for at in bulk {
        by_hosts
            .entry(hosts_in_common(&facts[at], common))
            .or_default()
            .push(at);
    }
    let mut groups = Vec::new();
    for mut members in by_hosts.into_values() {
        members.sort_by_key(|at| facts[*at].connection().start_ns);
        let mut end_ns = 0;
        let first = groups.len();
        for at in members {
            let connection = facts[at].connection();
            if groups.len() == first || connection.start_ns > end_ns {
                groups.push(Vec::new());
            }
            end_ns = end_ns.max(connection.end_ns);
            groups.last_mut().expect("one was added").push(at);
        }
    }
    groups
}

/// A time in which as much of all transfers of a group passes in each part, nanoseconds of the capture, and their rate.
struct SteadyTime {
    start_ns: u64,
    end_ns: u64,
    bytes_per_s: f64,
}

/// The members of a group that fill the path, and when.
fn filling(
    facts: &[FlowFacts<'_>],
    group: &[usize],
    common: CommonHosts,
) -> Option<(Vec<usize>, SteadyTime)> {
    let waits = |of: &[usize]| {
        let waiting = of.iter().filter(|at| facts[**at].model.is_queued);
        waiting.count() * 2 >= of.len()
    };
    let all: Vec<&FlowFacts<'_>> = group.iter().map(|at| &facts[*at]).collect();
    if let [one] = all[..] {
        if common != CommonHosts::Both {
            return None;
        }
        let is_opposite = |it: &FlowFacts<'_>| {
            it.class == FlowClass::Bulk
                && it.sender == one.receiver
                && hosts(it) == hosts(one)
                && overlap(it, one)
        };
        let opposite = (0..facts.len()).filter(|at| is_opposite(&facts[*at]));
        let opposite: Vec<usize> = opposite.collect();
        if opposite.is_empty() || !(waits(group) || waits(&opposite)) {
            return None;
        }
        let (_, time) = steady_bins(&all)?;
        return Some((group.to_vec(), time));
    }
    let (bins, time) = steady_bins(&all)?;
    // Near the receiver, no round trip shows a queue; but what each of them leaves, the others use.
    let replacing = bins.replacing();
    let replacing: Vec<usize> = replacing.into_iter().map(|at| group[at]).collect();
    if replacing.len() == group.len() || common == CommonHosts::Both && waits(group) {
        Some((group.to_vec(), time))
    } else {
        (replacing.len() >= 2).then_some((replacing, time))
    }
}

/// The parts of a time in which as much of all of them passes: from the beginning of the first to the end of the last, or else while all of
/// them last.
fn steady_bins(members: &[&FlowFacts<'_>]) -> Option<(Bins, SteadyTime)> {
    let passed: Vec<Vec<(u64, u64)>> = members.iter().map(|it| passed(it)).collect();
    let firsts = || passed.iter().filter_map(|it| it.first());
    let lasts = || passed.iter().filter_map(|it| it.last());
    let any = (firsts().min()?.0, lasts().map(|(ns, _)| *ns).max()?);
    let all = (firsts().max()?.0, lasts().map(|(ns, _)| *ns).min()?);
    [any, all].into_iter().find_map(|(start_ns, end_ns)| {
        let bins = Bins::within(members, &passed, start_ns, end_ns)?;
        let bytes_per_s = bins.steady_rate()?;
        let time = SteadyTime {
            start_ns: bins.start_ns,
            end_ns,
            bytes_per_s,
        };
        Some((bins, time))
    })
}

/// What passed of transfers, by parts of the time.
struct Bins {
    /// Octets, by transfer.
    octets: Vec<Vec<u64>>,
    /// Octets of a full segment.
    full: u64,
    /// When the first part begins, nanoseconds of the capture, and how long each of them lasts.
    start_ns: u64,
    ns: u64,
}

impl Bins {
    fn within(
        members: &[&FlowFacts<'_>],
        passed: &[Vec<(u64, u64)>],
        start_ns: u64,
        end_ns: u64,
    ) -> Option<Self> {
        let all_ns = end_ns.saturating_sub(start_ns);
        let count = (all_ns / MIN_BIN_NS).min(BINS);
        if count < MIN_BINS {
            return None;
        }
        let ns = all_ns / count;
        let skipped = count / 8;
        let octets = passed.iter().map(|passed| {
            let mut bins = vec![0_u64; count as usize];
            for (at_ns, octets) in passed {
                let part = at_ns.checked_sub(start_ns).map(|at_ns| at_ns / ns);
                if let Some(bin) = part.and_then(|part| bins.get_mut(part as usize)) {
                    *bin += octets;
                }
            }
            // The first part of the time is the beginning of the transfers, the last part may not be complete.
            bins.pop();
            bins.split_off(skipped as usize)
        });
        let octets: Vec<Vec<u64>> = octets.collect();
        let parts = octets[0].len();
        let active = |part: &usize| octets.iter().filter(|bins| bins[*part] > 0).count();
        let shared = (0..parts).filter(|part| active(part) >= 2).count();
        // One after the other is not together.
        (members.len() == 1 || shared * 2 >= parts).then_some(Self {
            octets,
            full: members.iter().map(|it| it.full).max()?,
            start_ns: start_ns + skipped * ns,
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
        let is_steady = mean >= MIN_MEAN * most as f64 && least as f64 >= MIN_STEADY * most as f64;
        is_steady.then(|| mean * 1e9 / self.ns as f64)
    }

    /// The transfers that vary far more than the sum of all.
    fn replacing(&self) -> Vec<usize> {
        let variation = |(least, most): (u64, u64)| 1.0 - stats::ratio(least as f64, most as f64);
        let least = (STEADIER * variation(extremes(self.sum()))).max(MIN_VARIATION);
        let varies = |at: &usize| {
            let of = extremes(self.octets[*at].clone());
            variation(of) >= least && of.1 - of.0 >= MIN_SEGMENTS * self.full
        };
        (0..self.octets.len()).filter(varies).collect()
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
    let mut passed = Vec::new();
    let Some(mut acked) = view.acks.first().map(|it| it.ack) else {
        return passed;
    };
    // Behind a gap, each duplicate acknowledgment reports a segment (RFC 5681 section 4.2), which the one that fills the gap counts.
    let mut since: Vec<u64> = Vec::new();
    for ack in &view.acks {
        since.push(since_ns + ack.time_ns);
        if ack.ack > acked {
            let octets = (ack.ack - acked) / since.len() as u64;
            passed.extend(since.drain(..).map(|at_ns| (at_ns, octets)));
            acked = ack.ack;
        }
    }
    passed
}

//! What each cause costs between two hosts.

use super::class::FlowClass;
use super::exchange;
use super::facts::FlowFacts;
use super::rule::Rule;
use crate::cause::busy::union_ns;
use linerate_capture::model::Wait;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::HashMap;

/// A cause that costs less is not worth a finding: a person does not notice it (ITU-T G.1010, highly interactive use).
pub(super) const MIN_COST_NS: f64 = 5e7;
/// The same for all transfers between two hosts in a page: a quarter of what a page may take (ITU-T G.1010, web browsing: 2 s).
pub(super) const MIN_COST_IN_PAGE_NS: f64 = 5e8;

/// Sender and receiver of the payload, and the cause.
type CauseBetween<'a> = (&'a String, &'a String, Cause);

/// The connections in which a cause was found.
#[derive(Default)]
struct Cost {
    /// Sum of what it costs in each of them.
    ns: f64,
    /// Start and end of each of them.
    times: Vec<(u64, u64)>,
}

impl Cost {
    /// What several connections at once wait for passes only once.
    fn passed_ns(self) -> f64 {
        let sum_ns: u64 = self
            .times
            .iter()
            .map(|(start_ns, end_ns)| end_ns - start_ns)
            .sum();
        self.ns * stats::ratio(union_ns(self.times) as f64, sum_ns as f64)
    }
}

/// After so long, the client's program has nothing to ask, or a person is in no hurry (J. Nielsen, Usability Engineering, 1993, section 5.5:
/// 1 s until a flow of thought is interrupted, 10 s for keeping attention).
const PAUSE_NS: u64 = 1_000_000_000;
const IDLE_NS: u64 = 10_000_000_000;

/// A cause that costs less between two hosts does not make a page slow; a server that is late is noticed from what a page may take on
/// (ITU-T G.1010, web browsing: 2 s).
fn noticed_ns(cause: Cause) -> f64 {
    if cause == Cause::ServerThinkTime {
        2e9
    } else {
        MIN_COST_IN_PAGE_NS
    }
}

/// Time of a connection that a rule explains. The time before the first answer is no part of the active time.
fn explained_ns(active_ns: u64, rule: &Rule) -> f64 {
    let waited = rule.evidence.get("think_ns_total");
    let waited = waited.filter(|_| rule.cause == Cause::ServerThinkTime);
    waited.copied().unwrap_or(rule.share * active_ns as f64)
}

/// The time of a connection, nanoseconds: all of it, and without the pauses in which nobody waits.
struct OwnTimeNs {
    active: f64,
    all: f64,
    busy: f64,
}

impl OwnTimeNs {
    fn of(facts: &FlowFacts<'_>, rules: &[Rule]) -> Self {
        let explained = rules.iter().map(|rule| explained_ns(facts.active_ns, rule));
        let explained_ns = explained.fold(0.0, f64::max);
        let active_ns = facts.active_ns as f64;
        Self {
            active: active_ns,
            all: active_ns.max(explained_ns),
            busy: (active_ns - idle_ns(facts) as f64).max(explained_ns),
        }
    }
}

/// The times of all connections.
pub(super) struct AllTimes {
    own: Vec<OwnTimeNs>,
    /// Sums over all connections.
    active_ns: f64,
    busy_ns: f64,
}

impl AllTimes {
    /// Clients wait for `hang_ns` behind their last requests, too, which servers never answer: no rule explains that time.
    pub(super) fn of(found: &[(&FlowFacts<'_>, Vec<Rule>)], hang_ns: f64) -> Self {
        let own = found
            .iter()
            .map(|(facts, rules)| OwnTimeNs::of(facts, rules));
        let own: Vec<OwnTimeNs> = own.collect();
        Self {
            active_ns: own.iter().map(|it| it.active).sum::<f64>() + hang_ns,
            busy_ns: own.iter().map(|it| it.busy).sum::<f64>() + hang_ns,
            own,
        }
    }

    /// Share of the same time that clients wait for an answer that never comes, beside what the rules explain of it.
    pub(super) fn hang_share(&self, hang_ns: f64, explained: f64) -> f64 {
        stats::ratio(hang_ns, self.busy_ns).min(1.0 - explained.min(1.0))
    }

    /// Share of the time of all connections that a rule explains in the one at this place; between its hosts, its cause costs `cost_ns`.
    /// What is noticed as slow becomes no faster by the pauses of others.
    pub(super) fn share(&self, at: usize, rule: &Rule, cost_ns: f64) -> f64 {
        let own = &self.own[at];
        if cost_ns < noticed_ns(rule.cause) {
            return rule.share * stats::ratio(own.active, self.active_ns);
        }
        // The pauses of its client are no part of the time that a station which sleeps delays.
        let own_ns = if rule.cause == Cause::WakeUpLatency {
            own.busy
        } else {
            own.all
        };
        let total_ns = self.busy_ns - own.busy + own_ns;
        stats::ratio(explained_ns(own.active as u64, rule), total_ns)
    }
}

/// Time in which a dialogue is kept open, and nothing is under way.
fn idle_ns(facts: &FlowFacts<'_>) -> u64 {
    let Some(server) = exchange::serving_end(facts).filter(|_| facts.class != FlowClass::Bulk)
    else {
        return 0;
    };
    let turns = &facts.model.turns;
    let of = |waits: &[Wait], least_ns: u64| -> u64 {
        let idle = waits.iter().filter(|it| !it.has_loss && it.ns >= least_ns);
        idle.map(|it| it.ns).sum()
    };
    of(&turns.waits[server as usize], IDLE_NS)
        + of(&turns.waits[server.other() as usize], PAUSE_NS)
        + turns.pauses.iter().map(|it| of(it, PAUSE_NS)).sum::<u64>()
}

/// What each cause costs between two hosts, nanoseconds.
pub(super) fn costs_ns<'a>(
    found: &[(&'a FlowFacts<'_>, Vec<Rule>)],
) -> HashMap<CauseBetween<'a>, f64> {
    let mut all: HashMap<CauseBetween<'a>, Cost> = HashMap::new();
    for (facts, rules) in found {
        let connection = facts.connection();
        for rule in rules {
            let cost = all.entry((&facts.sender, &facts.receiver, rule.cause));
            let cost = cost.or_default();
            cost.ns += explained_ns(facts.active_ns, rule);
            cost.times.push((connection.start_ns, connection.end_ns));
        }
    }
    let costs = all.into_iter().map(|(key, cost)| (key, cost.passed_ns()));
    costs.collect()
}

#[cfg(test)]
mod tests {
    use crate::cause::flow::explain_flows;
    use crate::cause::synthetic::{MS, Script};
    use linerate_capture::reader::Address;
    use linerate_capture::tcp::End;
    use linerate_capture::traffic::Flow;
    use linerate_results::record::Cause;

    /// A connection that asks for a few octets each 20 s.
    fn kept_open() -> Flow {
        let mut dialogue = Script::open(End::Second, MS, 0, 60_000);
        for _ in 0..20 {
            dialogue.write(End::First, 80).after(MS);
            dialogue
                .write(End::Second, 80)
                .confirm(End::First)
                .after(20_000 * MS);
        }
        let mut flow = dialogue.flow();
        flow.ends[1].0 = Address([3; 16]);
        flow
    }

    /// Connections with one request each, which is answered after this time.
    fn causes(connections: u16, answer_ms: u64) -> Vec<Cause> {
        let (findings, _) = explain_flows(&requests(connections, answer_ms));
        findings.iter().map(|it| it.finding.cause).collect()
    }

    fn requests(connections: u16, answer_ms: u64) -> Vec<Flow> {
        let mut flows = vec![kept_open()];
        for at in 0..connections {
            let start_ns = u64::from(at) * 10_000 * MS;
            let mut download = Script::open_at(start_ns, End::Second, [MS, 0], 60_000);
            download.write(End::First, 400).after(MS);
            download.confirm(End::Second).after(answer_ms * MS);
            for _ in 0..3 {
                download.write(End::Second, 20_000).after(5 * MS);
                download.confirm(End::First);
            }
            let mut flow = download.flow();
            flow.ends[0].1 += at;
            flows.push(flow);
        }
        flows
    }

    /// Flights of 10, 20 and 40 segments over 110 ms: the window grows for 0.3 s, which costs less than a page may take.
    fn short_and_far() -> Flow {
        let options = [2, 4, 5, 0xB4, 4, 2, 3, 3, 2];
        let mut upload = Script::open_with(End::First, [110 * MS, MS / 50], 60_000, &options);
        for (round, segments) in [10, 20, 40].into_iter().enumerate() {
            upload.at(111 * MS + round as u64 * 110 * MS + MS);
            upload.send(segments, 1_460, MS / 50);
            upload
                .at(111 * MS + (round as u64 + 1) * 110 * MS)
                .ack_pairs();
        }
        let mut flow = upload.flow();
        flow.ends[1].0 = Address([4; 16]);
        flow
    }

    #[test]
    fn what_several_causes_explain_is_no_more_than_all_the_time() {
        // The time before an answer is no part of the active time.
        let mut flows = requests(10, 1_400).split_off(1);
        flows.push(short_and_far());
        let (findings, _) = explain_flows(&flows);
        let firm = findings.iter().filter(|it| it.alternative_to.is_none());
        let shares: Vec<f64> = firm.map(|it| it.share_of_time).collect();
        assert_eq!(shares.len(), 2);
        assert!(shares.iter().sum::<f64>() <= 1.0 + 1e-9, "{shares:?}");
    }

    #[test]
    fn the_time_before_each_answer_counts_beside_an_idle_connection() {
        assert_eq!(causes(10, 1_400), [Cause::ServerThinkTime]);
        assert_eq!(causes(3, 600), [], "less than a page may take");
    }
}

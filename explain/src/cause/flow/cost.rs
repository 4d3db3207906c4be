//! What each cause costs between two hosts.

use super::facts::FlowFacts;
use super::rule::Rule;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::HashMap;

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
    fn passed_ns(mut self) -> f64 {
        self.times.sort_unstable();
        let (mut passed_ns, mut until_ns, mut sum_ns) = (0, 0, 0);
        for (start_ns, end_ns) in self.times {
            sum_ns += end_ns - start_ns;
            passed_ns += end_ns.saturating_sub(start_ns.max(until_ns));
            until_ns = until_ns.max(end_ns);
        }
        self.ns * stats::ratio(passed_ns as f64, sum_ns as f64)
    }
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
            cost.ns += rule.share * facts.active_ns as f64;
            cost.times.push((connection.start_ns, connection.end_ns));
        }
    }
    let costs = all.into_iter().map(|(key, cost)| (key, cost.passed_ns()));
    costs.collect()
}

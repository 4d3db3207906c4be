//! One request at a time over a long path: each waits for the answer to the one before, and the round trips add up.

use super::thinking::{Thinking, has_own_timer, server};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Wait};
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;

/// Name of the number of requests in the evidence.
pub(in crate::cause::flow) const REQUESTS: &str = "requests_in_turn";
/// No request is noticed for a shorter round trip, that of some 2,000 km of fibre there and back, which moving nearer hardly shortens.
pub(super) const MIN_RTT_NS: u64 = 20_000_000;
/// Fewer are the opening of a session.
pub(super) const MIN_REQUESTS: usize = 20;
/// The hosts may take longer than the path, and each exchange still waits for a round trip; what takes many times as long waits for
/// something else.
const MAX_ROUND_TRIPS: u64 = 4;
/// Less in all is not noticed as slow (ITU-T G.1010: a transaction below 2 s).
pub(super) const MIN_TOTAL_NS: u64 = 2_000_000_000;
/// Another cause has at least as much of the time.
pub(super) const MIN_SHARE: f64 = 0.5;

/// The requests that follow the answer before at once, and are answered at once.
#[derive(Clone, Copy, Debug)]
struct InTurn {
    requests: usize,
    /// All exchanges.
    exchanges: usize,
    rtt_ns: u64,
    first_packet: u32,
    last_packet: u32,
}

impl InTurn {
    fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let rtt_ns = facts.least_rtt_ns.filter(|ns| *ns >= MIN_RTT_NS)?;
        let mut waits: Vec<&Wait> = facts.model.turns.waits.iter().flatten().collect();
        waits.sort_unstable_by_key(|wait| wait.number);
        // What both ends together take for one exchange has the round trip, wherever it is seen.
        let is_trip = |pair: &&[&Wait]| {
            let ns: u64 = pair.iter().map(|wait| wait.ns).sum();
            // What does not acknowledge the message before crossed it, and did not wait for it.
            let follows = |wait: &&Wait| wait.acked_ns.is_some() && !wait.has_loss;
            pair.iter().all(follows) && (rtt_ns / 8 * 7..=MAX_ROUND_TRIPS * rtt_ns).contains(&ns)
        };
        let trips = || waits.chunks_exact(2).filter(is_trip);
        Some(Self {
            requests: trips().count(),
            exchanges: waits.len() / 2,
            rtt_ns,
            first_packet: trips().next()?[0].number,
            last_packet: trips().next_back()?[1].number,
        })
    }

    fn total_ns(&self) -> u64 {
        self.requests as u64 * self.rtt_ns
    }
}

/// Requests one after another, each a round trip, take most of the time.
pub(in crate::cause::flow) fn requests_in_turn(facts: &FlowFacts<'_>) -> Option<Rule> {
    let found = InTurn::of(facts)?;
    let total_ns = found.total_ns();
    let share = facts.share_of(total_ns);
    // Where most exchanges are like that, the client's pauses do not count.
    let is_rule = found.requests * 2 >= found.exchanges;
    let is_most = share >= MIN_SHARE || is_rule && facts.busy_share(total_ns) >= MIN_SHARE;
    if found.requests < MIN_REQUESTS || total_ns < MIN_TOTAL_NS || !is_most {
        return None;
    }
    // A client that asks by a clock waits for that.
    let is_timed = |end: End| {
        let thinking = Thinking::of(facts, end);
        // A few late turns beside many prompt ones are no clock, unless they begin rounds by one, as those of no server do.
        if thinking.is_usual() {
            has_own_timer(facts, &thinking)
        } else {
            server(facts) != Some(end) && thinking.is_at_intervals()
        }
    };
    if [End::First, End::Second].into_iter().any(is_timed) {
        return None;
    }
    let [first, second] = facts.flow.ends.map(|(address, _)| address);
    Some(Rule {
        share,
        cause: Cause::OneInFlight,
        confidence: 0.85,
        summary: format!(
            "{first} and {second} send one message at a time, each only when that of the other end has arrived: {} round trips of {} take \
             {} ({}).",
            format::count(found.requests as u64),
            format::time(found.rtt_ns),
            format::time(total_ns),
            format::percent(share),
        ),
        evidence: evidence([
            (REQUESTS, found.requests as f64),
            ("rtt_ns", found.rtt_ns as f64),
            ("round_trips_ns", total_ns as f64),
            ("round_trips_share", share),
            ("first_packet", f64::from(found.first_packet)),
            ("last_packet", f64::from(found.last_packet)),
        ]),
        advice: "A faster line changes nothing. Ask for more at a time (one query instead of many, larger blocks), keep several \
                 requests in flight (pipelining, several connections), or move the program that asks nearer to the data."
            .to_owned(),
        limits: &[
            Limit::SenderIdle,
            Limit::InFlight,
            Limit::SlowStart,
            Limit::LateAck,
        ],
        has_gain: false,
    })
}

/// Removes what waits for round trips in several connections at once: then several requests are in flight.
pub(in crate::cause::flow) fn leave_parallel(found: &mut [(&FlowFacts<'_>, Vec<Rule>)]) {
    let is_in_turn = |rule: &Rule| rule.evidence.contains_key(REQUESTS);
    let all: Vec<&FlowFacts<'_>> = found
        .iter()
        .filter(|(_, rules)| rules.iter().any(is_in_turn))
        .map(|(facts, _)| *facts)
        .collect();
    let beside = |one: &FlowFacts<'_>, other: &FlowFacts<'_>| {
        let hosts = |it: &FlowFacts<'_>| it.flow.ends.map(|(address, _)| address);
        let (at, of) = (one.connection(), other.connection());
        hosts(one) == hosts(other) && at.start_ns < of.end_ns && of.start_ns < at.end_ns
    };
    for (facts, rules) in found {
        // Itself is one of them.
        if all.iter().filter(|it| beside(facts, it)).count() > 2 {
            rules.retain(|rule| !is_in_turn(rule));
        }
    }
}

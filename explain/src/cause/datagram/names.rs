//! Waiting for names.

use std::collections::{BTreeMap, BTreeSet};

use crate::cause::busy::{Interval, busy_times, union_ns};
use crate::cause::scored::{self, ALTERNATIVE, PathFinding, evidence};
use linerate_capture::reader::Address;
use linerate_capture::traffic::{Flow, NameLookup};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

use super::MIN_COST_SHARE;

/// Longer than a round trip by this, an answer is late: up to 0.1 s feels instantaneous (R. B. Miller, Response time
/// in man-computer conversational transactions, 1968, topic 1), and a server in the same network, or one that has the
/// name in its cache, answers in much less.
const LATE_NS: u64 = 100_000_000;

/// What a client waited for one server.
#[derive(Default)]
struct Waiting<'a> {
    lookups: u64,
    late: u64,
    repeated: u64,
    unanswered: u64,
    waited_ns: u64,
    /// The times of these waits.
    waited: Vec<Interval>,
    /// Of it, without time in which the client had a connection open while it got no answer: that did not wait.
    held_back_ns: u64,
    /// End of the time that is counted: a client asks for several addresses of a name at once.
    counted_until_ns: u64,
    delays_ns: Vec<u64>,
    first: Option<&'a NameLookup>,
    last: Option<&'a NameLookup>,
    worst: Option<&'a NameLookup>,
}

/// Waiting for less in all is not noticed: a fifth of what a page may take (ITU-T G.1010, web browsing: 2 s).
const MIN_WAITED_NS: u64 = 400_000_000;
/// The same if no single wait is: what a page may take.
const MANY_WAITED_NS: u64 = 2_000_000_000;
/// A server that answers nothing may be there, and its answers lost.
const MOST_CONFIDENCE: f64 = 0.7;
/// So long a wait interrupts whatever somebody does (J. Nielsen, Usability Engineering, 1993, section 5.5).
const LONG_NS: u64 = 1_000_000_000;

/// The findings, by client and server, for a capture of this duration.
pub(super) fn waiting(
    lookups: &[NameLookup],
    flows: &[Flow],
    duration_ns: u64,
) -> Vec<PathFinding> {
    let answered = || lookups.iter().filter(|it| it.is_answered);
    let answering: BTreeSet<Address> = answered().map(|it| it.server).collect();
    let informed: BTreeSet<Address> = answered().map(|it| it.client).collect();
    let mut all: BTreeMap<(Address, Address), Waiting<'_>> = BTreeMap::new();
    let mut clients: BTreeMap<Address, (u64, Vec<Interval>)> = BTreeMap::new();
    for lookup in lookups {
        let (round_trip_ns, connections) = clients.entry(lookup.client).or_insert_with(|| {
            (
                round_trip_ns(lookup.client, flows),
                open(lookup.client, flows),
            )
        });
        let waiting = all.entry((lookup.client, lookup.server)).or_default();
        waiting.add(lookup, *round_trip_ns, connections);
    }
    let found = all.into_iter().flat_map(|((client, server), waiting)| {
        let answers_nothing = !answering.contains(&server);
        let own = || flows.iter().filter(|flow| flow.ends[0].0 == client);
        let total_ns = waiting.total_ns(own());
        let busy_ns = waiting.busy_ns(own().flat_map(busy_times));
        // What others transfer does not wait for the names of a host that transfers nothing.
        let is_aside = own().next().is_none() && !flows.is_empty();
        let weight = if is_aside {
            stats::ratio(total_ns as f64, duration_ns as f64).min(1.0)
        } else {
            1.0
        };
        let found = waiting.finding([client, server], [total_ns, busy_ns], weight);
        let absent = found.as_ref().filter(|_| answers_nothing).map(absent);
        // Nothing shows that a client which learns no name, and opens no connection, needs the names.
        let learns_nothing = own().next().is_none() && !informed.contains(&client);
        let both = match (found, absent) {
            (Some(found), Some(absent)) if learns_nothing => {
                vec![of_server(&found), of_names(&found, &absent)]
            }
            (found, absent) => found.into_iter().chain(absent).collect(),
        };
        both.into_iter()
    });
    found.collect()
}

/// The same waiting, for a server that is not there.
fn of_server(waiting: &PathFinding) -> PathFinding {
    PathFinding {
        finding: Finding {
            cause: Cause::NoAnswer,
            confidence: waiting.finding.confidence.min(MOST_CONFIDENCE),
            advice: "Ping the server: it may be off, at another address, or behind a filter that drops what it is asked. Where it answers, \
                     no service listens at its port."
                .to_owned(),
            ..waiting.finding.clone()
        },
        ..waiting.clone()
    }
}

/// The same waiting, for names that the server does not know.
fn of_names(waiting: &PathFinding, absent: &PathFinding) -> PathFinding {
    PathFinding {
        alternative_to: Some(Cause::NoAnswer),
        finding: Finding {
            cause: Cause::NameResolution,
            summary: "The server may be there, and answer other names.".to_owned(),
            ..absent.finding.clone()
        },
        ..waiting.clone()
    }
}

/// The other explanation of waiting for a server that answers nothing at all.
fn absent(waiting: &PathFinding) -> PathFinding {
    PathFinding {
        alternative_to: Some(waiting.finding.cause),
        finding: Finding {
            cause: Cause::NoAnswer,
            confidence: ALTERNATIVE,
            summary: "The server answers nothing in this capture, whatever the name: it may be off, at another address, or behind a filter."
                .to_owned(),
            evidence: evidence([]),
            advice: "To decide: ping the server, and ask it for a name that it knows (dig @server).".to_owned(),
        },
        ..waiting.clone()
    }
}

/// The shortest round trip of a client's connections: at least this is the path's.
fn round_trip_ns(client: Address, flows: &[Flow]) -> u64 {
    let of_client = flows.iter().filter(|flow| flow.ends[0].0 == client);
    let handshakes = of_client.filter_map(|flow| flow.connection.handshake().rtt_ns());
    handshakes.min().unwrap_or(0)
}

/// The times in which a client has a connection, in chronological order, without overlaps.
fn open(client: Address, flows: &[Flow]) -> Vec<Interval> {
    let of_client = flows.iter().filter(|flow| flow.ends[0].0 == client);
    let mut times: Vec<Interval> = of_client
        .map(|flow| (flow.connection.start_ns, flow.connection.end_ns))
        .collect();
    times.sort_unstable();
    let mut open: Vec<Interval> = Vec::new();
    for (start_ns, end_ns) in times {
        match open.last_mut() {
            Some(last) if start_ns <= last.1 => last.1 = last.1.max(end_ns),
            _ => open.push((start_ns, end_ns)),
        }
    }
    open
}

/// The part of an interval that lies in others, which do not overlap.
fn overlap_ns((start_ns, end_ns): Interval, others: &[Interval]) -> u64 {
    let from = others.partition_point(|other| other.1 <= start_ns);
    let within = others[from..].iter().take_while(|other| other.0 < end_ns);
    within
        .map(|other| other.1.min(end_ns) - other.0.max(start_ns))
        .sum()
}

impl<'a> Waiting<'a> {
    fn add(&mut self, lookup: &'a NameLookup, round_trip_ns: u64, connections: &[Interval]) {
        self.lookups += 1;
        self.repeated += lookup.queries - 1;
        let took_ns = lookup.end_ns.saturating_sub(lookup.start_ns);
        if lookup.is_answered {
            self.delays_ns.push(took_ns);
        }
        // A single query without an answer may be the last packet of the capture.
        let is_unanswered = !lookup.is_answered && lookup.queries >= 2;
        let is_late = took_ns.saturating_sub(round_trip_ns) >= LATE_NS;
        self.unanswered += u64::from(is_unanswered);
        if !is_late || !(is_unanswered || lookup.is_answered && lookup.is_needed) {
            return;
        }
        self.late += u64::from(lookup.is_answered);
        let from_ns = lookup.start_ns.max(self.counted_until_ns);
        let waited_ns = lookup.end_ns.saturating_sub(from_ns);
        self.waited_ns += waited_ns;
        self.waited.push((from_ns, lookup.end_ns.max(from_ns)));
        self.held_back_ns += if lookup.is_answered || waited_ns == 0 {
            waited_ns
        } else {
            waited_ns - overlap_ns((from_ns, lookup.end_ns), connections)
        };
        self.counted_until_ns = self.counted_until_ns.max(lookup.end_ns);
        self.first.get_or_insert(lookup);
        self.last = Some(lookup);
        let longest = |it: &NameLookup| it.end_ns.saturating_sub(it.start_ns);
        if self.worst.is_none_or(|worst| longest(worst) < took_ns) {
            self.worst = Some(lookup);
        }
    }

    /// The time of the client's connections and of waiting for names, without pauses in between.
    fn total_ns(&self, connections: impl Iterator<Item = &'a Flow>) -> u64 {
        let mut total_ns = self.waited_ns;
        let mut start_ns = self.first.map_or(u64::MAX, |it| it.start_ns);
        let mut end_ns = self.counted_until_ns;
        for flow in connections {
            let connection = &flow.connection;
            total_ns =
                total_ns.saturating_add(connection.end_ns.saturating_sub(connection.start_ns));
            start_ns = start_ns.min(connection.start_ns);
            end_ns = end_ns.max(connection.end_ns);
        }
        // Connections close while the next name is looked up.
        total_ns.min(end_ns.saturating_sub(start_ns))
    }

    /// The same without the pauses of connections that are kept open: those of `busy` are not.
    fn busy_ns(&self, busy: impl Iterator<Item = Interval>) -> u64 {
        union_ns(self.waited.iter().copied().chain(busy).collect())
    }

    /// The finding, with a share of `weight` of the client's time.
    fn finding(
        self,
        [client, server]: [Address; 2],
        [total_ns, busy_ns]: [u64; 2],
        weight: f64,
    ) -> Option<PathFinding> {
        let share = stats::ratio(self.waited_ns as f64, total_ns as f64).min(1.0);
        let (first, last, worst) = (self.first?, self.last?, self.worst?);
        // Long waits are noticed, however long connections are kept open afterwards.
        let busy_share = stats::ratio(self.waited_ns as f64, busy_ns as f64);
        let is_long = self.waited_ns >= LONG_NS && busy_share >= MIN_COST_SHARE;
        let longest_ns = worst.end_ns.saturating_sub(worst.start_ns);
        let is_noticed = longest_ns >= MIN_WAITED_NS || self.waited_ns >= MANY_WAITED_NS;
        if !is_noticed || share < MIN_COST_SHARE && !is_long {
            return None;
        }
        let least = if is_long && self.held_back_ns * 2 >= self.waited_ns {
            scored::MIN_SHARE
        } else {
            0.0
        };
        let median_ns = stats::percentile(&self.delays_ns, 50.0).unwrap_or(0);
        let meanwhile = if self.held_back_ns * 2 >= self.waited_ns {
            format!(
                "{} of the time until its connections ended",
                format::percent(share)
            )
        } else {
            "most of it while it had connections open".to_owned()
        };
        let answers = match (self.unanswered, self.repeated) {
            (0, 0) => format!("a name took {} in the median", format::time(median_ns)),
            (0, repeated) => format!(
                "queries were repeated {} before the answer",
                format::counted(repeated, "time")
            ),
            (unanswered, _) => format!(
                "{} of {} got no answer, though asked repeatedly",
                format::count(unanswered),
                format::counted(self.lookups, "name")
            ),
        };
        let advice = if self.repeated > 0 {
            "Find out why the first query gets no answer: a first server that is down (its order in resolv.conf), an \
             AAAA query that it drops, a firewall, loss. Keep names in a cache, or use addresses."
        } else {
            "Use a name server near the client that keeps names (dnsmasq, unbound), keep names in the client, or \
             keep connections open."
        };
        Some(PathFinding {
            alternative_to: None,
            sender: Some(server.to_string()),
            receiver: Some(client.to_string()),
            share_of_time: weight
                * stats::ratio(self.held_back_ns as f64, total_ns as f64).clamp(least, 1.0),
            finding: Finding {
                cause: Cause::NameResolution,
                confidence: if self.late >= 2 || self.unanswered > 0 {
                    0.95
                } else {
                    0.8
                },
                summary: format!(
                    "{client} waited {} for names from {server} ({meanwhile}): {answers}; the longest was {} ({}).",
                    format::time(self.waited_ns),
                    if worst.name.is_empty() {
                        "one name"
                    } else {
                        &worst.name
                    },
                    format::time(longest_ns),
                ),
                evidence: evidence([
                    ("lookups", self.lookups as f64),
                    ("late", self.late as f64),
                    ("repeated_queries", self.repeated as f64),
                    ("unanswered", self.unanswered as f64),
                    ("waited_ns", self.waited_ns as f64),
                    ("waited_share", share),
                    ("held_back_ns", self.held_back_ns as f64),
                    ("median_answer_ns", median_ns as f64),
                    ("longest_ns", longest_ns as f64),
                    ("first_packet", first.first_packet as f64),
                    ("last_packet", last.last_packet as f64),
                    ("worst_packet", worst.last_packet as f64),
                ]),
                advice: advice.to_owned(),
            },
        })
    }
}

//! A connection for each request, one after another: every request costs two round trips, the first of them for the handshake.

use super::in_turn::{MIN_REQUESTS, MIN_RTT_NS, MIN_SHARE, MIN_TOTAL_NS, REQUESTS};
use super::thinking::sent_ns;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;
use std::collections::BTreeMap;

/// Round trips that a request takes: one opens the connection, one carries the request and its answer.
const ROUND_TRIPS: u64 = 2;
/// An answer of more octets takes further round trips (RFC 6928 section 2: ten segments at first).
const MOST_ANSWER_BYTES: u64 = 14_600;

/// A client takes no longer to ask again.
const HOSTS_NS: u64 = 10_000_000;

/// A connection that was opened for one request.
#[derive(Clone, Copy, Debug)]
struct Request {
    start_ns: u64,
    /// The last octet of the answer.
    end_ns: u64,
    rtt_ns: u64,
    /// From the capture point to the client and back.
    to_client_ns: u64,
    first_packet: u64,
    last_packet: u64,
}

impl Request {
    /// The request and answer of a connection that carries nothing else.
    fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let connection = facts.connection();
        let rtt_ns = connection.handshake().rtt_ns()?;
        let answered_ns = sent_ns(facts, End::Second).last()?;
        let least_ns = facts.least_rtt_ns.unwrap_or(rtt_ns);
        let is_single = facts.model.turns.changes() == 1
            && connection.stats(End::Second).unique_bytes <= MOST_ANSWER_BYTES
            && rtt_ns <= least_ns + least_ns / 2
            && !facts
                .model
                .turns
                .waits
                .iter()
                .flatten()
                .any(|it| it.has_loss);
        is_single.then_some(Self {
            start_ns: connection.start_ns,
            end_ns: connection.start_ns + answered_ns,
            rtt_ns,
            to_client_ns: connection.handshake().legs_ns()?[End::First as usize],
            first_packet: connection.first_packet,
            last_packet: connection.last_packet,
        })
    }
}

/// Connections between two hosts that follow each other at once, each for one request.
pub(in crate::cause::flow) fn connections_in_turn(all: &[FlowFacts<'_>]) -> Vec<PathFinding> {
    let mut hosts: BTreeMap<(String, String), Vec<Request>> = BTreeMap::new();
    let mut total_ns = 0;
    for facts in all {
        let connection = facts.connection();
        total_ns += connection.end_ns - connection.start_ns;
        if let Some(request) = Request::of(facts) {
            let [client, server] = facts.flow.ends.map(|(address, _)| address.to_string());
            hosts.entry((client, server)).or_default().push(request);
        }
    }
    let found = hosts
        .into_iter()
        .filter_map(|(hosts, requests)| finding(hosts, requests, total_ns));
    found.collect()
}

fn finding(
    (client, server): (String, String),
    mut requests: Vec<Request>,
    total_ns: u64,
) -> Option<PathFinding> {
    requests.sort_unstable_by_key(|it| it.start_ns);
    // A request that is opened before the answer to the one before has come waits for none, and one much later for something else.
    let follows = |pair: &&[Request]| {
        let [before, next] = [pair[0], pair[1]];
        let most_ns = before.to_client_ns + before.rtt_ns / 8 + HOSTS_NS;
        (before.end_ns..=before.end_ns + most_ns).contains(&next.start_ns)
    };
    let in_turn = requests.windows(2).filter(follows).count() + 1;
    let (first, last) = (requests.first()?, requests.last()?);
    let rtt_ns = requests.iter().map(|it| it.rtt_ns).min()?;
    let span_ns = last.end_ns - first.start_ns;
    let waits_ns = (in_turn as u64 * ROUND_TRIPS * rtt_ns).min(span_ns);
    let share = stats::ratio(waits_ns as f64, span_ns as f64).min(1.0);
    if in_turn < MIN_REQUESTS
        || in_turn * 2 < requests.len()
        || rtt_ns < MIN_RTT_NS
        || waits_ns < MIN_TOTAL_NS
        || share < MIN_SHARE
    {
        return None;
    }
    Some(PathFinding {
        alternative_to: None,
        share_of_time: stats::ratio(waits_ns as f64, total_ns as f64).min(1.0),
        finding: Finding {
            cause: Cause::OneInFlight,
            confidence: 0.8,
            summary: format!(
                "{client} opens a connection for each of {} requests to {server}, one after another: two round trips of {} each, one of \
                 them only to open the connection, take {} of {}.",
                format::count(in_turn as u64),
                format::time(rtt_ns),
                format::time(waits_ns),
                format::time(span_ns),
            ),
            evidence: evidence([
                (REQUESTS, in_turn as f64),
                ("connections", requests.len() as f64),
                ("rtt_ns", rtt_ns as f64),
                ("round_trips_ns", waits_ns as f64),
                ("span_ns", span_ns as f64),
                ("first_packet", first.first_packet as f64),
                ("last_packet", last.last_packet as f64),
            ]),
            advice: "A faster line changes nothing. Keep the connection open for the next request (HTTP keep-alive, a pool of \
                     connections), and ask for several things at once."
                .to_owned(),
        },
        sender: Some(client),
        receiver: Some(server),
    })
}

//! Requests and answers: which end keeps the other waiting.

use super::facts::{FlowClass, FlowFacts};
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Wait, percentile};
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;

/// Thinking for a smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.3;
/// A shorter time is that of a host's stack.
const MIN_THINK_NS: u64 = 5_000_000;
/// One answer that takes so long is noticed (ITU-T G.1010: a second at most for a page).
const LONG_THINK_NS: u64 = 400_000_000;
/// A pause of the client that is longer may be a person's.
const PERSON_NS: u64 = 400_000_000;

/// The end that serves: not the one that opened the connection.
fn server(facts: &FlowFacts<'_>) -> Option<End> {
    if facts.connection().handshake().syn_ns.is_some() {
        return Some(End::Second);
    }
    let [first, second] = facts.flow.ends.map(|(_, port)| port);
    let is_service = |port: u16| port < 1024;
    match (is_service(first), is_service(second)) {
        (true, false) => Some(End::First),
        (false, true) => Some(End::Second),
        // An ephemeral port is above those of services (RFC 6335 section 6).
        _ if first.abs_diff(second) > 8192 => Some(if first < second {
            End::First
        } else {
            End::Second
        }),
        _ => None,
    }
}

/// Base time from a packet of the other end to the answer of `end`'s stack.
fn leg_ns(facts: &FlowFacts<'_>, end: End) -> u64 {
    let trips = if end == facts.model.data_sender {
        &facts.model.to_sender
    } else {
        &facts.model.to_receiver
    };
    let least = facts.model.turns.waits[end as usize]
        .iter()
        .map(|wait| wait.ns)
        .min();
    trips.base_ns().or(least).unwrap_or(0)
}

fn thinks(waits: &[Wait], leg_ns: u64) -> Vec<u64> {
    let over = waits.iter().map(|wait| wait.ns.saturating_sub(leg_ns));
    over.filter(|ns| *ns >= MIN_THINK_NS.max(leg_ns)).collect()
}

/// The server takes time before its answers begin, beyond the round trip.
pub(super) fn server_think_time(facts: &FlowFacts<'_>) -> Option<Rule> {
    let server = server(facts)?;
    let leg_ns = leg_ns(facts, server);
    let waits = &facts.model.turns.waits[server as usize];
    let times = thinks(waits, leg_ns);
    let total_ns: u64 = times.iter().sum();
    let share = facts.share_of(total_ns);
    if share < MIN_SHARE {
        return None;
    }
    let median_ns = percentile(times.clone(), 50)?;
    // One or two answers may have been late for any reason.
    let is_few = times.len() < 3 && total_ns < LONG_THINK_NS;
    if is_few || median_ns < 2 * leg_ns {
        return None;
    }
    let name = facts.flow.ends[server as usize].0;
    Some(Rule {
        share,
        cause: Cause::ServerThinkTime,
        confidence: 0.85,
        summary: format!(
            "{name} takes {} (median) before its answers begin, in {} of {}, beyond the round trip of {}: {} of the time.",
            format::time(median_ns),
            format::count(times.len() as u64),
            format::count(waits.len() as u64),
            format::time(leg_ns),
            format::percent(share),
        ),
        evidence: evidence([
            ("think_ns_p50", median_ns as f64),
            ("think_ns_total", total_ns as f64),
            ("answers", waits.len() as f64),
            ("late_answers", times.len() as f64),
            ("think_share", share),
            ("rtt_ns", leg_ns as f64),
        ]),
        advice: "The network is not the limit. Find what the server does before its first octet: reading a sensor or a \
                 file, computing the length, waiting for a lock; or send what is ready at once."
            .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: false,
    })
}

pub(super) fn client_think_time(facts: &FlowFacts<'_>) -> Option<Rule> {
    let client = server(facts)?.other();
    let leg_ns = leg_ns(facts, client);
    let waits = &facts.model.turns.waits[client as usize];
    let times = thinks(waits, leg_ns);
    let total_ns: u64 = times.iter().sum();
    let share = facts.share_of(total_ns);
    let median_ns = percentile(times.clone(), 50)?;
    // Small answers at the pace of the program are no transfer that waits.
    let answers = &facts.model.turns.turn_bytes[client.other() as usize];
    let is_transfer = percentile(answers.clone(), 50)? >= facts.full;
    let is_slow = facts.class == FlowClass::Short || times.len() < 3 || !is_transfer;
    let is_program = median_ns <= PERSON_NS;
    if share < MIN_SHARE || is_slow || !is_program {
        return None;
    }
    let name = facts.flow.ends[client as usize].0;
    Some(Rule {
        share,
        cause: Cause::ClientThinkTime,
        confidence: 0.75,
        summary: format!(
            "{name} takes {} (median) between an answer and its next request: {} of the time.",
            format::time(median_ns),
            format::percent(share),
        ),
        evidence: evidence([
            ("think_ns_p50", median_ns as f64),
            ("think_ns_total", total_ns as f64),
            ("requests", waits.len() as f64),
            ("think_share", share),
        ]),
        advice: "The server and the network wait for the client: request the next item before the last is processed, \
                 or request several at once."
            .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: false,
    })
}

//! TCP connections that ICMP messages reject: no reset comes, and the SYN stays without an answer of TCP.

use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::traffic::{Analysis, Flow, RejectReason};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;
use std::collections::{BTreeMap, BTreeSet};

/// Attempts of a client to reach a port.
#[derive(Default)]
struct Attempts {
    connections: u64,
    messages: u64,
    time_ns: u64,
    first_packet: u64,
    last_packet: u64,
}

/// The findings. What `others` have about the same attempts, as without an answer, is replaced.
pub(super) fn rejected(analysis: &Analysis, others: &mut Vec<PathFinding>) -> Vec<PathFinding> {
    let mut all: BTreeMap<(String, String, u16, RejectReason), Attempts> = BTreeMap::new();
    let mut first_packets = BTreeSet::new();
    for it in &analysis.other_traffic.rejections {
        let same = |flow: &&Flow| flow.ends == it.ends && is_unopened(flow);
        let Some(flow) = analysis.flows.iter().find(same) else {
            continue;
        };
        first_packets.insert(flow.connection.first_packet);
        let [client, (server, port)] = it.ends;
        let key = (client.0.to_string(), server.to_string(), port, it.reason);
        let attempts = all.entry(key).or_default();
        attempts.connections += 1;
        attempts.messages += it.messages;
        attempts.time_ns += flow.connection.end_ns - flow.connection.start_ns;
        attempts.last_packet = attempts.last_packet.max(it.last_packet);
        if attempts.first_packet == 0 {
            attempts.first_packet = flow.connection.first_packet;
        }
    }
    let payload: u64 = analysis.flows.iter().map(Flow::payload_bytes).sum();
    let times = analysis.flows.iter().map(|it| &it.connection);
    let total_ns: u64 = times.map(|it| it.end_ns - it.start_ns).sum();
    // Another port of the same host may be silent.
    let is_replaced = |it: &PathFinding| {
        let first = it.finding.evidence.get("first_packet");
        it.finding.cause == Cause::NoAnswer
            && first.is_some_and(|number| first_packets.contains(&(*number as u64)))
    };
    others.retain(|it| !is_replaced(it));
    let found = all.into_iter().filter(|(_, it)| {
        // One attempt beside transfers does not slow them down.
        payload == 0 || it.connections > 1
    });
    let found = found.map(|((client, server, port, reason), attempts)| {
        // An attempt that a message answers at once takes no time, but it is all that happened.
        let share_of_time = if payload > 0 {
            stats::ratio(attempts.time_ns as f64, total_ns as f64)
        } else {
            1.0
        };
        PathFinding {
            alternative_to: None,
            finding: finding(&client, &server, port, reason, &attempts),
            sender: Some(client),
            receiver: Some(server),
            share_of_time,
        }
    });
    found.collect()
}

/// True if the capture has the beginning of a connection, and nothing of its server.
fn is_unopened(flow: &Flow) -> bool {
    let handshake = flow.connection.handshake();
    handshake.syn_ns.is_some() && handshake.syn_ack_ns.is_none() && flow.payload_bytes() == 0
}

fn finding(
    client: &str,
    server: &str,
    port: u16,
    reason: RejectReason,
    attempts: &Attempts,
) -> Finding {
    let (cause, answer, advice) = match reason {
        RejectReason::NoListener => (
            Cause::Refused,
            "port unreachable",
            "The host or a firewall before it rejects this port (nftables or iptables: reject): check that the program runs \
             at this address and port, and that a rule lets it pass.",
        ),
        RejectReason::Prohibited => (
            Cause::Refused,
            "communication administratively prohibited",
            "A firewall or a router's filter rejects it: look for the rule at the address that sent the message, and let \
             this port pass.",
        ),
        RejectReason::Unreachable => (
            Cause::NoAnswer,
            "host or network unreachable",
            "The router that sent the message has no route to that address, or nothing there answers ARP: check that the \
             device is on and has this address, and the routes and netmasks on the way.",
        ),
    };
    Finding {
        cause,
        confidence: 0.9,
        summary: format!(
            "{client} tried {} to open a connection to {server} port {port}: ICMP answered {} ({answer}).",
            format::times(attempts.connections),
            format::times(attempts.messages),
        ),
        evidence: evidence([
            ("connections", attempts.connections as f64),
            ("messages", attempts.messages as f64),
            ("opening_ns", attempts.time_ns as f64),
            ("first_packet", attempts.first_packet as f64),
            ("last_packet", attempts.last_packet as f64),
        ]),
        advice: advice.to_owned(),
    }
}

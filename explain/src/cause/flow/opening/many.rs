//! A client that gets no answer from several hosts: one finding, because what they have in common is the client and its network.

use std::collections::{BTreeMap, BTreeSet};

use super::attempts::Attempts;
use super::kind::Opening;
use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::reader::Address;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Fewer hosts may each be absent for a reason of its own.
const MIN_SERVERS: usize = 3;
/// Hosts that the sentence names.
const NAMED: usize = 3;

/// A finding, and the attempts that it is about.
pub(super) struct Found {
    pub(super) opening: Opening,
    pub(super) attempts: Attempts,
    pub(super) finding: PathFinding,
}

/// The findings; those about several hosts that leave the SYNs of one client without an answer are one. `busy_ns` is the time of all
/// connections, without their pauses.
pub(super) fn merged(all: Vec<Found>, busy_ns: f64) -> Vec<PathFinding> {
    let mut findings = Vec::new();
    let mut unanswered: BTreeMap<Address, Vec<Found>> = BTreeMap::new();
    for found in all {
        if found.opening == Opening::NoAnswer {
            let of_client = unanswered.entry(found.attempts.client).or_default();
            of_client.push(found);
        } else {
            findings.push(found.finding);
        }
    }
    for (client, found) in unanswered {
        let servers = found.iter().map(|it| it.attempts.server.0);
        let servers: BTreeSet<Address> = servers.collect();
        if servers.len() >= MIN_SERVERS {
            findings.push(finding(client, &servers, found, busy_ns));
        } else {
            findings.extend(found.into_iter().map(|it| it.finding));
        }
    }
    findings
}

/// Name of the number of SYNs to a server in the evidence.
fn syns_to(attempts: &Attempts) -> String {
    format!("syns_to_{}_port_{}", attempts.server.0, attempts.server.1)
}

/// True if the finding of another rule is about a host that this one counts among those without an answer.
pub(in crate::cause) fn counts_host(found: &PathFinding, host: &str) -> bool {
    let prefix = format!("syns_to_{host}_port_");
    let mut figures = found.finding.evidence.keys();
    figures.any(|name| name.starts_with(&prefix))
}

fn finding(
    client: Address,
    servers: &BTreeSet<Address>,
    found: Vec<Found>,
    busy_ns: f64,
) -> PathFinding {
    let mut all = Attempts {
        client,
        first_packet: u64::MAX,
        ..Attempts::default()
    };
    let mut figures = BTreeMap::new();
    let mut share = 0.0_f64;
    for it in found {
        figures.insert(syns_to(&it.attempts), it.attempts.syns as f64);
        all.connections += it.attempts.connections;
        all.syns += it.attempts.syns;
        all.first_packet = all.first_packet.min(it.attempts.first_packet);
        all.last_packet = all.last_packet.max(it.attempts.last_packet);
        all.times.extend(it.attempts.times);
        share = share.max(it.finding.share_of_time);
    }
    let passed_ns = all.passed_ns();
    figures.extend(evidence([
        ("servers", servers.len() as f64),
        ("connections", all.connections as f64),
        ("syns", all.syns as f64),
        ("opening_ns", passed_ns as f64),
        ("first_packet", all.first_packet as f64),
        ("last_packet", all.last_packet as f64),
    ]));
    let names: Vec<String> = servers
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    let listed = if servers.len() > NAMED {
        format!("{} and others", names.join(", "))
    } else {
        names.join(", ")
    };
    PathFinding {
        alternative_to: None,
        sender: Some(client.to_string()),
        receiver: None,
        share_of_time: share
            .max(stats::ratio(passed_ns as f64, busy_ns))
            .min(1.0),
        finding: Finding {
            cause: Cause::NoAnswer,
            confidence: 0.95,
            summary: format!(
                "{client} tried {} to open connections to {} hosts ({listed}): none of {} was answered in {}.",
                format::times(all.connections),
                format::count(servers.len() as u64),
                format::counted(all.syns, "SYN"),
                format::time(passed_ns),
            ),
            evidence: figures,
            advice: "Look first for what these hosts have in common: the network of this client, its gateway and route to them, a \
                     firewall that drops this port. Hosts of other networks may be off, or gone from an old list of addresses. \
                     --json lists them all."
                .to_owned(),
        },
    }
}

//! Confidence as measured: the probability that a finding is right, estimated from labelled captures.
//!
//! Each rule states a confidence of its own. A logistic model turns it into the share of right answers among labelled
//! captures ([`table`](self::table)): one slope for all rules, offsets for captures that show less (without the handshake,
//! near neither end) or several paths, and an offset of each cause that is drawn to zero, the more the fewer captures it has. So a cause
//! with few captures, or none, is judged like all others.
//!
//! Rules explain the captures they were written with better than others. The model has an offset for them, too, and leaves
//! it out here: what it states is the confidence for a capture that no rule was written with.
//!
//! `cargo xtask explanations calibrate DIR...` writes the table.

#[rustfmt::skip]
mod table;
#[cfg(test)]
mod tests;

use linerate_capture::traffic::{ConnectionReport, EndRole};
use linerate_results::record::Cause;
use linerate_results::vantage::{Vantage, has_several_paths};

use std::collections::HashMap;

use crate::cause::scored::PathFinding;
use table::MODEL;

/// Name of the rule's own confidence in the evidence, from which the table is derived.
const RULE_CONFIDENCE: &str = "rule_confidence";
/// No rule is certain: bounds of what enters the model and of what it states.
const BOUNDS: (f64, f64) = (0.02, 0.98);

/// Coefficients on the scale of log odds.
struct Model {
    intercept: f64,
    /// Of the log odds that the rule states.
    slope: f64,
    /// Without the handshake.
    late: f64,
    /// Near neither end.
    between: f64,
    /// In captures of several paths.
    several: f64,
    /// Of causes; 0 for others.
    causes: &'static [(Cause, f64)],
}

/// Replaces the confidence of each rule by the measured one.
pub fn calibrate(findings: &mut [PathFinding], connections: &[ConnectionReport]) {
    let ends = connections
        .iter()
        .map(|it| [it.sender.as_str(), it.receiver.as_str()]);
    let has_several = has_several_paths(ends);
    let described = Described::of(connections);
    for found in findings.iter_mut() {
        let vantage = described.vantage(found);
        let finding = &mut found.finding;
        let rule = finding.confidence;
        finding.evidence.insert(RULE_CONFIDENCE.to_owned(), rule);
        finding.confidence = MODEL.confidence(finding.cause, vantage, has_several, rule);
    }
    leave_rest_to_alternatives(findings);
}

/// The model is that of first answers. Another explanation of the same is right at most where the first one is not.
fn leave_rest_to_alternatives(findings: &mut [PathFinding]) {
    for at in 1..findings.len() {
        let (before, rest) = findings.split_at_mut(at);
        let found = &mut rest[0];
        let is_replaced = |it: &&PathFinding| {
            Some(it.finding.cause) == found.alternative_to
                && it.sender == found.sender
                && it.receiver == found.receiver
        };
        if let Some(first) = before.iter().rev().find(is_replaced) {
            let rest = (1.0 - first.finding.confidence).max(BOUNDS.0);
            found.finding.confidence = found.finding.confidence.min(rest);
        }
    }
}

/// The connections that findings describe.
struct Described<'a> {
    /// By their first packets.
    by_packet: HashMap<u64, &'a ConnectionReport>,
    /// Of each pair of hosts, in ascending order, the one with the most payload.
    largest: HashMap<[&'a str; 2], &'a ConnectionReport>,
}

impl<'a> Described<'a> {
    fn of(connections: &'a [ConnectionReport]) -> Self {
        let mut by_packet = HashMap::new();
        let mut largest: HashMap<[&str; 2], &ConnectionReport> = HashMap::new();
        for it in connections {
            by_packet.entry(it.first_packet).or_insert(it);
            let Some(hosts) = host(&it.sender).zip(host(&it.receiver)) else {
                continue;
            };
            let most = largest.entry(ascending(hosts)).or_insert(it);
            if it.payload.unique_bytes >= most.payload.unique_bytes {
                *most = it;
            }
        }
        Self { by_packet, largest }
    }

    /// Where the connection that a finding describes was captured.
    fn vantage(&self, found: &PathFinding) -> Vantage {
        self.connection(found).map_or(Vantage::Other, |it| {
            let is_near_sender = it.captured_near.map(|near| near == EndRole::Sender);
            Vantage::of_connection(is_near_sender, it.handshake_rtt_ns.is_some())
        })
    }

    /// The connection that a finding names by its first packet, else the one with the most payload between its hosts.
    fn connection(&self, found: &PathFinding) -> Option<&'a ConnectionReport> {
        if let Some(packet) = found.connection_packet() {
            return self.by_packet.get(&packet).copied();
        }
        let hosts = found.sender.as_deref().zip(found.receiver.as_deref())?;
        self.largest.get(&ascending(hosts)).copied()
    }
}

/// The host of an address with a port.
fn host(end: &str) -> Option<&str> {
    let (address, _) = end.rsplit_once(':')?;
    Some(address.trim_matches(['[', ']']))
}

fn ascending<'a>((one, other): (&'a str, &'a str)) -> [&'a str; 2] {
    let mut hosts = [one, other];
    hosts.sort_unstable();
    hosts
}

impl Model {
    /// Probability that an answer is right, two decimals, if its rule states the confidence `rule`.
    fn confidence(&self, cause: Cause, vantage: Vantage, has_several: bool, rule: f64) -> f64 {
        let rule = rule.clamp(BOUNDS.0, BOUNDS.1);
        let place = match vantage {
            Vantage::Late => self.late,
            Vantage::Between => self.between,
            Vantage::Sender | Vantage::Receiver | Vantage::Other => 0.0,
        };
        let of_cause = self.causes.iter().find(|it| it.0 == cause);
        let odds = self.intercept
            + self.slope * (rule / (1.0 - rule)).ln()
            + place
            + if has_several { self.several } else { 0.0 }
            + of_cause.map_or(0.0, |it| it.1);
        let probability = 1.0 / (1.0 + (-odds).exp());
        (probability.clamp(BOUNDS.0, BOUNDS.1) * 100.0).round() / 100.0
    }
}

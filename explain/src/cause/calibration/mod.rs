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
    for found in findings {
        let vantage = vantage(found, connections);
        let finding = &mut found.finding;
        let rule = finding.confidence;
        finding.evidence.insert(RULE_CONFIDENCE.to_owned(), rule);
        finding.confidence = MODEL.confidence(finding.cause, vantage, has_several, rule);
    }
}

/// Where the connection that a finding describes was captured.
fn vantage(found: &PathFinding, connections: &[ConnectionReport]) -> Vantage {
    connection(found, connections).map_or(Vantage::Other, |it| {
        let is_near_sender = it.captured_near.map(|near| near == EndRole::Sender);
        Vantage::of_connection(is_near_sender, it.handshake_rtt_ns.is_some())
    })
}

/// The connection that a finding names by its first packet, else the one with the most payload between its hosts.
fn connection<'a>(
    found: &PathFinding,
    all: &'a [ConnectionReport],
) -> Option<&'a ConnectionReport> {
    if let Some(packet) = found.connection_packet() {
        return all.iter().find(|it| it.first_packet == packet);
    }
    let (sender, receiver) = (found.sender.as_ref()?, found.receiver.as_ref()?);
    let is_of = |end: &str, host: &str| {
        end.rsplit_once(':')
            .is_some_and(|(address, _)| address.trim_matches(['[', ']']) == host)
    };
    let is_between = |it: &ConnectionReport, from: &str, to: &str| {
        is_of(&it.sender, from) && is_of(&it.receiver, to)
    };
    let between = all
        .iter()
        .filter(|it| is_between(it, sender, receiver) || is_between(it, receiver, sender));
    between.max_by_key(|it| it.payload.unique_bytes)
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

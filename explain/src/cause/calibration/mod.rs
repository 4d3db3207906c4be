//! Confidence as measured: the share of right answers among labelled captures.
//!
//! A rule states a confidence of its own. It counts as [`RULE_WEIGHT`] labelled transfers; the others are those of the
//! development captures for which this cause came first ([`table`](self::table)). The estimate for the cause in turn
//! counts as [`CAUSE_WEIGHT`] transfers beside those captured at the same place. A cause that no labelled capture
//! provoked keeps the confidence of its rule.
//!
//! `cargo xtask links calibrate DIR` writes the table.

#[rustfmt::skip]
mod table;
#[cfg(test)]
mod tests;

use linerate_capture::traffic::{ConnectionReport, EndRole};
use linerate_results::record::Cause;
use linerate_results::vantage::Vantage;

use crate::cause::scored::PathFinding;
use table::TABLE;

/// Labelled transfers as which the rule's own confidence counts. Both weights predict the development transfers best
/// that were left out of the table (least logarithmic loss of 2, 4, 8 and 16).
const RULE_WEIGHT: f64 = 8.0;
/// Labelled transfers as which the estimate for all places of capture counts.
const CAUSE_WEIGHT: f64 = 8.0;

/// Right answers among transfers. Several captures of a transfer count as parts of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Measured {
    right: f64,
    of: f64,
}

/// A cause at a place of capture: transfers for which it was the right answer, and for which it was the answer.
type Row = (Cause, Vantage, f64, f64);

/// Replaces the confidence of each rule by the measured one.
pub fn calibrate(findings: &mut [PathFinding], connections: &[ConnectionReport]) {
    for found in findings {
        let vantage = vantage(found, connections);
        let rule = found.finding.confidence;
        found.finding.confidence = confidence(&TABLE, found.finding.cause, vantage, rule);
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
    if let Some(packet) = found.finding.evidence.get("connection_packet") {
        return all.iter().find(|it| it.first_packet == *packet as u64);
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

/// The measured share of right answers, with the rule's own confidence as the first guess; two decimals.
fn confidence(table: &[Row], cause: Cause, vantage: Vantage, rule: f64) -> f64 {
    let of_cause = || table.iter().filter(|it| it.0 == cause);
    let all = Measured::sum(of_cause());
    let here = Measured::sum(of_cause().filter(|it| it.1 == vantage));
    let of_cause = all.share(rule, RULE_WEIGHT);
    (here.share(of_cause, CAUSE_WEIGHT) * 100.0).round() / 100.0
}

impl Measured {
    fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        rows.fold(Self::default(), |sum, it| Self {
            right: sum.right + it.2,
            of: sum.of + it.3,
        })
    }

    /// Share of right answers, with `guess` as `weight` further transfers (additive smoothing).
    fn share(self, guess: f64, weight: f64) -> f64 {
        (self.right + guess * weight) / (self.of + weight)
    }
}

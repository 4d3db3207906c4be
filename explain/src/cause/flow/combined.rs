//! The same cause in several connections between two hosts is one finding: causes are properties of hosts and links.

use std::fmt::Write as _;

use super::class::FlowClass;
use super::facts::{CommonHosts, FlowFacts};
use super::finding::{alternative, finding};
use super::rule::{Rule, is_limit};
use super::time_without::{NextLimit, TimeWithout};
use crate::cause::scored::PathFinding;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// A cause that costs a smaller part of the time of all connections is not worth a finding.
const MIN_PART: f64 = 0.04;

/// The evidence with the share of the time that would be saved without the cause.
pub(super) const SAVED: &str = "saved_share";

/// True for a window: without it, what passed meanwhile takes its time on the path all the same.
fn is_window(cause: Cause) -> bool {
    matches!(cause, Cause::ReceiveWindow | Cause::NoWindowScaling)
}

/// Waits for the timer that take less of the time cost less than any window.
const MIN_TIMEOUT: f64 = 0.2;

/// True for a cause without which more would be in flight than before: how the path, its queues and the receiver take
/// that does not show, nor how much less the rest of the time would be.
fn hides_next_limit(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::CongestionWindow
            | Cause::LossInBursts
            | Cause::Policed
            | Cause::QueueOverflow
            | Cause::SenderIdle
    )
}

/// True if one event takes most of the time that a rule explains, in a capture of a part of a transfer, or one that the event
/// ends: how often it comes in the rest, or how long it lasts, is unknown.
fn is_one_event(facts: &FlowFacts<'_>, rule: &Rule) -> bool {
    let spans = facts.model.spans.iter();
    let of_rule = spans.filter(|span| rule.limits.contains(&span.limit));
    of_rule.max_by_key(|span| span.ns()).is_some_and(|longest| {
        let is_partial = facts.begins_late() || longest.end_ns == facts.model.span_ns;
        is_partial && facts.share_of(longest.ns()) >= rule.share / 2.0
    })
}

/// What limits a transfer without this cause. Losses leave the congestion window where they found it; a sender that had no
/// more room begins with a small one.
fn next_limit(facts: &FlowFacts<'_>, cause: Cause) -> NextLimit {
    match cause {
        Cause::SendBuffer => NextLimit::Window,
        Cause::ReceiveWindow | Cause::NoWindowScaling => NextLimit::Growth,
        Cause::ReceiverReadsSlowly => NextLimit::Reader,
        Cause::RetransmissionStalls if facts.class == FlowClass::Exchange => NextLimit::Rest,
        _ => NextLimit::Path,
    }
}

/// Sender and receiver that a finding is about: those that transfers have in common that fill a path together.
fn concerned(facts: &FlowFacts<'_>, cause: Cause) -> [Option<String>; 2] {
    let common = match facts.shared {
        Some(shared) if is_limit(cause) => shared.common,
        _ => CommonHosts::Both,
    };
    [
        (common != CommonHosts::Receiver).then(|| facts.sender.clone()),
        (common != CommonHosts::Sender).then(|| facts.receiver.clone()),
    ]
}

/// Findings so far.
#[derive(Default)]
pub(super) struct CombinedFindings(Vec<CombinedFinding>);

/// A cause between two hosts, or the limit of all transfers from or to one.
struct CombinedFinding {
    sender: Option<String>,
    receiver: Option<String>,
    share_of_time: f64,
    /// The largest share of one connection, which is described.
    largest_share: f64,
    connections: u64,
    /// Time that the cause explains.
    explained_ns: f64,
    /// True if the timer held the sender back for a while, too.
    is_beside_timeouts: bool,
    /// Time of the connections, and without this cause.
    time_ns: u64,
    time_without: Option<TimeWithout>,
    /// Time of their payload at the rate of the path.
    least_time_ns: u64,
    finding: Finding,
    /// Another explanation of the described connection's time.
    alternative: Option<Finding>,
}

impl CombinedFindings {
    /// Adds what a rule found in a connection that takes `part` of the time of all; `beside` has all that was found there.
    pub(super) fn add(&mut self, facts: &FlowFacts<'_>, rule: Rule, beside: &[Cause], part: f64) {
        let share_of_time = rule.share * part;
        let without = facts.time_without(rule.share, next_limit(facts, rule.cause));
        let without = without.filter(|_| rule.has_gain);
        let without = if hides_next_limit(rule.cause) || is_one_event(facts, &rule) {
            without.map(TimeWithout::at_most)
        } else {
            without
        };
        let least_ns = facts.least_time_ns().unwrap_or(0).min(facts.active_ns);
        let [sender, receiver] = concerned(facts, rule.cause);
        let same = |it: &&mut CombinedFinding| {
            it.finding.cause == rule.cause && it.sender == sender && it.receiver == receiver
        };
        let alternative = alternative(facts, &rule);
        let Some(before) = self.0.iter_mut().find(same) else {
            self.0.push(CombinedFinding {
                sender,
                receiver,
                share_of_time,
                largest_share: share_of_time,
                connections: 1,
                explained_ns: rule.share * facts.active_ns as f64,
                is_beside_timeouts: facts.share(Limit::Timeout) >= MIN_TIMEOUT,
                time_ns: facts.active_ns,
                time_without: without,
                least_time_ns: least_ns,
                finding: finding(facts, rule, beside),
                alternative,
            });
            return;
        };
        before.share_of_time += share_of_time;
        before.connections += 1;
        before.explained_ns += rule.share * facts.active_ns as f64;
        before.time_ns += facts.active_ns;
        before.least_time_ns += least_ns;
        before.time_without = before
            .time_without
            .zip(without)
            .map(|(one, other)| one.plus(other));
        if share_of_time > before.largest_share {
            before.largest_share = share_of_time;
            before.finding = finding(facts, rule, beside);
            before.alternative = alternative;
        }
    }

    /// The findings that cost enough.
    pub(super) fn into_findings(mut self) -> Vec<PathFinding> {
        self.merge_stalls();
        let found = self.0.into_iter();
        let found = found.filter(|it| it.share_of_time >= MIN_PART || is_limit(it.finding.cause));
        let mut all: Vec<PathFinding> = found.flat_map(CombinedFinding::into_findings).collect();
        // What is found anyway is no alternative.
        let firm = all.iter().filter(|it| it.alternative_to.is_none());
        let firm: Vec<_> = firm
            .map(|it| (it.finding.cause, it.sender.clone(), it.receiver.clone()))
            .collect();
        all.retain(|it| {
            it.alternative_to.is_none()
                || !firm.contains(&(it.finding.cause, it.sender.clone(), it.receiver.clone()))
        });
        all
    }

    /// Short connections lose too few segments to show the pattern that longer ones between the same hosts show.
    fn merge_stalls(&mut self) {
        let is_stall = |it: &CombinedFinding| it.finding.cause == Cause::RetransmissionStalls;
        let (stalls, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.0).into_iter().partition(is_stall);
        self.0 = others;
        for stall in stalls {
            let explains = |it: &&mut CombinedFinding| {
                let has_pattern = matches!(
                    it.finding.cause,
                    Cause::LossInBursts
                        | Cause::QueueOverflow
                        | Cause::ShallowQueue
                        | Cause::Policed
                );
                has_pattern
                    && it.share_of_time > stall.share_of_time
                    && it.sender == stall.sender
                    && it.receiver == stall.receiver
            };
            match self.0.iter_mut().find(explains) {
                Some(pattern) => {
                    pattern.share_of_time += stall.share_of_time;
                    pattern.connections += stall.connections;
                    pattern.explained_ns += stall.explained_ns;
                    pattern.time_ns += stall.time_ns;
                    pattern.least_time_ns += stall.least_time_ns;
                    let both = pattern.time_without.zip(stall.time_without);
                    pattern.time_without = both.map(|(one, other)| one.plus(other));
                }
                None => self.0.push(stall),
            }
        }
    }
}

impl CombinedFinding {
    fn into_findings(self) -> Vec<PathFinding> {
        let mut finding = self.finding;
        let is_gain = |it: &TimeWithout| it.ns() / 19 <= self.time_ns / 20;
        if let Some(without) = self.time_without.filter(is_gain) {
            let (bound, name) = match without {
                TimeWithout::About(_) => ("about", "time_without_ns"),
                TimeWithout::AtMost(_) => ("at most", "time_without_most_ns"),
            };
            let figures = &mut finding.evidence;
            figures.insert("time_ns".to_owned(), self.time_ns as f64);
            figures.insert(name.to_owned(), without.ns() as f64);
            figures.insert("least_time_ns".to_owned(), self.least_time_ns as f64);
            let (with, without) = (format::time(self.time_ns), format::time(without.ns()));
            let whose = match self.connections {
                1 => format!("its {with}"),
                _ => format!("the connections' total of {with}"),
            };
            let _ = write!(
                finding.advice,
                " Without this, {whose} would be {bound} {without}."
            );
        }
        let is_compared = is_window(finding.cause) && self.is_beside_timeouts;
        if let (true, Some(TimeWithout::About(ns))) = (is_compared, self.time_without) {
            let saved_ns = self.time_ns.saturating_sub(ns) as f64;
            let saved = self.share_of_time * stats::ratio(saved_ns, self.explained_ns).min(1.0);
            finding.evidence.insert(SAVED.to_owned(), saved);
        }
        let cause = finding.cause;
        let parts = [
            Some((finding, None)),
            self.alternative.map(|it| (it, Some(cause))),
        ];
        let found = parts.into_iter().flatten();
        found
            .map(|(finding, alternative_to)| PathFinding {
                sender: self.sender.clone(),
                receiver: self.receiver.clone(),
                share_of_time: self.share_of_time.min(1.0),
                alternative_to,
                finding,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::synthetic::{MS, MSS, Script};
    use linerate_capture::model::Limit;
    use linerate_capture::tcp::End;
    use std::collections::BTreeMap;

    /// The advice for an upload that waits for its timer once, or in each tenth of its rounds.
    fn advice_after_stalls(upload: Script, stalls: u64) -> String {
        advice_after(upload, stalls, false)
    }

    /// The same; it may also end behind a segment that is repeated in vain.
    fn advice_after(mut upload: Script, stalls: u64, ends_open: bool) -> String {
        let mut at_ns = 10 * MS;
        for round in 0..100 {
            let first = upload.sent();
            upload.at(at_ns).send(8, MSS, MS);
            at_ns += 10 * MS;
            if round % 10 == 5 && round / 10 < stalls {
                upload.at(at_ns + 2_000 * MS / stalls).segment(first, MSS);
                at_ns += 2_010 * MS / stalls;
            }
            upload.at(at_ns).ack_all();
        }
        if ends_open {
            let first = upload.sent();
            upload.at(at_ns + 10 * MS).send(8, MSS, MS);
            upload.after(2_000 * MS).segment(first, MSS);
        }
        let flow = upload.flow();
        let facts = FlowFacts::of(&flow).expect("payload");
        let mut findings = CombinedFindings::default();
        let stall = Rule {
            share: facts.share(Limit::Timeout),
            cause: Cause::RetransmissionStalls,
            confidence: 0.8,
            summary: String::new(),
            evidence: BTreeMap::new(),
            advice: String::new(),
            limits: &[Limit::Timeout],
            has_gain: true,
        };
        assert!(stall.share > 0.5, "{}", stall.share);
        findings.add(&facts, stall, &[], 1.0);
        findings.into_findings().remove(0).finding.advice
    }

    #[test]
    fn one_event_in_a_part_of_a_transfer_bounds_what_the_rest_would_gain() {
        let late = || Script::late(End::First, 60_000);
        let whole = || Script::open(End::First, 4 * MS, MS / 50, 60_000);
        let is_bound = |advice: &str| advice.contains("at most");
        assert!(is_bound(&advice_after_stalls(late(), 1)));
        assert!(!is_bound(&advice_after_stalls(late(), 8)));
        assert!(!is_bound(&advice_after_stalls(whole(), 1)));
        // How long it would have lasted is unknown.
        assert!(is_bound(&advice_after(whole(), 0, true)));
    }
}

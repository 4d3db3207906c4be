//! A receiver that does nothing for a while, again and again.

use super::facts::{FlowClass, FlowFacts};
use super::rhythm::Rhythm;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span};
use linerate_results::format;
use linerate_results::record::Cause;

/// Standing still for a smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.1;
/// A shorter wait for the timer is that of a lost segment on a short path.
const STALL_NS: u64 = 30_000_000;
/// Fewer are no rhythm.
const MIN_STALLS: usize = 3;
/// What happens in a smaller part of the time belongs to the beginning or the end of the transfer.
const MIN_SPREAD: f64 = 0.4;
/// A window that limits the sender for less of the time is not worth mentioning.
const MIN_WINDOW_SHARE: f64 = 0.15;

/// Silences of the receiver, and timeouts although nothing was lost.
pub(super) fn standstills(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk {
        return None;
    }
    let stalls = stalls(facts);
    let (first, last) = (stalls.first()?, stalls.last()?);
    let total_ns: u64 = stalls.iter().map(Span::ns).sum();
    let share = facts.share_of(total_ns);
    let lost = facts.model.view.lost();
    let is_spread = facts.share_of(last.start_ns - first.start_ns) >= MIN_SPREAD;
    if share < MIN_SHARE
        || stalls.len() < MIN_STALLS
        || !is_spread
        || lost as usize * 2 > stalls.len()
    {
        return None;
    }
    // Between stalls it answers; an end that is gone does not.
    let rhythm = Rhythm::of_stalls(&stalls)?;
    let mean_ns = total_ns / stalls.len() as u64;
    let window = facts.share(Limit::ReceiveWindow);
    let mut figures = evidence([
        ("stalls", stalls.len() as f64),
        ("stall_ns_mean", mean_ns as f64),
        ("period_ns", rhythm.period_ns as f64),
        ("lost_segments", lost as f64),
    ]);
    let between = if window >= MIN_WINDOW_SHARE {
        figures.insert("receive_window_share".to_owned(), window);
        format!(
            " Between its stops, {} has filled its window for {} of the time.",
            facts.sender,
            format::percent(window)
        )
    } else {
        String::new()
    };
    Some(Rule {
        share,
        cause: Cause::ReceiverStalls,
        confidence: 0.75,
        summary: format!(
            "{} answers nothing {} times for {} on average, every {}{}, and then everything that was sent before: it stands \
             still meanwhile, or the link to it does.{between}",
            facts.receiver,
            format::count(stalls.len() as u64),
            format::time(mean_ns),
            format::time(rhythm.period_ns),
            if rhythm.is_regular { ", regularly" } else { "" },
        ),
        evidence: figures,
        advice: "Find what stops the receiver at this interval: a flash erase or write, a long interrupt handler, a \
                 debugger, garbage collection, a radio that scans; split that work, or move it to another core."
            .to_owned(),
        limits: &[Limit::Timeout, Limit::LateAck],
        has_gain: true,
    })
}

/// The times in which it answers nothing, in chronological order.
fn stalls(facts: &FlowFacts<'_>) -> Vec<Span> {
    let model = &facts.model;
    let silences = model.standstills.iter().map(|it| Span {
        start_ns: it.start_ns,
        end_ns: it.end_ns,
        limit: Limit::LateAck,
        number: 0,
    });
    let is_timeout = |span: &&Span| span.limit == Limit::Timeout && span.ns() >= STALL_NS;
    let timeouts: Vec<Span> = model.spans.iter().filter(is_timeout).copied().collect();
    // What it does not acknowledge has arrived, as far as the capture shows.
    let ends = timeouts.iter().map(|span| span.end_ns - 1);
    let open = model.unacknowledged_at(ends);
    let waits = timeouts.into_iter().zip(open);
    let waits = waits
        .filter(|(_, octets)| *octets > 0)
        .map(|(span, _)| span);
    let mut stalls: Vec<Span> = silences.chain(waits).collect();
    stalls.sort_unstable_by_key(|span| span.start_ns);
    // A timeout that ends within a silence is part of it.
    stalls.dedup_by(|next, before| next.start_ns < before.end_ns);
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::flow::explain_flows;
    use crate::cause::synthetic::{MS, MSS, Script};
    use linerate_capture::tcp::End;

    /// An upload through a window of eight segments, captured at the sender, whose receiver acknowledges pairs, and
    /// `is_late` names the rounds in which it does so 150 ms late.
    fn first_cause(is_late: impl Fn(u64) -> bool) -> Option<Cause> {
        let mut upload = Script::open(End::First, 4 * MS, MS / 50, 8 * MSS as u16);
        let mut at_ns = 10 * MS;
        for round in 0..400 {
            upload.at(at_ns).send(8, MSS, 10_000);
            at_ns += if is_late(round) { 154 * MS } else { 4 * MS };
            upload.at(at_ns).ack_pairs();
            at_ns += MS / 10;
        }
        let (findings, _) = explain_flows(&[upload.flow()]);
        findings.first().map(|it| it.finding.cause)
    }

    #[test]
    fn a_receiver_that_stops_at_intervals_shorter_than_a_timeout_stalls() {
        assert_eq!(
            first_cause(|round| round % 80 == 40),
            Some(Cause::ReceiverStalls)
        );
        assert_eq!(first_cause(|_| false), Some(Cause::ReceiveWindow));
        assert_ne!(
            first_cause(|round| round % 3 == 0),
            Some(Cause::ReceiverStalls)
        );
        assert_ne!(
            first_cause(|round| round < 4),
            Some(Cause::ReceiverStalls),
            "only in the beginning"
        );
    }
}

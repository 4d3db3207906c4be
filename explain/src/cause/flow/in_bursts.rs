//! Bursts at the interval of a clock, away from the sender: its own pace, or that of a path which serves it in turns.

use super::class::FlowClass;
use super::facts::FlowFacts;
use super::pacing::{Bursts, IDLE_NS};
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// The rate of a transfer whose segments come in bursts at one interval, where nothing shows who sets it.
pub(super) fn in_bursts(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk {
        return None;
    }
    // A program that writes now and then has longer pauses.
    let bursts = Bursts::at_interval(facts).filter(|it| it.interval_ns < IDLE_NS)?;
    let rate = stats::ratio(
        bursts.segments * facts.full as f64 * 1e9,
        bursts.interval_ns as f64,
    );
    Some(Rule {
        share: stats::ratio(facts.goodput(), rate).min(1.0),
        cause: Cause::PathRate,
        confidence: 0.45,
        summary: format!(
            "{:.1} segments pass every {}, {} of payload: a link before {} serves this transfer in turns and carries no more, or {} paces its \
             segments, or acknowledgments come back to it at this interval.",
            bursts.segments,
            format::time(bursts.interval_ns),
            format::rate(rate),
            facts.receiver,
            facts.sender,
        ),
        evidence: evidence([
            ("burst_interval_ns", bursts.interval_ns as f64),
            ("segments_per_burst", bursts.segments),
            ("burst_bytes_per_s", rate),
            ("fastest_bytes_per_s", rate.max(facts.goodput())),
        ]),
        advice: "A capture at the sender decides: one that paces sends at this interval whatever is acknowledged, before any link.".to_owned(),
        limits: &[Limit::PathRate],
        has_gain: false,
    })
}

#[cfg(test)]
mod tests {
    use crate::cause::flow::explain_flows;
    use crate::cause::synthetic::{MS, MSS, Script, US};
    use linerate_capture::tcp::End;
    use linerate_results::record::Cause;

    /// Pairs of segments that arrive at a receiver, 26 ms from the sender, each `interval_us` after the one before.
    fn pairs(interval_us: impl Fn(u64) -> u64) -> Vec<Cause> {
        let mut upload = Script::open(End::First, 20 * US, 26 * MS, 60_000);
        let mut at_ns = 40 * MS;
        for at in 0..400 {
            upload.at(at_ns).send(2, MSS, 290 * US);
            upload.after(20 * US).ack_all();
            at_ns += interval_us(at) * US;
        }
        let (found, _) = explain_flows(&[upload.flow()]);
        found.iter().map(|it| it.finding.cause).collect()
    }

    #[test]
    fn pairs_of_segments_at_one_interval_have_the_pace_of_a_path_or_of_their_sender() {
        assert_eq!(pairs(|_| 4_450), [Cause::PathRate]);
        assert_eq!(pairs(|at| 3_900 + at * 7 % 11 * 100), []);
    }
}

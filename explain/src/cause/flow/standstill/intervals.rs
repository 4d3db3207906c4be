//! A receiver that answers at once until it has taken a block, and then nothing for the same time behind each block: it erases a
//! sector, or writes a page.

use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, percentile};
use linerate_results::format;
use linerate_results::record::Cause;

/// A shorter stop may be a delayed acknowledgment (40 ms in common stacks).
const MIN_STOP_NS: u64 = 60_000_000;
/// A stop is longer than this multiple of the path's round trip.
const MIN_ROUND_TRIPS: u64 = 4;
/// Fewer may be equal by chance.
const MIN_STOPS: usize = 4;
/// Stops are equal if the middle eight of ten differ by less than this part.
const EQUAL_PART: u64 = 8;
/// They take at least this share of the time.
const MIN_SHARE: f64 = 0.3;
/// A receiver that looks for frames at intervals answers none of the first ones at once; so many answers in a row, or some for each
/// of as many stops, show one that is told of each.
const MIN_PROMPT: usize = 8;
const PROMPT_PER_STOP: usize = 2;
/// An answer later than the path accounts for by this is that of a timer.
const PROMPT_NS: u64 = 5_000_000;
/// Acknowledgments closer together are those of one look.
const TOGETHER_NS: u64 = 200_000;
/// A host works on a frame for less: so many answers in a row that are further apart came to what arrived one after the other.
const APART_NS: u64 = 2_000_000;
const MIN_APART: usize = 4;
/// Two segments are acknowledged at once (RFC 9293 section 3.8.6.3).
const OWED_SEGMENTS: u64 = 2;

/// Times from which the receiver owes an acknowledgment until it comes, and the distance to the one before, ns.
fn answers(facts: &FlowFacts<'_>) -> Vec<(u64, u64)> {
    let view = &facts.model.view;
    let mut sent = view.sent.iter().peekable();
    let (mut highest, mut acked, mut since_ns, mut last_ns) = (0, 0, None, 0);
    let mut answers = Vec::new();
    for ack in &view.acks {
        while let Some(it) = sent.next_if(|it| it.number < ack.number) {
            highest = highest.max(it.end);
            if since_ns.is_none() && highest >= acked + OWED_SEGMENTS * facts.full {
                since_ns = Some(it.time_ns);
            }
        }
        if ack.ack <= acked {
            continue;
        }
        answers.extend(since_ns.map(|ns: u64| (ack.time_ns - ns, ack.time_ns - last_ns)));
        (acked, last_ns) = (ack.ack, ack.time_ns);
        let is_owed = highest >= acked + OWED_SEGMENTS * facts.full;
        since_ns = is_owed.then_some(ack.time_ns);
    }
    answers
}

/// The answers that came at once, each at least `apart_ns` after the one before: the most in a row, and all.
fn prompt(answers: &[(u64, u64)], base_ns: u64, apart_ns: u64) -> (usize, usize) {
    let runs = answers.split(|(wait_ns, _)| *wait_ns > base_ns + PROMPT_NS);
    let apart = |run: &[(u64, u64)]| run.iter().filter(|(_, ns)| *ns >= apart_ns).count();
    let counts: Vec<usize> = runs.map(apart).collect();
    (
        counts.iter().copied().max().unwrap_or(0),
        counts.iter().sum(),
    )
}

pub(super) fn stops_after_each_block(facts: &FlowFacts<'_>) -> Option<Rule> {
    let base_ns = facts.model.to_receiver.base_ns()?;
    let answers = answers(facts);
    let least_ns = MIN_STOP_NS.max(MIN_ROUND_TRIPS * base_ns);
    let stops: Vec<u64> = answers
        .iter()
        .map(|(ns, _)| *ns)
        .filter(|ns| *ns >= least_ns)
        .collect();
    let of = |percent| percentile(stops.clone(), percent);
    let (p10, p50, p90) = (of(10)?, of(50)?, of(90)?);
    let total_ns: u64 = stops.iter().sum();
    let share = facts.share_of(total_ns);
    let is_equal = p90 - p10 <= p50 / EQUAL_PART;
    let (most, all) = prompt(&answers, base_ns, TOGETHER_NS);
    let (apart, _) = prompt(&answers, base_ns, APART_NS);
    let is_told = most >= MIN_PROMPT
        || apart >= MIN_APART
        || stops.len() >= MIN_PROMPT && all >= PROMPT_PER_STOP * stops.len();
    // Behind a transfer that fills the way of the acknowledgments, they wait for its queue.
    if facts.against.is_some_and(|it| it.is_full)
        || stops.len() < MIN_STOPS
        || !is_equal
        || share < MIN_SHARE
        || facts.stats().time_outs as usize * 2 > stops.len()
        || !is_told
    {
        return None;
    }
    Some(Rule {
        share,
        cause: Cause::ReceiverStalls,
        confidence: 0.7,
        summary: format!(
            "{} answers nothing {} for {} (median), each time as long, and then everything that was sent before, although it \
             answers at once otherwise: it does something else behind each block.",
            facts.receiver,
            format::times(stops.len() as u64),
            format::time(p50),
        ),
        evidence: evidence([
            ("stalls", stops.len() as f64),
            ("stall_ns_p50", p50 as f64),
            ("ack_ns_least", base_ns as f64),
        ]),
        advice: "Let the receiver take data while it works on a block (a flash erase or write, a computation): a second buffer \
                 and a task of its own, or an operation in the background."
            .to_owned(),
        limits: &[Limit::LateAck, Limit::ReceiveWindow, Limit::InFlight],
        has_gain: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::flow::facts::OppositeTransfer;
    use crate::cause::synthetic::{MS, MSS, Script, US};
    use linerate_capture::tcp::End;

    /// Blocks of 20 segments on a path of 10 ms; `prompt` segments are acknowledged as they arrive, and each block behind them at once,
    /// after a stop of `stop_ms(block)`.
    fn blocks(prompt: u32, stop_ms: impl Fn(u64) -> u64) -> Option<Rule> {
        blocks_against(None, prompt, stop_ms)
    }

    /// The same beside a transfer in the other direction.
    fn blocks_against(
        against: Option<OppositeTransfer>,
        prompt: u32,
        stop_ms: impl Fn(u64) -> u64,
    ) -> Option<Rule> {
        let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
        upload.at(30 * MS);
        for _ in 0..prompt {
            upload.send(2, MSS, 10 * US).after(10 * MS).ack_all();
            upload.after(2 * MS);
        }
        for block in 0..8 {
            upload.send(20, MSS, 10 * US).after(stop_ms(block) * MS);
            upload.ack_pairs().after(20 * US);
        }
        let flow = upload.flow();
        let mut facts = FlowFacts::of(&flow)?;
        facts.against = against;
        stops_after_each_block(&facts)
    }

    #[test]
    fn equal_stops_of_a_receiver_that_answers_at_once_otherwise_are_its_work() {
        let rule = blocks(12, |block| 200 + block % 2).expect("stops");
        assert_eq!(rule.cause, Cause::ReceiverStalls);
        assert!(rule.summary.contains("8 times"), "{}", rule.summary);
    }

    /// Blocks of six segments; some pairs are acknowledged as they arrive, and then all, after a stop of 90 ms.
    fn short_blocks(blocks: u64, pairs: u32) -> Option<Rule> {
        let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
        upload.at(30 * MS);
        for _ in 0..blocks {
            for _ in 0..pairs {
                upload.send(2, MSS, 10 * US).after(10 * MS).ack_all();
                upload.after(2 * MS);
            }
            upload.send(6, MSS, 10 * US).after(90 * MS).ack_pairs();
            upload.after(20 * US);
        }
        stops_after_each_block(&FlowFacts::of(&upload.flow())?)
    }

    #[test]
    fn stops_behind_a_few_prompt_answers_each_are_those_of_blocks() {
        assert!(short_blocks(20, 3).is_some());
        assert!(short_blocks(20, 1).is_none(), "it may look at intervals");
        assert!(short_blocks(5, 3).is_none(), "few");
    }

    /// A few pairs are acknowledged as they arrive, `apart_ns` after each other, and then eight blocks at once, after a stop of 120 ms each.
    fn begins_with(pairs: u32, apart_ns: u64) -> Option<Rule> {
        let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
        upload.at(30 * MS).send(20, MSS, 10 * US).after(10 * MS);
        for pair in 1..=pairs {
            upload.ack(1 + 2 * pair * MSS).after(apart_ns);
        }
        for _ in 0..8 {
            upload.after(120 * MS).ack_pairs().after(20 * US);
            upload.send(12, MSS, 10 * US);
        }
        stops_after_each_block(&FlowFacts::of(&upload.flow())?)
    }

    #[test]
    fn a_receiver_that_answered_the_first_block_as_it_came_looks_at_no_intervals() {
        assert!(begins_with(5, 5 * MS).is_some());
        assert!(begins_with(2, 5 * MS).is_none(), "few");
        assert!(begins_with(5, MS).is_none(), "its work on each frame");
    }

    #[test]
    fn other_waits_are_not() {
        assert!(blocks(12, |block| 70 + block * 60).is_none(), "not equal");
        assert!(blocks(0, |_| 200).is_none(), "it looks at intervals");
        assert!(blocks(12, |_| 40).is_none(), "delayed acknowledgments");
        let full = OppositeTransfer {
            bytes_per_s: 500_000.0,
            queue_ns: Some(200 * MS),
            is_full: true,
            may_fill: true,
        };
        assert!(blocks_against(Some(full), 12, |_| 200).is_none(), "a queue");
    }
}

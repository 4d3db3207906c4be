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
/// Unless it comes behind blocks of the same size, of so many segments at least: a shorter one may be that of a scheduler.
const MIN_STOP_BEHIND_BLOCK_NS: u64 = 10_000_000;
const MIN_BLOCK_SEGMENTS: u64 = 8;
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
/// The evidence of this rule.
pub(in crate::cause::flow) const STOP: &str = "stall_ns_p50";
/// Two segments are acknowledged at once (RFC 9293 section 3.8.6.3).
const OWED_SEGMENTS: u64 = 2;

/// An acknowledgment that was owed.
struct Answer {
    /// Time since it was owed.
    wait_ns: u64,
    /// Time since the one before.
    apart_ns: u64,
    /// Octets that were acknowledged before.
    acked: u64,
    /// True if what it acknowledges had arrived when the one before left, and was left out then.
    was_left: bool,
}

/// The acknowledgments that the receiver owed.
fn answers(facts: &FlowFacts<'_>, base_ns: u64) -> Vec<Answer> {
    let view = &facts.model.view;
    let mut owed = view.sent.iter().peekable();
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
        let owes = acked + OWED_SEGMENTS * facts.full;
        while owed.next_if(|it| it.end < owes).is_some() {}
        let arrived_ns = owed.peek().map_or(u64::MAX, |it| it.time_ns + base_ns);
        answers.extend(since_ns.map(|ns: u64| Answer {
            wait_ns: ack.time_ns - ns,
            apart_ns: ack.time_ns - last_ns,
            acked,
            was_left: arrived_ns.saturating_add(PROMPT_NS) < last_ns,
        }));
        (acked, last_ns) = (ack.ack, ack.time_ns);
        let is_owed = highest >= acked + OWED_SEGMENTS * facts.full;
        since_ns = is_owed.then_some(ack.time_ns);
    }
    answers
}

/// The answers that came at once, each at least `apart_ns` after the one before: how many in each row, rows without any left out.
fn prompt(answers: &[Answer], base_ns: u64, apart_ns: u64) -> Vec<usize> {
    let rows = answers.split(|it| it.wait_ns > base_ns + PROMPT_NS);
    let apart = |row: &[Answer]| row.iter().filter(|it| it.apart_ns >= apart_ns).count();
    rows.map(apart).filter(|count| *count > 0).collect()
}

/// The median, and true if the middle eight of ten differ by less than `EQUAL_PART` of it.
fn middle(values: &[u64]) -> Option<(u64, bool)> {
    let of = |percent| percentile(values.to_vec(), percent);
    let (p10, p50, p90) = (of(10)?, of(50)?, of(90)?);
    Some((p50, p90 - p10 <= p50 / EQUAL_PART))
}

/// Octets that the receiver takes between two stops, if it stops whenever it has taken as many, whatever time that takes.
fn block_of(stops: &[&Answer], full: u64) -> Option<u64> {
    let pairs = stops.windows(2);
    let blocks: Vec<u64> = pairs.map(|pair| pair[1].acked - pair[0].acked).collect();
    let (octets, is_equal) = middle(&blocks)?;
    let is_block = is_equal && octets >= MIN_BLOCK_SEGMENTS * full && stops.len() >= MIN_PROMPT;
    is_block.then_some(octets)
}

pub(super) fn stops_after_each_block(facts: &FlowFacts<'_>) -> Option<Rule> {
    let base_ns = facts.model.to_receiver.base_ns()?;
    let answers = answers(facts, base_ns);
    let stops = |least_ns: u64| -> Vec<&Answer> {
        let least_ns = least_ns.max(MIN_ROUND_TRIPS * base_ns);
        answers.iter().filter(|it| it.wait_ns >= least_ns).collect()
    };
    let (mut stops, short) = (stops(MIN_STOP_NS), stops(MIN_STOP_BEHIND_BLOCK_NS));
    let between = prompt(&answers, base_ns, TOGETHER_NS);
    // Whoever looks at intervals, or delays acknowledgments, takes all that has arrived.
    let left = short.iter().filter(|it| it.was_left).count();
    let is_other = 2 * between.len().max(left) >= short.len();
    let block = block_of(&short, facts.full).filter(|_| is_other);
    if block.is_some() {
        stops = short;
    }
    let waits: Vec<u64> = stops.iter().map(|it| it.wait_ns).collect();
    let total_ns: u64 = waits.iter().sum();
    let (p50, is_equal) = middle(&waits)?;
    let share = facts.share_of(total_ns);
    let most_prompt = |apart_ns| prompt(&answers, base_ns, apart_ns).into_iter().max();
    let answers_between =
        stops.len() >= MIN_PROMPT && between.iter().sum::<usize>() >= PROMPT_PER_STOP * stops.len();
    let is_told = most_prompt(TOGETHER_NS) >= Some(MIN_PROMPT)
        || most_prompt(APART_NS) >= Some(MIN_APART)
        || answers_between;
    let is_alike = is_equal || block.is_some();
    // Behind a transfer that fills the way of the acknowledgments, they wait for its queue.
    if facts.against.is_some_and(|it| it.is_full)
        || stops.len() < MIN_STOPS
        || !is_alike
        || share < MIN_SHARE
        || facts.stats().time_outs as usize * 2 > stops.len()
        || !is_told
    {
        return None;
    }
    let mut figures = evidence([
        ("stalls", stops.len() as f64),
        (STOP, p50 as f64),
        ("ack_ns_least", base_ns as f64),
    ]);
    let how = match block {
        Some(octets) => {
            figures.insert("block_bytes".to_owned(), octets as f64);
            format!("each time behind about {}", format::bytes(octets))
        }
        None => "each time as long, and then everything that was sent before".to_owned(),
    };
    Some(Rule {
        share,
        cause: Cause::ReceiverStalls,
        confidence: 0.7,
        summary: format!(
            "{} answers nothing {} for {} (median), {how}, although it answers at once otherwise: it does something else behind each block.",
            facts.receiver,
            format::times(stops.len() as u64),
            format::time(p50),
        ),
        evidence: figures,
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

    /// 12 blocks of so many segments; pairs are acknowledged as they arrive, and behind each block after a stop of 20 to 50 ms.
    fn short_stops(segments: impl Fn(u32) -> u32) -> Option<Rule> {
        let mut upload = Script::open(End::First, MS, 20 * US, 60_000);
        upload.at(3 * MS);
        for block in 0..12 {
            for _ in 0..segments(block) / 2 {
                upload.send(2, MSS, 10 * US).after(MS).ack_all();
            }
            let stop_ns = (20 + u64::from(block % 3) * 15) * MS;
            upload.send(4, MSS, 10 * US).after(stop_ns).ack_pairs();
            upload.after(20 * US);
        }
        stops_after_each_block(&FlowFacts::of(&upload.flow())?)
    }

    #[test]
    fn stops_behind_blocks_of_one_size_may_be_short_and_of_any_length() {
        let rule = short_stops(|_| 20).expect("stops");
        assert!(
            rule.evidence.contains_key("block_bytes"),
            "{:?}",
            rule.evidence
        );
        assert!(rule.summary.contains("behind about"), "{}", rule.summary);
        assert!(short_stops(|block| 8 + block * 4).is_none(), "any size");
        assert!(short_stops(|_| 2).is_none(), "a few segments");
    }

    /// A receiver that answers ten pairs as they arrive; then, of 30 segments that are outstanding, it takes `count` every 20 ms.
    fn takes_every_20_ms(count: u32) -> Option<Rule> {
        let mut upload = Script::open(End::First, MS, 20 * US, 60_000);
        upload.at(3 * MS);
        for _ in 0..10 {
            upload.send(2, MSS, 10 * US).after(MS).ack_all();
        }
        upload.send(30, MSS, 10 * US);
        let mut acked = 20;
        for _ in 0..12 {
            upload.after(20 * MS);
            for _ in 0..count / 2 {
                acked += 2;
                upload.ack(1 + acked * MSS).after(10 * US);
            }
            upload.send(count, MSS, 10 * US);
        }
        stops_after_each_block(&FlowFacts::of(&upload.flow())?)
    }

    #[test]
    fn a_receiver_that_leaves_what_has_arrived_works_on_a_block() {
        assert!(takes_every_20_ms(20).is_some());
        assert!(takes_every_20_ms(30).is_none(), "it takes all");
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

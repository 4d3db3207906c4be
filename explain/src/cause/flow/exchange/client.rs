//! A client that takes time before it asks again.

use super::thinking::{
    ANSWER_SEGMENTS, MIN_FULL, MIN_SHARE, MIN_TIMES, MIN_TOTAL_NS, MOST, NEWS_NS, PERSON_NS,
    Thinking, before_turns, has_own_timer, larger_sender, server,
};
use crate::cause::flow::clock::are_ticks;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, percentile};
use linerate_results::format;
use linerate_results::record::Cause;

/// A larger answer does not fit into the initial window (RFC 6928 section 2): it is a transfer, and no message.
const TRANSFER_SEGMENTS: u64 = 10;
/// Nobody looks at so many answers in turn for up to a second each.
const MANY_REQUESTS: usize = 8;
/// Intervals agree far better than other times if these spread by so many times as much.
const FAR_BETTER: u64 = 16;

pub(in crate::cause::flow) fn client_think_time(facts: &FlowFacts<'_>) -> Option<Rule> {
    // Where ports show nothing, the larger end serves, if it sends transfers.
    let known = server(facts);
    let client = known.or_else(|| larger_sender(facts))?.other();
    let mut thinking = Thinking::of(facts, client);
    let answers = &facts.model.turns.turn_bytes[client.other() as usize];
    let answer = percentile(answers.clone(), 50)?;
    let is_transfer = answer >= TRANSFER_SEGMENTS * facts.full;
    if known.is_none() && !is_transfer {
        return None;
    }
    let is_once = is_transfer && is_pause_in_loop(facts, &thinking);
    if !is_once {
        // What is much longer than usual is a person's.
        let longest_ns = 4 * thinking.percentile(50);
        thinking.times.retain(|(_, ns)| *ns <= longest_ns);
    }
    let total_ns = thinking.total_ns();
    let share = facts.share_of(total_ns);
    let median_ns = thinking.percentile(50);
    // Answers of one segment at the pace of the program are messages, and no transfer that waits.
    let mss = facts.connection().mss(client).map_or(facts.full, u64::from);
    let is_program = answer > mss.max(MIN_FULL) && median_ns <= PERSON_NS
        || is_transfer
            && median_ns <= NEWS_NS
            && (thinking.varies_little() || thinking.times.len() >= MANY_REQUESTS)
        || answer >= ANSWER_SEGMENTS * facts.full && thinking.is_uniform();
    let is_loop = is_program && thinking.is_usual() && thinking.is_even();
    if share < MIN_SHARE || total_ns < MIN_TOTAL_NS || !(is_loop || is_once) {
        return None;
    }
    // If the server does not wait for requests, the client does not keep it waiting.
    let serving = Thinking::of(facts, client.other());
    let asked = thinking
        .times
        .iter()
        .map(|(wait, _)| wait.start_ns + wait.ns);
    let is_timed = asks_at_intervals(facts, &thinking)
        || are_ticks(&asked.collect::<Vec<_>>())
        || has_own_timer(facts, &thinking)
        || serving.is_usual() && has_own_timer(facts, &serving);
    if is_timed {
        return None;
    }
    let name = facts.flow.ends[client as usize].0;
    let mut figures = evidence([
        ("think_ns_p50", median_ns as f64),
        ("think_ns_total", total_ns as f64),
        ("requests", thinking.turns.max(thinking.times.len()) as f64),
        ("think_share", share),
        ("late_requests", thinking.times.len() as f64),
    ]);
    figures.extend(
        thinking
            .packets()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Some(Rule {
        share,
        cause: Cause::ClientThinkTime,
        confidence: match known {
            Some(_) if is_loop => 0.75,
            Some(_) => 0.65,
            None => 0.55,
        },
        summary: format!(
            "{name} takes {} after the answer before: {} of the time.",
            before_turns(&thinking, "further requests", "next request"),
            format::percent(share),
        ),
        evidence: figures,
        advice: "The server and the network wait for the client: request the next item before the last is processed, \
                 or request several at once."
            .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: false,
    })
}

/// True if all requests follow each other at intervals that agree far better than the times since the answers before: those of a player,
/// which asks for a part when it has played one. What a program does with an answer would add up with the time that the answer takes.
fn asks_at_intervals(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let waits = &facts.model.turns.waits[thinking.end as usize];
    let asked: Vec<u64> = waits.iter().map(|it| it.start_ns + it.ns).collect();
    let intervals = asked
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    let between = |values: Vec<u64>, [from, to]: [usize; 2]| {
        Some(percentile(values.clone(), to)? - percentile(values, from)?)
    };
    let spread_ns = between(intervals, [10, 90]);
    let waited_ns = between(waits.iter().map(|it| it.ns).collect(), [25, 75]);
    let agree = |(spread_ns, waited_ns): (u64, u64)| spread_ns * FAR_BETTER < waited_ns;
    waits.len() > MIN_TIMES && spread_ns.zip(waited_ns).is_some_and(agree)
}

/// True if one or two pauses take most of the time of a loop: a program requests answers of one size one after another,
/// and the others at once.
fn is_pause_in_loop(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let answers = facts.model.turns.turn_bytes[thinking.end.other() as usize].clone();
    let sizes = [10, 90].map(|percent| percentile(answers.clone(), percent).unwrap_or(0));
    let is_uniform = sizes[1] <= sizes[0] + sizes[0] / 4;
    let long = thinking
        .times
        .iter()
        .filter(|(_, ns)| *ns >= PERSON_NS)
        .count();
    let is_rare = (1..=2).contains(&long) && thinking.turns >= MIN_TIMES + long;
    is_uniform && is_rare && facts.share_of(thinking.total_ns()) >= MOST
}

//! A server that takes time before its answers begin.

use super::awaited::Awaited;
use super::greeting::{ONCE_ADVICE, is_of_lookups, late_greeting};
use super::thinking::{
    MIN_FULL, MIN_SHARE, MIN_TIMES, MIN_TOTAL_NS, MOST, NEWS_NS, Thinking, asked_ns, before_turns,
    has_own_timer, is_only_late, is_single_work, is_slow_message, is_work, sends_unasked, server,
};
use crate::cause::flow::facts::{FlowFacts, ServerAnswers};
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Wait, percentile};
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::HashMap;

/// Address and port.
type AddressPort = (Address, u16);

/// Most stacks acknowledge within this time, whatever the program does (Linux: from 40 ms, `TCP_DELACK_MIN`; Zephyr: 100 ms,
/// `ACK_DELAY`).
const ACKNOWLEDGED_NS: u64 = 100_000_000;
/// A timer of 250 ms that runs freely (lwIP: `TCP_FAST_INTERVAL`) leaves so many silences of 100 ms by chance once in a
/// dozen connections.
const MIN_SILENT_TIMES: usize = 5;
/// So many times of one size leave no doubt.
const MANY_TIMES: usize = 8;

/// Fewer times that differ by so much may be those of one kind of work.
const MIN_EVENTS: usize = 5;
/// A message that asks for what comes next is not longer.
const MESSAGE_OCTETS: u64 = 64;
/// The longest of such times are this many times as long as the shortest.
const EVENT_FACTOR: u64 = 10;

/// What somebody awaits in one go is noticed from here on (Lighthouse, `server-response-time`: a server that takes no longer before its
/// answer is fast enough); a client that takes more of the time than the server keeps itself waiting.
const NOTICED_NS: u64 = 600_000_000;

pub(super) const ADVICE: &str = "The network is not the limit. Find what the server does before its first octet: reading a sensor or a file, \
                      computing the length, waiting for a lock; or send what is ready at once.";

/// Times of the server's program, without those that may be news.
fn server_thinking(facts: &FlowFacts<'_>, server: End) -> Thinking {
    let mut thinking = Thinking::of(facts, server);
    if !is_only_late(facts, &thinking) {
        thinking.times.retain(|it| is_work(facts, it));
    }
    thinking
}

/// Notes for each connection the answers of its server in all connections from the same client to the same port.
pub(in crate::cause::flow) fn share_answers(all: &mut [FlowFacts<'_>]) {
    let hosts = |facts: &FlowFacts<'_>| {
        let server = server(facts)?;
        let ends = facts.flow.ends;
        Some((
            ends[server as usize],
            ends[server.other() as usize].0,
            server,
        ))
    };
    let mut sums: HashMap<(AddressPort, Address), (ServerAnswers, Awaited)> = HashMap::new();
    for facts in all.iter() {
        if let Some((at, client, server)) = hosts(facts) {
            let thinking = server_thinking(facts, server);
            let (sum, awaited) = sums.entry((at, client)).or_default();
            sum.turns += thinking.turns.max(thinking.times.len());
            sum.late += thinking.times.len();
            awaited.add(facts, &thinking);
        }
    }
    let sums: HashMap<_, ServerAnswers> = sums
        .into_iter()
        .map(|(ends, (sum, awaited))| {
            let most_ns = awaited.most_ns();
            (ends, ServerAnswers { most_ns, ..sum })
        })
        .collect();
    for facts in all {
        if let Some(sum) = hosts(facts).and_then(|(at, client, _)| sums.get(&(at, client))) {
            facts.answers = *sum;
        }
    }
}

/// True if many answers come after any time: work of one kind takes as long again, and has a time that most answers take at least.
fn varies_widely(thinking: &Thinking) -> bool {
    thinking.times.len() >= MIN_EVENTS
        && thinking.percentile(50) >= 2 * thinking.percentile(10)
        && !thinking.is_even()
        && thinking.percentile(90) > EVENT_FACTOR * thinking.percentile(10)
}

/// True if many short answers to short messages come after any time, or usually after more than a second, or any answers after both: what a
/// screen shows or a user does is answered when it happens (RFC 6143 section 7.5.3, incremental updates; long polling).
fn waits_for_events(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let median = |octets: fn(&Wait) -> u64| {
        let all = thinking.times.iter().map(|(wait, _)| octets(wait));
        percentile(all.collect(), 50).unwrap_or(0)
    };
    let (asked, answered) = (median(|wait| wait.bytes_before), median(|wait| wait.bytes));
    let segment = facts.full.max(MIN_FULL);
    let are_messages = asked <= MESSAGE_OCTETS || asked.max(answered) < segment;
    let are_late = thinking.times.len() >= MIN_TIMES && is_slow_message(facts, thinking);
    let varies = varies_widely(thinking);
    are_messages && (varies || are_late) || varies && thinking.percentile(50) > NEWS_NS
}

/// The server takes time before its answers begin, or before its greeting, beyond the round trip.
pub(in crate::cause::flow) fn server_think_time(facts: &FlowFacts<'_>) -> Option<Rule> {
    late_answers(facts).or_else(|| late_greeting(facts))
}

fn late_answers(facts: &FlowFacts<'_>) -> Option<Rule> {
    let server = server(facts)?;
    let thinking = server_thinking(facts, server);
    let total_ns = thinking.total_ns();
    let asked_ns = asked_ns(facts, server);
    let share = stats::ratio(total_ns as f64, asked_ns as f64);
    let median_ns = thinking.percentile(50);
    let all = facts.answers;
    let has_no_work = has_own_timer(facts, &thinking)
        || sends_unasked(facts, &thinking)
        // Those that may be news show how much the times vary.
        || waits_for_events(facts, &Thinking::of(facts, server));
    // A program that takes so long does not keep its stack from acknowledging the request.
    let is_asleep = thinking.is_silent()
        && median_ns >= ACKNOWLEDGED_NS
        && thinking.times.len() >= MIN_SILENT_TIMES;
    // Where the stack shows that it sleeps, it does whatever the client does between its requests, which may take more of the time.
    let (is_noticed, least_share) = if is_asleep {
        (total_ns >= MIN_TOTAL_NS, MIN_SHARE)
    } else {
        (all.most_ns >= NOTICED_NS, MOST)
    };
    if !is_noticed || share < least_share || has_no_work {
        return None;
    }
    let is_usual_in_all = all.late >= MIN_TIMES && all.late * 2 >= all.turns;
    let is_usual = thinking.is_usual() || is_usual_in_all;
    let is_single = total_ns >= MIN_TOTAL_NS && is_single_work(facts, &thinking);
    let is_of_server = is_usual || is_single && share >= MOST;
    if !is_of_server {
        return None;
    }
    // A host in between that opens the connection itself (proxy, address translation by a program) announces less.
    let is_opened_by_other = facts.connection().handshake().syn_ack_ns.is_some()
        && facts.connection().mss(server).is_none();
    let is_certain = thinking.times.len() >= MANY_TIMES && thinking.is_even();
    // Near the client, one answer that was lost and repeated looks the same, and so do news, or a timer of the server's.
    let is_once = all.late == 1 && facts.model.is_near_receiver();
    let is_doubtful = is_once
        || is_opened_by_other
        || is_slow_message(facts, &thinking)
        || varies_widely(&thinking)
        || thinking.is_constant();
    let confidence = match (is_doubtful, is_certain) {
        (true, _) => 0.6,
        (false, true) => 0.85,
        (false, false) => 0.75,
    };
    let name = facts.flow.ends[server as usize].0;
    let mut figures = evidence([
        ("think_ns_p50", median_ns as f64),
        ("think_ns_total", total_ns as f64),
        ("answers", thinking.turns.max(thinking.times.len()) as f64),
        ("late_answers", thinking.times.len() as f64),
        ("think_share", share.min(1.0)),
        ("capture_rtt_ns", thinking.leg_ns as f64),
        (
            "constant_silence",
            f64::from(u8::from(thinking.is_silent())),
        ),
    ]);
    figures.extend(
        thinking
            .packets()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    if is_asleep {
        return Some(Rule {
            share: facts.share_of(total_ns),
            cause: Cause::WakeUpLatency,
            confidence: 0.6,
            summary: format!(
                "{name} takes {}, beyond the round trip of {} from the capture point, always as long, and acknowledges no \
                 request before: its stack is late, too, as that of a station that sleeps between the requests.",
                before_turns(&thinking, "answers begin", "answer begins"),
                format::time(thinking.leg_ns),
            ),
            evidence: figures,
            advice: "Look for power saving at that end: a sleeping radio (esp_wifi_set_ps, a listen interval), a CPU idle \
                     state, a polling interval."
                .to_owned(),
            limits: &[Limit::SenderIdle],
            has_gain: false,
        });
    }
    Some(Rule {
        share: facts.share_of(total_ns),
        cause: Cause::ServerThinkTime,
        confidence,
        summary: format!(
            "{name} takes {}, beyond the round trip of {} from the capture point: {} of the time in which something is asked.",
            before_turns(&thinking, "answers begin", "answer begins"),
            format::time(thinking.leg_ns),
            format::percent(share.min(1.0)),
        ),
        evidence: figures,
        advice: match thinking.times.as_slice() {
            [(_, ns)] if is_of_lookups(*ns) => ONCE_ADVICE,
            _ => ADVICE,
        }
        .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: false,
    })
}

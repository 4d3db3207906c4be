//! Questions and answers by UDP, one at a time.

use crate::cause::scored::{PathFinding, evidence};
use linerate_capture::traffic::Transfer;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Waiting for a shorter answer is hardly shortened (the round trip of some 2,000 km of fibre).
const MIN_ANSWER_NS: u64 = 20_000_000;
/// Nobody waits longer for an answer (J. Nielsen, Usability Engineering, 1993, section 5.5): it is news.
const MAX_ANSWER_NS: u64 = 10_000_000_000;
/// Less in all is not noticed as slow (ITU-T G.1010: a transaction below 2 s).
const MIN_TOTAL_NS: f64 = 2e9;
/// A client that waits for nothing else asks again within this part of the time that an answer takes.
const PROMPT_DIVISOR: u64 = 4;
/// Beside a clock of the client, what the server takes longer is missing until the next question: both times vary alike.
const MIN_SPREAD_FACTOR: u64 = 2;

/// The dialogues in which a client waits for answers for most of the time.
pub(super) fn dialogues(all: &[Transfer], duration_ns: u64) -> Vec<PathFinding> {
    let found = all.iter().filter_map(|it| dialogue(it, duration_ns));
    found.collect()
}

fn dialogue(it: &Transfer, duration_ns: u64) -> Option<PathFinding> {
    let [client, server] = &it.sides;
    let of = |percent: f64| {
        let client_ns = client.delays.percentile(percent)?;
        Some((client_ns, server.delays.percentile(percent)?))
    };
    let (asks_ns, answers_ns) = of(50.0)?;
    let (short, long) = (of(25.0)?, of(75.0)?);
    let has_own_clock = (long.0 - short.0) * MIN_SPREAD_FACTOR > long.1 - short.1;
    let least_ns = server.delays.min()?;
    let total_ns = answers_ns as f64 * server.delays.count() as f64;
    if !(MIN_ANSWER_NS..=MAX_ANSWER_NS).contains(&answers_ns)
        || asks_ns > answers_ns / PROMPT_DIVISOR
        || has_own_clock
        || total_ns < MIN_TOTAL_NS
    {
        return None;
    }
    let [asking, answering] = it.ends.map(|(address, _)| address);
    Some(PathFinding {
        alternative_to: None,
        sender: Some(answering.to_string()),
        receiver: Some(asking.to_string()),
        share_of_time: stats::ratio(total_ns, duration_ns as f64).min(1.0),
        finding: Finding {
            cause: Cause::ServerThinkTime,
            confidence: 0.7,
            summary: format!(
                "{asking} asks {answering} {} by UDP (port {}), each time when it has the answer to the question before: answers take {} \
                 (median), {} at least.",
                format::times(server.datagrams),
                it.ends[1].1,
                format::time(answers_ns),
                format::time(least_ns),
            ),
            evidence: evidence([
                ("answers", server.datagrams as f64),
                ("answer_ns_p50", answers_ns as f64),
                ("answer_ns_least", least_ns as f64),
                ("next_question_ns_p50", asks_ns as f64),
                ("waited_ns", total_ns),
                ("first_packet", it.first_packet as f64),
                ("last_packet", it.last_packet as f64),
            ]),
            advice: "Ask for more at a time (several values in one request), or keep several questions in flight. Compare the time of an \
                     answer with a ping: what is longer is the time of the program that answers, or of what it asks in turn."
                .to_owned(),
        },
    })
}

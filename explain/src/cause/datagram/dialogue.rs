//! Questions and answers by UDP, one at a time.

use crate::cause::scored::{ALTERNATIVE, PathFinding, evidence};
use linerate_capture::tcp::Histogram;
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
/// One whose clock ticks so soon behind each answer does so by coincidence.
const AT_ONCE_DIVISOR: u64 = 100;
/// Two devices that send in cycles may be as close behind each other: their cycles are multiples of 10 ms, and shorter than a quarter of a
/// second (ITU-T G.1010: below 250 ms for command and control).
const STEP_NS: u64 = 10_000_000;
const MAX_CYCLE_NS: u64 = 250_000_000;
const ROUND_DIVISOR: u64 = 100;
/// Beside a clock of the client, what the server takes longer is missing until the next question: both times vary alike.
const MIN_SPREAD_FACTOR: u64 = 2;
/// A path takes the same time again, work hardly: half of the times are within this part of their median.
const CONSTANT_DIVISOR: u64 = 50;

/// The times of work: half of them are spread over this part of their median or more. Queues of a path vary less, while one datagram is
/// on the way.
const VARYING_DIVISOR: u64 = 8;

/// The dialogues in which a client waits for answers for most of the time.
pub(super) fn dialogues(all: &[Transfer], duration_ns: u64) -> Vec<PathFinding> {
    let found = all
        .iter()
        .filter_map(|it| Dialogue::of(it)?.findings(duration_ns));
    found.flatten().collect()
}

/// Blocks that are answers: their client asks for each of them, and their server takes a time that varies, which no path does.
pub(super) fn late_blocks(blocks: &Transfer, duration_ns: u64) -> Option<PathFinding> {
    let mut asked = blocks.clone();
    asked.ends.reverse();
    asked.sides.reverse();
    let dialogue = Dialogue::of(&asked)?;
    let varies = dialogue.answers.spread_ns * VARYING_DIVISOR >= dialogue.answers.median_ns;
    let findings = dialogue.findings(duration_ns).filter(|_| varies)?;
    findings.into_iter().next()
}

/// The middle half of a time.
#[derive(Clone, Copy)]
struct Middle {
    median_ns: u64,
    /// From the first to the third quartile.
    spread_ns: u64,
}

impl Middle {
    fn of(delays: &Histogram) -> Option<Self> {
        Some(Self {
            median_ns: delays.percentile(50.0)?,
            spread_ns: delays.percentile(75.0)? - delays.percentile(25.0)?,
        })
    }

    fn is_constant(self) -> bool {
        self.spread_ns * CONSTANT_DIVISOR <= self.median_ns
    }
}

/// Questions and answers, as they pass the capture point.
struct Dialogue<'a> {
    transfer: &'a Transfer,
    /// From an answer to the next question.
    asks: Middle,
    /// From a question to its answer.
    answers: Middle,
}

impl<'a> Dialogue<'a> {
    fn of(transfer: &'a Transfer) -> Option<Self> {
        let [client, server] = &transfer.sides;
        Some(Self {
            transfer,
            asks: Middle::of(&client.delays)?,
            answers: Middle::of(&server.delays)?,
        })
    }

    /// True if the client may ask by a clock.
    fn may_be_clocked(&self) -> bool {
        self.asks.spread_ns * MIN_SPREAD_FACTOR >= self.answers.spread_ns
    }

    /// `None` if nobody waits for long, or if the client may ask by a clock.
    fn findings(&self, duration_ns: u64) -> Option<Vec<PathFinding>> {
        let (asks_ns, answers_ns) = (self.asks.median_ns, self.answers.median_ns);
        let server = &self.transfer.sides[1];
        let is_at_once = asks_ns <= answers_ns / AT_ONCE_DIVISOR && !is_round(asks_ns + answers_ns);
        let total_ns = answers_ns as f64 * server.delays.count() as f64;
        if !(MIN_ANSWER_NS..=MAX_ANSWER_NS).contains(&answers_ns)
            || asks_ns > answers_ns / PROMPT_DIVISOR
            || !is_at_once && self.may_be_clocked()
            || total_ns < MIN_TOTAL_NS
        {
            return None;
        }
        let share = stats::ratio(total_ns, duration_ns as f64).min(1.0);
        let of = |alternative_to, finding| self.finding(share, alternative_to, finding);
        Some(if self.answers.is_constant() {
            vec![
                of(None, self.round_trips(total_ns)),
                of(Some(Cause::OneInFlight), server_works()),
            ]
        } else {
            vec![of(None, self.late_answers(total_ns)?)]
        })
    }

    fn finding(&self, share: f64, alternative_to: Option<Cause>, finding: Finding) -> PathFinding {
        let [asking, answering] = self.transfer.ends.map(|(address, _)| address);
        PathFinding {
            alternative_to,
            sender: Some(answering.to_string()),
            receiver: Some(asking.to_string()),
            share_of_time: share,
            finding,
        }
    }

    /// "A asks B 100 times by UDP (port 161), each time when ..."
    fn asked_text(&self) -> String {
        let [asking, answering] = self.transfer.ends.map(|(address, _)| address);
        format!(
            "{asking} asks {answering} {} by UDP (port {}), each time when it has the answer to the question before",
            format::times(self.transfer.sides[1].datagrams),
            self.transfer.ends[1].1,
        )
    }

    fn round_trips(&self, total_ns: f64) -> Finding {
        let trip_ns = self.answers.median_ns;
        let datagrams = self.transfer.sides[1].datagrams;
        Finding {
            cause: Cause::OneInFlight,
            confidence: 0.65,
            summary: format!(
                "{}: one question per round trip of {} (median).",
                self.asked_text(),
                format::time(trip_ns),
            ),
            evidence: evidence([
                ("answers", datagrams as f64),
                ("round_trip_ns", trip_ns as f64),
                ("waited_ns", total_ns),
                ("first_packet", self.transfer.first_packet as f64),
                ("last_packet", self.transfer.last_packet as f64),
            ]),
            advice: "Ask for more at a time (several values in one request, GETBULK instead of GETNEXT), or keep several questions in \
                     flight."
                .to_owned(),
        }
    }

    fn late_answers(&self, total_ns: f64) -> Option<Finding> {
        let server = &self.transfer.sides[1];
        let least_ns = server.delays.min()?;
        let answers_ns = self.answers.median_ns;
        Some(Finding {
            cause: Cause::ServerThinkTime,
            confidence: 0.7,
            summary: format!(
                "{}: answers take {} (median), {} at least.",
                self.asked_text(),
                format::time(answers_ns),
                format::time(least_ns),
            ),
            evidence: evidence([
                ("answers", server.datagrams as f64),
                ("answer_ns_p50", answers_ns as f64),
                ("answer_ns_least", least_ns as f64),
                ("next_question_ns_p50", self.asks.median_ns as f64),
                ("waited_ns", total_ns),
                ("first_packet", self.transfer.first_packet as f64),
                ("last_packet", self.transfer.last_packet as f64),
            ]),
            advice: "Ask for more at a time (several values in one request), or keep several questions in flight. Compare the time of an \
                     answer with a ping: what is longer is the time of the program that answers, or of what it asks in turn."
                .to_owned(),
        })
    }
}

/// True for intervals of cyclic devices and of voice: near a multiple of 10 ms.
fn is_round(period_ns: u64) -> bool {
    let rest_ns = period_ns.abs_diff((period_ns + STEP_NS / 2) / STEP_NS * STEP_NS);
    period_ns < MAX_CYCLE_NS && rest_ns * ROUND_DIVISOR <= period_ns
}

fn server_works() -> Finding {
    Finding {
        cause: Cause::ServerThinkTime,
        confidence: ALTERNATIVE,
        summary: "The same times fit a program that takes as long for each answer.".to_owned(),
        evidence: evidence([]),
        advice: "To decide: compare the time of an answer with a ping.".to_owned(),
    }
}

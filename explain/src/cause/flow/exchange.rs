//! Requests and answers: which end keeps the other waiting.
//!
//! Time counts as an end's own only if its program, not its stack or the path, is late: after the last octet of the
//! request, beyond the round trip, without a retransmission. Time in which nobody asked for anything is nobody's: a person
//! reads, a server has no news.

use super::facts::FlowFacts;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{DirectionView, Limit, Wait, percentile};
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::HashMap;

/// Address and port.
type AddressPort = (Address, u16);

/// An answer is longer than its request by this factor, where ports do not show who serves.
const ANSWER_FACTOR: u64 = 8;
/// Thinking for a smaller share of the time is not worth a finding.
const MIN_SHARE: f64 = 0.3;
/// One answer explains a slow exchange only if it takes most of it.
const MOST: f64 = 0.5;
/// A shorter time is that of a host's stack.
const MIN_THINK_NS: u64 = 5_000_000;
/// Less in all is not noticed as slow (ITU-T G.1010: preferred delay of a page 2 s, of a transaction below 2 s).
const MIN_TOTAL_NS: u64 = 400_000_000;
/// Nobody waits longer for an answer (J. Nielsen, Usability Engineering, 1993, section 5.5: the limit for keeping
/// attention): such a request waits for news (long polling), or is none.
const MAX_THINK_NS: u64 = 10_000_000_000;
/// An acknowledgment may be delayed by less than this (RFC 9293 section 3.8.6.3). A host that sends nothing at all for
/// longer did not receive the request.
const MAX_DELAYED_ACK_NS: u64 = 500_000_000;
/// Most stacks acknowledge within this time, whatever the program does (Linux: from 40 ms, `TCP_DELACK_MIN`; Zephyr: 100 ms,
/// `ACK_DELAY`).
const ACKNOWLEDGED_NS: u64 = 100_000_000;
/// A timer of 250 ms that runs freely (lwIP: `TCP_FAST_INTERVAL`) leaves so many silences of 100 ms by chance once in a
/// dozen connections.
const MIN_SILENT_TIMES: usize = 5;
/// After a longer silence, a small message may be news, or a person's input.
const NEWS_NS: u64 = 1_000_000_000;
/// A pause of the client that is longer may be a person's.
const PERSON_NS: u64 = 400_000_000;
/// Fewer times do not show that they are usual.
const MIN_TIMES: usize = 3;
/// So many times of one size leave no doubt.
const MANY_TIMES: usize = 8;
/// A larger answer does not fit into the initial window (RFC 6928 section 2): it is a transfer, and no message.
const TRANSFER_SEGMENTS: u64 = 10;
/// News and a person's input are shorter.
const ANSWER_SEGMENTS: u64 = 4;
/// Times that vary by a smaller part of their median may be as regular as a timer.
const MIN_SPREAD_PART: u64 = 10;
/// Payload after a shorter silence belongs to the same write.
const WRITE_GAP_NS: u64 = 10_000_000;

/// The end that serves: not the one that opened the connection.
fn server(facts: &FlowFacts<'_>) -> Option<End> {
    if facts.connection().handshake().syn_ns.is_some() {
        return Some(End::Second);
    }
    let [first, second] = facts.flow.ends.map(|(_, port)| port);
    let is_service = |port: u16| port < 1024;
    match (is_service(first), is_service(second)) {
        (true, false) => Some(End::First),
        (false, true) => Some(End::Second),
        // An ephemeral port is above those of services (RFC 6335 section 6).
        _ if first.abs_diff(second) > 8192 => Some(if first < second {
            End::First
        } else {
            End::Second
        }),
        _ => larger_sender(facts),
    }
}

/// The end whose turns are many times larger than those of the other end: a request is short.
fn larger_sender(facts: &FlowFacts<'_>) -> Option<End> {
    let median = |end: End| {
        let turns = &facts.model.turns.turn_bytes[end as usize];
        percentile(turns.clone(), 50).filter(|_| turns.len() >= MIN_TIMES)
    };
    let ends = [End::First, End::Second];
    let is_larger = |end: &End| {
        let sizes = median(*end).zip(median(end.other()));
        sizes.is_some_and(|(own, other)| own >= ANSWER_FACTOR * other)
    };
    ends.into_iter().find(is_larger)
}

/// Base time from a packet of the other end to the answer of `end`'s stack.
fn leg_ns(facts: &FlowFacts<'_>, end: End) -> u64 {
    let trips = if end == facts.model.data_sender {
        &facts.model.to_sender
    } else {
        &facts.model.to_receiver
    };
    let waits = &facts.model.turns.waits[end as usize];
    // An acknowledgment, even a delayed one, takes as long as the path at least.
    let acked = waits
        .iter()
        .flat_map(|wait| [wait.acked_ns, wait.first_ack_ns]);
    let least = waits.iter().map(|wait| wait.ns).min();
    let base_ns = trips.base_ns().or(least);
    base_ns
        .into_iter()
        .chain(acked.flatten())
        .min()
        .unwrap_or(0)
}

/// The time that an end's program took before its turns.
struct Thinking {
    end: End,
    leg_ns: u64,
    /// Waits that its program caused, with the time beyond the round trip.
    times: Vec<(Wait, u64)>,
    /// All of its turns.
    turns: usize,
}

impl Thinking {
    fn of(facts: &FlowFacts<'_>, end: End) -> Self {
        let leg_ns = leg_ns(facts, end);
        let turns = &facts.model.turns;
        let waits = turns.waits[end as usize].iter();
        let mut times: Vec<(Wait, u64)> = waits
            .filter_map(|wait| Some((*wait, think_ns(facts, wait, leg_ns)?)))
            .collect();
        // A confirmation, then the answer: what came before the pause was none.
        let pauses = turns.pauses[end as usize].iter();
        times.extend(
            pauses
                .filter(|it| is_answer_after_pause(facts, it))
                .map(|it| (*it, it.ns.saturating_sub(leg_ns))),
        );
        times.retain(|(_, ns)| (MIN_THINK_NS.max(leg_ns)..=MAX_THINK_NS).contains(ns));
        times.sort_unstable_by_key(|(wait, _)| wait.start_ns);
        Self {
            end,
            leg_ns,
            times,
            turns: turns.waits[end as usize].len(),
        }
    }

    fn total_ns(&self) -> u64 {
        self.times.iter().map(|(_, ns)| ns).sum()
    }

    fn percentile(&self, percent: usize) -> u64 {
        let times = self.times.iter().map(|(_, ns)| *ns);
        percentile(times.collect(), percent).unwrap_or(0)
    }

    /// True if it takes this time before half of its turns or more.
    fn is_usual(&self) -> bool {
        self.times.len() >= MIN_TIMES && self.times.len() * 2 >= self.turns
    }

    /// True if half of the times are within a factor of three, as those of a program that does the same again.
    fn is_even(&self) -> bool {
        self.percentile(75) <= 3 * self.percentile(25)
    }

    /// True if so many times vary by less than their median: a person varies more.
    fn is_uniform(&self) -> bool {
        let spread_ns = self.percentile(90) - self.percentile(10);
        self.times.len() >= OPENING_TURNS
            && self.times.len() + 1 >= self.turns
            && self.percentile(50) <= NEWS_NS
            && spread_ns < self.percentile(50)
    }

    /// True if half of the times are within 2%: a timer is as regular, work hardly.
    fn is_constant(&self) -> bool {
        let spread_ns = self.percentile(75) - self.percentile(25);
        self.times.len() >= MIN_TIMES && spread_ns * 50 <= self.percentile(50)
    }

    /// True if the times are constant, and nothing acknowledges the request before: the stack may be asleep, too.
    fn is_silent(&self) -> bool {
        let is_unacked =
            |(wait, _): &(Wait, u64)| wait.acked_ns.is_some_and(|ns| ns + MIN_THINK_NS >= wait.ns);
        self.is_constant() && self.times.iter().all(is_unacked)
    }

    /// The packets that end the first, the last and the longest time.
    fn packets(&self) -> [(&'static str, f64); 3] {
        let number = |it: Option<&(Wait, u64)>| it.map_or(0.0, |(wait, _)| f64::from(wait.number));
        let longest = self.times.iter().max_by_key(|(_, ns)| ns);
        [
            ("first_packet", number(self.times.first())),
            ("last_packet", number(self.times.last())),
            ("worst_packet", number(longest)),
        ]
    }
}

/// Time that the program took in `wait`. `None` if it is not known to be the program.
fn think_ns(facts: &FlowFacts<'_>, wait: &Wait, leg_ns: u64) -> Option<u64> {
    // Payload that does not acknowledge the request crossed it, and is no answer.
    let is_received = wait.acked_ns? <= leg_ns + MAX_DELAYED_ACK_NS;
    if wait.has_loss || !is_received {
        return None;
    }
    // Two full segments are acknowledged at once (RFC 9293 section 3.8.6.3); if not, host or path are late.
    let is_acked_at_once = wait.bytes_before >= 2 * facts.mss().unwrap_or(1460).min(1460);
    let stack_ns = wait.first_ack_ns.filter(|_| is_acked_at_once);
    Some(wait.ns.saturating_sub(leg_ns.max(stack_ns.unwrap_or(0))))
}

/// True for a pause behind a few octets, after which a transfer begins: they confirmed the request (HTTP/2 `SETTINGS`,
/// HTTP `100 Continue`, TLS session tickets).
fn is_answer_after_pause(facts: &FlowFacts<'_>, pause: &Wait) -> bool {
    !pause.has_loss
        && pause.bytes_before < facts.full
        && pause.bytes >= ANSWER_SEGMENTS * facts.full
}

/// Time in which one end waits for the other: without the long pauses of the client.
fn asked_ns(facts: &FlowFacts<'_>, server: End) -> u64 {
    let waits = facts.model.turns.waits[server.other() as usize].iter();
    let idle_ns: u64 = waits.map(|it| it.ns).filter(|ns| *ns >= NEWS_NS).sum();
    facts.active_ns.saturating_sub(idle_ns)
}

/// True if an end sends at intervals of its own: these vary less than its times after the other end's data.
fn has_own_timer(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let view: &DirectionView = if thinking.end == facts.model.data_sender {
        &facts.model.view
    } else {
        &facts.model.back
    };
    let sent = view
        .sent
        .iter()
        .filter(|it| it.len > 0 && !it.is_retransmission());
    let times: Vec<u64> = sent.map(|it| it.time_ns).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let gaps: Vec<u64> = gaps.filter(|ns| *ns >= WRITE_GAP_NS).collect();
    let middle = |values: Vec<u64>| Some(percentile(values.clone(), 75)? - percentile(values, 25)?);
    // No gap precedes what is sent first.
    let waits = thinking.times.iter().skip(1).map(|(_, ns)| *ns).collect();
    match (middle(gaps), middle(waits)) {
        (Some(gaps), Some(waits)) if thinking.times.len() >= MIN_TIMES => {
            gaps < waits / 2 && waits > thinking.percentile(50) / MIN_SPREAD_PART
        }
        _ => false,
    }
}

/// True if a wait has the sizes of a request or an answer, and not those of news or a person's input.
fn is_work(facts: &FlowFacts<'_>, (wait, ns): &(Wait, u64)) -> bool {
    *ns <= NEWS_NS || wait.bytes.max(wait.bytes_before) >= facts.full.max(MIN_FULL)
}

/// True if messages of a segment or two come after more than a second.
fn is_slow_message(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let sizes = thinking
        .times
        .iter()
        .map(|(wait, _)| wait.bytes.max(wait.bytes_before));
    let size = percentile(sizes.collect(), 50).unwrap_or(0);
    thinking.percentile(50) > NEWS_NS && size < 2 * facts.full.max(MIN_FULL)
}

/// True if only one of the first answers is late, and the exchange goes on at once: the key exchange of TLS, a log-in.
fn is_opening_work(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let waits = &facts.model.turns.waits[thinking.end as usize];
    let opening_ns = waits.get(OPENING_TURNS).map(|wait| wait.start_ns);
    let is_opening = |(wait, _): &(Wait, u64)| opening_ns.is_some_and(|ns| wait.start_ns < ns);
    let late = thinking.times.iter().filter(|(_, ns)| *ns > PERSON_NS);
    late.clone().count() == 1 && late.clone().all(is_opening) && is_single_work(facts, thinking)
}

/// Answers that open a session; more follow.
const OPENING_TURNS: usize = 3;

/// Octets of a full segment at least (RFC 9293 section 3.7.1: the default MSS is 536).
const MIN_FULL: u64 = 536;

/// Answers of a server to one client, in all connections: a client may open one for each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerAnswers {
    turns: usize,
    late: usize,
    late_ns: u64,
}

/// Times of the server's program, without those that may be news.
fn server_thinking(facts: &FlowFacts<'_>, server: End) -> Thinking {
    let mut thinking = Thinking::of(facts, server);
    if !is_opening_work(facts, &thinking) {
        thinking.times.retain(|it| is_work(facts, it));
    }
    thinking
}

/// Notes for each connection the answers of its server in all connections from the same client to the same port.
pub(super) fn share_answers(all: &mut [FlowFacts<'_>]) {
    let hosts = |facts: &FlowFacts<'_>| {
        let server = server(facts)?;
        let ends = facts.flow.ends;
        Some((
            ends[server as usize],
            ends[server.other() as usize].0,
            server,
        ))
    };
    let mut sums: HashMap<(AddressPort, Address), ServerAnswers> = HashMap::new();
    for facts in all.iter() {
        if let Some((at, client, server)) = hosts(facts) {
            let thinking = server_thinking(facts, server);
            let sum = sums.entry((at, client)).or_default();
            sum.turns += thinking.turns.max(thinking.times.len());
            sum.late += thinking.times.len();
            sum.late_ns += thinking.total_ns();
        }
    }
    for facts in all {
        if let Some(sum) = hosts(facts).and_then(|(at, client, _)| sums.get(&(at, client))) {
            facts.answers = *sum;
        }
    }
}

/// The server takes time before its answers begin, beyond the round trip.
pub(super) fn server_think_time(facts: &FlowFacts<'_>) -> Option<Rule> {
    let server = server(facts)?;
    let thinking = server_thinking(facts, server);
    let total_ns = thinking.total_ns();
    let asked_ns = asked_ns(facts, server);
    let share = stats::ratio(total_ns as f64, asked_ns as f64);
    let median_ns = thinking.percentile(50);
    let all = facts.answers;
    if all.late_ns < MIN_TOTAL_NS || total_ns == 0 || has_own_timer(facts, &thinking) {
        return None;
    }
    let is_usual_in_all = all.late >= MIN_TIMES && all.late * 2 >= all.turns;
    let is_usual = (thinking.is_usual() || is_usual_in_all) && share >= MIN_SHARE;
    let is_single = share >= MOST && total_ns >= MIN_TOTAL_NS && is_single_work(facts, &thinking);
    if !is_usual && !is_single {
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
        || thinking.is_constant();
    let confidence = match (is_doubtful, is_certain) {
        (true, _) => 0.6,
        (false, true) => 0.85,
        (false, false) => 0.75,
    };
    let name = facts.flow.ends[server as usize].0;
    // A program that takes so long does not keep its stack from acknowledging the request.
    let is_asleep = thinking.is_silent()
        && median_ns >= ACKNOWLEDGED_NS
        && thinking.times.len() >= MIN_SILENT_TIMES;
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
        advice: "The network is not the limit. Find what the server does before its first octet: reading a sensor or a \
                 file, computing the length, waiting for a lock; or send what is ready at once."
            .to_owned(),
        limits: &[Limit::SenderIdle],
        has_gain: false,
    })
}

/// How much time an end takes before how many of its turns.
fn before_turns(thinking: &Thinking, many: &str, one: &str) -> String {
    let total = format::time(thinking.total_ns());
    let turns = thinking.turns.max(thinking.times.len());
    match (thinking.times.len(), turns) {
        (1, 1) => format!("{total} before its {one}"),
        (1, turns) => format!(
            "{total} before one of its {} {many}",
            format::count(turns as u64)
        ),
        (times, turns) => format!(
            "{total} before {} of its {} {many} ({} in the median)",
            format::count(times as u64),
            format::count(turns as u64),
            format::time(thinking.percentile(50)),
        ),
    }
}

/// True if a few late answers stand out in an exchange that is busy otherwise: the client asks again at once, or the
/// answer is large.
fn is_single_work(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let client = thinking.end.other();
    let waits = &facts.model.turns.waits[client as usize];
    let prompt_ns = PERSON_NS.min(thinking.percentile(100));
    let is_busy = waits.len() >= MIN_TIMES && waits.iter().all(|wait| wait.ns <= prompt_ns);
    let is_answer = |(wait, _): &(Wait, u64)| wait.bytes >= ANSWER_SEGMENTS * facts.full;
    is_busy || thinking.times.iter().all(is_answer)
}

pub(super) fn client_think_time(facts: &FlowFacts<'_>) -> Option<Rule> {
    let client = server(facts)?.other();
    let mut thinking = Thinking::of(facts, client);
    let answers = &facts.model.turns.turn_bytes[client.other() as usize];
    let answer = percentile(answers.clone(), 50)?;
    let is_transfer = answer >= TRANSFER_SEGMENTS * facts.full;
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
        || is_transfer && median_ns <= NEWS_NS
        || answer >= ANSWER_SEGMENTS * facts.full && thinking.is_uniform();
    let is_loop = is_program && thinking.is_usual() && thinking.is_even();
    if share < MIN_SHARE || total_ns < MIN_TOTAL_NS || !(is_loop || is_once) {
        return None;
    }
    // If the server does not wait for requests, the client does not keep it waiting.
    let serving = Thinking::of(facts, client.other());
    let is_timed =
        has_own_timer(facts, &thinking) || serving.is_usual() && has_own_timer(facts, &serving);
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
        confidence: if is_loop { 0.75 } else { 0.65 },
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

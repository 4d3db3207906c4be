//! Who serves, and the time that an end's program takes before its turns.

use crate::cause::flow::facts::FlowFacts;
use linerate_capture::model::{DirectionView, Wait, percentile};
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;
use linerate_capture::traffic::Flow;
use linerate_results::format;

/// An answer is longer than its request by this factor, where ports do not show who serves.
const ANSWER_FACTOR: u64 = 8;
/// A shorter time is that of a host's stack.
const MIN_THINK_NS: u64 = 5_000_000;
/// The same where so many turns follow each other that short times sum up, which those of a stack would not at the rates of messages.
const MIN_OF_MANY_NS: u64 = 1_000_000;
const MANY_TURNS: usize = 500;
/// Nobody waits longer for answers (J. Nielsen, Usability Engineering, 1993, section 5.5: the limit for keeping attention): such requests
/// wait for news (long polling), or are none.
const MAX_THINK_NS: u64 = 10_000_000_000;
/// But once, for a server that waits for others: two name servers, twice 5 s each, for three names (resolv.conf(5), `timeout`, `attempts`).
pub(super) const MAX_ONCE_NS: u64 = 60_000_000_000;
/// An acknowledgment may be delayed by less than this (RFC 9293 section 3.8.6.3). A host that sends nothing at all for
/// longer did not receive the request.
const MAX_DELAYED_ACK_NS: u64 = 500_000_000;
/// After a longer silence, a small message may be news, or a person's input.
pub(super) const NEWS_NS: u64 = 1_000_000_000;
/// A program that sleeps for a second takes somewhat more.
const UNIFORM_NS: u64 = NEWS_NS + NEWS_NS / 16;
/// A pause of the client that is longer may be a person's.
pub(super) const PERSON_NS: u64 = 400_000_000;
/// Fewer times do not show that they are usual.
pub(super) const MIN_TIMES: usize = 3;
/// News and a person's input are shorter.
pub(super) const ANSWER_SEGMENTS: u64 = 4;
/// An answer is longer than what its server writes before it works, by this factor: what comes piece by piece has pieces of like size.
const HEAD_FACTOR: u64 = 4;
/// Times that vary by a smaller part of their median may be as regular as a timer.
const MIN_SPREAD_PART: u64 = 10;
/// Payload after a shorter silence belongs to the same write.
const WRITE_GAP_NS: u64 = 10_000_000;
/// Answers that open a session; more follow.
const OPENING_TURNS: usize = 3;
/// Answers until a session is open at most: the key exchange and authentication of SSH (RFC 4253, RFC 4252).
const LOG_IN_TURNS: usize = 8;
/// Address of the guest in the user-mode networks of virtual machines (slirp): 10.0.2.15.
const GUEST: Address = Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 2, 15]);
/// A handshake that takes so many times as long as acknowledgments shows that these come from a host in between.
const SUBSTITUTE_FACTOR: u64 = 20;
/// Ports of services among those that others use for clients (IANA: EtherNet/IP, ADS).
const HIGH_SERVICES: [u16; 2] = [44_818, 48_898];
/// Octets of a full segment at least (RFC 9293 section 3.7.1: the default MSS is 536).
pub(super) const MIN_FULL: u64 = 536;
/// Thinking for a smaller share of the time is not worth a finding.
pub(super) const MIN_SHARE: f64 = 0.3;
/// One answer explains a slow exchange only if it takes most of it.
pub(super) const MOST: f64 = 0.5;
/// Less in all is not noticed as slow (ITU-T G.1010: preferred delay of a page 2 s, of a transaction below 2 s).
pub(super) const MIN_TOTAL_NS: u64 = 400_000_000;

/// The end that serves: not the one that opened the connection.
pub(in crate::cause::flow) fn server(facts: &FlowFacts<'_>) -> Option<End> {
    server_of(facts.flow)
}

/// The same of a connection that may carry nothing.
pub(in crate::cause::flow) fn server_of(flow: &Flow) -> Option<End> {
    if flow.connection.handshake().syn_ns.is_some() {
        return Some(End::Second);
    }
    let [first, second] = flow.ends.map(|(_, port)| port);
    let is_service = |port: u16| port < 1024 || HIGH_SERVICES.contains(&port);
    match (is_service(first), is_service(second)) {
        (true, false) => Some(End::First),
        (false, true) => Some(End::Second),
        // An ephemeral port is above those of services (RFC 6335 section 6).
        _ if first.abs_diff(second) > 8192 => Some(if first < second {
            End::First
        } else {
            End::Second
        }),
        _ => None,
    }
}

/// The end whose turns are many times larger than those of the other end, and may be answers to short requests. An upload of messages
/// that are confirmed looks the same.
pub(super) fn larger_sender(facts: &FlowFacts<'_>) -> Option<End> {
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
pub(super) fn leg_ns(facts: &FlowFacts<'_>, end: End) -> u64 {
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
    let least_ns = base_ns.into_iter().chain(acked.flatten()).min();
    let least_ns = least_ns.unwrap_or(0);
    // The user-mode network of a virtual machine acknowledges what it passes on, but the SYN only when the server has.
    let is_guest = facts.flow.ends[end.other() as usize].0 == GUEST;
    let opened_ns = facts
        .connection()
        .handshake()
        .legs_ns()
        .filter(|_| is_guest);
    match opened_ns.map(|legs| legs[end as usize]) {
        Some(ns) if ns >= MIN_THINK_NS && ns >= SUBSTITUTE_FACTOR * least_ns => ns,
        _ => least_ns,
    }
}

/// The time that an end's program took before its turns.
pub(super) struct Thinking {
    pub(super) end: End,
    pub(super) leg_ns: u64,
    /// Waits that its program caused, with the time beyond the round trip.
    pub(super) times: Vec<(Wait, u64)>,
    /// All of its turns.
    pub(super) turns: usize,
}

impl Thinking {
    pub(super) fn of(facts: &FlowFacts<'_>, end: End) -> Self {
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
        let least_ns = if turns.waits[end as usize].len() >= MANY_TURNS && are_alike(&times) {
            MIN_OF_MANY_NS
        } else {
            MIN_THINK_NS
        };
        let is_too_long = |ns: &u64| (MAX_THINK_NS..=MAX_ONCE_NS).contains(ns);
        let most_ns = if times.iter().filter(|(_, ns)| is_too_long(ns)).count() == 1 {
            MAX_ONCE_NS
        } else {
            MAX_THINK_NS
        };
        times.retain(|(_, ns)| (least_ns.max(leg_ns)..=most_ns).contains(ns));
        times.sort_unstable_by_key(|(wait, _)| wait.start_ns);
        Self {
            end,
            leg_ns,
            times,
            turns: turns.waits[end as usize].len(),
        }
    }

    pub(super) fn total_ns(&self) -> u64 {
        self.times.iter().map(|(_, ns)| ns).sum()
    }

    pub(super) fn percentile(&self, percent: usize) -> u64 {
        let times = self.times.iter().map(|(_, ns)| *ns);
        percentile(times.collect(), percent).unwrap_or(0)
    }

    /// True if it takes this time before half of its turns or more.
    pub(super) fn is_usual(&self) -> bool {
        self.times.len() >= MIN_TIMES && self.times.len() * 2 >= self.turns
    }

    /// True if half of the times are within a factor of three, as those of a program that does the same again.
    pub(super) fn is_even(&self) -> bool {
        self.percentile(75) <= 3 * self.percentile(25)
    }

    /// True if nearly all vary by less than half of their median: a person varies more.
    pub(super) fn varies_little(&self) -> bool {
        (self.percentile(90) - self.percentile(10)) * 2 < self.percentile(50)
    }

    /// True if so many times vary by less than a person's.
    pub(super) fn is_uniform(&self) -> bool {
        self.times.len() >= OPENING_TURNS
            && self.times.len() + 1 >= self.turns
            && self.percentile(50) <= UNIFORM_NS
            && self.varies_little()
    }

    /// True if half of the times are within 2%: a timer is as regular, work hardly.
    pub(super) fn is_constant(&self) -> bool {
        let spread_ns = self.percentile(75) - self.percentile(25);
        self.times.len() >= MIN_TIMES && spread_ns * 50 <= self.percentile(50)
    }

    /// True if half of the times end at intervals within 2%, as rounds that a timer begins do.
    pub(super) fn is_at_intervals(&self) -> bool {
        let ends = self.times.iter().map(|(wait, _)| wait.start_ns + wait.ns);
        let ends: Vec<u64> = ends.collect();
        let gaps = ends.windows(2).map(|pair| pair[1] - pair[0]);
        let gaps: Vec<u64> = gaps.collect();
        let middle = |percent| percentile(gaps.clone(), percent).unwrap_or(0);
        gaps.len() >= MIN_TIMES && (middle(75) - middle(25)) * 50 <= middle(50)
    }

    /// True if the times are constant, and nothing acknowledges the request before: the stack may be asleep, too.
    pub(super) fn is_silent(&self) -> bool {
        let is_unacked =
            |(wait, _): &(Wait, u64)| wait.acked_ns.is_some_and(|ns| ns + MIN_THINK_NS >= wait.ns);
        self.is_constant() && self.times.iter().all(is_unacked)
    }

    /// The packets that end the first, the last and the longest time.
    pub(super) fn packets(&self) -> [(&'static str, f64); 3] {
        let number = |it: Option<&(Wait, u64)>| it.map_or(0.0, |(wait, _)| f64::from(wait.number));
        let longest = self.times.iter().max_by_key(|(_, ns)| ns);
        [
            ("first_packet", number(self.times.first())),
            ("last_packet", number(self.times.last())),
            ("worst_packet", number(longest)),
        ]
    }
}

/// True if half of the times are within a factor of 1.5: those of the path vary by more where they are as long.
fn are_alike(times: &[(Wait, u64)]) -> bool {
    let [least_ns, most_ns] = [25, 75].map(|percent| {
        let times = times.iter().map(|(_, ns)| *ns);
        percentile(times.collect(), percent).unwrap_or(0)
    });
    most_ns <= least_ns + least_ns / 2
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

/// True for a pause behind a few octets, after which a transfer begins, or many times as much: they confirmed the request (HTTP/2 `SETTINGS`,
/// HTTP `100 Continue`, TLS session tickets), or are the status line of a server that writes it before it works.
fn is_answer_after_pause(facts: &FlowFacts<'_>, pause: &Wait) -> bool {
    !pause.has_loss
        && pause.bytes_before < facts.full
        && pause.bytes >= (ANSWER_SEGMENTS * facts.full).min(HEAD_FACTOR * pause.bytes_before)
}

/// Time in which one end waits for the other: without the long pauses of the client.
pub(in crate::cause::flow) fn asked_ns(facts: &FlowFacts<'_>, server: End) -> u64 {
    let waits = facts.model.turns.waits[server.other() as usize].iter();
    let idle_ns: u64 = waits.map(|it| it.ns).filter(|ns| *ns >= NEWS_NS).sum();
    facts.active_ns.saturating_sub(idle_ns)
}

/// The packets that an end sent, or those of the other end that answer them.
fn view_of<'a>(facts: &'a FlowFacts<'_>, end: End) -> &'a DirectionView {
    if end == facts.model.data_sender {
        &facts.model.view
    } else {
        &facts.model.back
    }
}

/// When an end sent new payload.
pub(in crate::cause::flow) fn sent_ns(
    facts: &FlowFacts<'_>,
    end: End,
) -> impl Iterator<Item = u64> {
    let sent = view_of(facts, end).sent.iter();
    let sent = sent.filter(|it| it.len > 0 && !it.is_retransmission());
    sent.map(|it| it.time_ns)
}

/// True if an end sends at intervals of its own: these vary less than its times after the other end's data.
pub(super) fn has_own_timer(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let times: Vec<u64> = sent_ns(facts, thinking.end).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    // Between its turns lies no less than its shortest time; what is closer belongs to one turn.
    let least_ns = WRITE_GAP_NS.max(thinking.percentile(10));
    let gaps: Vec<u64> = gaps.filter(|ns| *ns >= least_ns).collect();
    let middle = |values: Vec<u64>| Some(percentile(values.clone(), 75)? - percentile(values, 25)?);
    // No gap precedes what is sent first. What the stack takes to acknowledge is part of the time after the other end's data.
    let waits = thinking.times.iter().skip(1).map(|(wait, _)| wait.ns);
    let waits = waits.collect();
    match (middle(gaps), middle(waits)) {
        (Some(gaps), Some(waits)) if thinking.times.len() >= MIN_TIMES => {
            gaps < waits / 2 && waits > thinking.percentile(50) / MIN_SPREAD_PART
        }
        _ => false,
    }
}

/// True if an end sends as late when nobody has asked: at least half as many of its times follow its own data, all of which was
/// acknowledged before, as the other end's.
pub(super) fn sends_unasked(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let usual_ns = thinking.percentile(50);
    let pauses = facts.model.turns.pauses[thinking.end as usize].iter();
    let unasked = pauses
        .filter(|it| !it.has_loss && it.ns >= usual_ns / 2 && !is_answer_after_pause(facts, it));
    thinking.times.len() >= MIN_TIMES && unasked.count() * 2 >= thinking.times.len()
}

/// True if a wait has the sizes of a request or an answer, and not those of news or a person's input.
pub(super) fn is_work(facts: &FlowFacts<'_>, (wait, ns): &(Wait, u64)) -> bool {
    *ns <= NEWS_NS || wait.bytes.max(wait.bytes_before) >= facts.full.max(MIN_FULL)
}

/// True if messages of a segment or two come after more than a second.
pub(super) fn is_slow_message(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let sizes = thinking
        .times
        .iter()
        .map(|(wait, _)| wait.bytes.max(wait.bytes_before));
    let size = percentile(sizes.collect(), 50).unwrap_or(0);
    thinking.percentile(50) > NEWS_NS && size < 2 * facts.full.max(MIN_FULL)
}

/// True if only one answer is late, one of the first or one that others follow at once, and the exchange goes on at once: the key
/// exchange of TLS, a log-in, a name that the server looks up.
pub(super) fn is_only_late(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let waits = &facts.model.turns.waits[thinking.end as usize];
    let late = thinking.times.iter().filter(|(_, ns)| *ns > PERSON_NS);
    let at = late.clone().next().and_then(|(wait, _)| {
        let place = waits.iter().position(|it| it.number == wait.number)?;
        // What comes after so long, and is followed by nothing, may be the end of an idle connection.
        let is_soon = place < OPENING_TURNS && waits[place].ns <= MAX_THINK_NS;
        Some(is_soon || place < LOG_IN_TURNS && place + OPENING_TURNS < waits.len())
    });
    late.count() == 1 && at.unwrap_or(false) && is_single_work(facts, thinking)
}

/// How much time an end takes before how many of its turns.
pub(super) fn before_turns(thinking: &Thinking, many: &str, one: &str) -> String {
    let total = format::time(thinking.total_ns());
    let turns = thinking.turns.max(thinking.times.len());
    match (thinking.times.len(), turns) {
        (1, 1) => format!("{total} before its {one}"),
        (1, turns) => format!(
            "{total} before one of its {} {}",
            format::count(turns as u64),
            many.trim_end_matches(" begin")
        ),
        (times, turns) => format!(
            "{total} before {} of its {} {many} ({} in the median)",
            format::count(times as u64),
            format::count(turns as u64),
            format::time(thinking.percentile(50)),
        ),
    }
}

/// True if a few late answers stand out in an exchange that is busy otherwise: the client asks again at once, or in half of the time
/// that they take, or the request or the answer is large.
pub(super) fn is_single_work(facts: &FlowFacts<'_>, thinking: &Thinking) -> bool {
    let client = thinking.end.other();
    let waits = &facts.model.turns.waits[client as usize];
    let prompt_ns = PERSON_NS.min(thinking.percentile(100));
    let slow = waits
        .iter()
        .map(|wait| wait.ns)
        .filter(|ns| *ns > prompt_ns);
    let is_busy = waits.len() >= MIN_TIMES && slow.sum::<u64>() * 2 <= thinking.total_ns();
    let is_large = |(wait, _): &(Wait, u64)| {
        wait.bytes.max(wait.bytes_before) >= ANSWER_SEGMENTS * facts.frame_payload()
    };
    is_busy || thinking.times.iter().all(is_large)
}

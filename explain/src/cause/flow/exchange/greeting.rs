//! A server that speaks first, and is late: FTP, SMTP, POP3, SSH, data bases, or one that sends a file to whoever connects.

use super::server::ADVICE;
use super::thinking::{MAX_ONCE_NS, MIN_SHARE, MIN_TOTAL_NS, NEWS_NS, leg_ns, sent_ns};
use crate::cause::flow::class::FlowClass;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// A name server that does not answer takes a multiple of this (resolv.conf(5): `timeout`).
const LOOKUP_NS: u64 = 5_000_000_000;
/// What to do where a server is late once, and for so long.
pub(super) const ONCE_ADVICE: &str = "The network is not the limit. Servers look up the name of a client before they greet it or let it in, and \
                           wait for name servers that do not answer (seconds for each), or for an ident answer (RFC 1413): turn that off \
                           (sshd: UseDNS no; vsftpd: reverse_lookup_enable=NO), or mend the reverse zone. Otherwise read the server's log \
                           at that time.";
/// The longest first timeout of common stacks, with a round trip.
const MAX_TIMEOUT_NS: u64 = 1_500_000_000;
/// Messages that follow the greeting at least: a dialogue.
const MIN_TURNS: usize = 2;

/// True for a time that name servers which do not answer take, with little beside.
pub(super) fn is_of_lookups(ns: u64) -> bool {
    ns >= LOOKUP_NS / 16 * 15 && (ns + LOOKUP_NS / 16) % LOOKUP_NS <= LOOKUP_NS / 8
}

/// True if the first two segments come together, as none that are repeated by the timer (RFC 5681 section 3.1: the loss window is one
/// segment).
fn begins_with_flight(facts: &FlowFacts<'_>, leg_ns: u64) -> bool {
    match facts.model.view.sent.as_slice() {
        [first, second, ..] => {
            let is_next = second.start == first.end;
            let is_at_sender = !facts.model.is_near_receiver();
            is_next && (is_at_sender || (second.time_ns - first.time_ns) * 2 < leg_ns)
        }
        _ => false,
    }
}

/// The server begins long after the connection is open, and all goes on at once then: it waited for something else.
pub(super) fn late_greeting(facts: &FlowFacts<'_>) -> Option<Rule> {
    let connection = facts.connection();
    let handshake = connection.handshake();
    handshake.syn_ack_ns?;
    let opened_ns = handshake.ack_ns?.checked_sub(connection.start_ns)?;
    let greeted_ns = sent_ns(facts, End::Second).next()?;
    let answered_ns = sent_ns(facts, End::First).next();
    let answers_soon = |ns: u64| (greeted_ns..greeted_ns + NEWS_NS).contains(&ns);
    let is_dialogue =
        answered_ns.is_some_and(answers_soon) && facts.model.turns.changes() >= MIN_TURNS;
    // News are short, and more of them follow later.
    let is_transfer = answered_ns.is_none()
        && facts.class == FlowClass::Bulk
        && facts.model.data_sender == End::Second;
    let leg_ns = leg_ns(facts, End::Second);
    let late_ns = greeted_ns.checked_sub(opened_ns + leg_ns)?;
    let share = stats::ratio(late_ns as f64, (late_ns + facts.active_ns) as f64);
    // A service that sends as late again has news.
    let turns = &facts.model.turns;
    let at = End::Second as usize;
    let mut later = turns.pauses[at].iter().chain(&turns.waits[at]);
    let has_news = later.any(|it| it.ns >= late_ns / 2);
    // Near the client, one that was lost and repeated looks the same (RFC 6298 section 2.1: 1 s).
    let may_be_lost = facts.model.is_near_receiver() && late_ns < MAX_TIMEOUT_NS
        || connection.stats(End::Second).retransmitted_segments > 0;
    let may_be_lost = may_be_lost && !(is_transfer && begins_with_flight(facts, leg_ns));
    if !(is_dialogue || is_transfer)
        || has_news
        || may_be_lost
        || share < MIN_SHARE
        || !(MIN_TOTAL_NS..=MAX_ONCE_NS).contains(&late_ns)
    {
        return None;
    }
    let name = facts.flow.ends[End::Second as usize].0;
    Some(Rule {
        share,
        cause: Cause::ServerThinkTime,
        // What it sends may not have been there before.
        confidence: if is_dialogue { 0.75 } else { 0.65 },
        summary: format!(
            "{name} sends its {} {} after the connection is open, beyond the round trip of {} from the capture point: {} of the \
             time until the last payload.",
            if is_dialogue {
                "greeting"
            } else {
                "first octet"
            },
            format::time(late_ns),
            format::time(leg_ns),
            format::percent(share),
        ),
        evidence: evidence([
            ("greeting_ns", late_ns as f64),
            ("think_ns_total", late_ns as f64),
            ("think_share", share),
            ("capture_rtt_ns", leg_ns as f64),
        ]),
        advice: if is_of_lookups(late_ns) {
            ONCE_ADVICE
        } else {
            ADVICE
        }
        .to_owned(),
        limits: &[Limit::Handshake],
        has_gain: false,
    })
}

//! The path holds everything back for a while, and loses nothing.
//!
//! Anywhere on the way, timestamps (RFC 7323) show it: a segment behind the silence was written in it, long before it passes, while
//! later ones are not. From the receiver it looks like a sender that stops: everything is acknowledged, and nothing arrives. But a
//! sender whose data or whose acknowledgments are held back has a timer running (RFC 6298 section 5.1), and repeats what has arrived
//! meanwhile; one that has nothing in flight repeats nothing.

use super::MIN_COST;
use super::outage::{INTERRUPTION_NS, SILENCE_NS, host_silence_ns};
use crate::cause::flow::class::FlowClass;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Transmission};
use linerate_results::format;
use linerate_results::record::Cause;

/// The shortest retransmission timeout of common stacks: in a shorter silence, no timer expires.
const TIMEOUT_NS: u64 = 200_000_000;
/// Copies come with the first segments after a silence: those of the window that was in flight.
const MOST_AFTER: usize = 64;
/// Ticks of the clock of timestamps in all: fewer do not show how long one takes; more run backwards.
const MIN_TICKS: u32 = 20;
const MAX_TICKS: u32 = 1 << 31;
/// One copy may be an accident of another kind.
const MIN_SILENCES: usize = 2;

const ADVICE: &str = "Look for what stops the path as a whole: a radio that scans or changes cells, a modem that negotiates again, \
                      a bridge that moves a port, a cable; and for the power saving of a station.";

/// Silences of the sender, behind most of which segments come again that had been acknowledged before.
pub(super) fn held_back(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk {
        return None;
    }
    let stamped = written_before(facts);
    if stamped.is_some() || !facts.model.is_near_receiver() {
        return stamped;
    }
    let silences = silences(facts);
    let repeated = silences.iter().filter(|it| it.is_repeated).count();
    let total_ns: u64 = silences.iter().map(|it| it.ns).sum();
    let longest_ns = silences.iter().map(|it| it.ns).max()?;
    let share = facts.share_of(total_ns);
    if silences.len() < MIN_SILENCES || repeated * 2 < silences.len() || share < MIN_COST {
        return None;
    }
    Some(Rule {
        share,
        cause: Cause::LinkInterrupted,
        confidence: 0.7,
        summary: format!(
            "{}, nothing of {} arrived for a while, {} at most, although all was acknowledged before, and then {} of these times \
             it repeated what had arrived: its timer expired meanwhile, so the path held everything back.",
            format::times(silences.len() as u64),
            facts.sender,
            format::time(longest_ns),
            format::count(repeated as u64),
        ),
        evidence: evidence([
            ("silences", silences.len() as f64),
            ("repeated_after", repeated as f64),
            ("silence_ns_max", longest_ns as f64),
            ("silent_share", share),
        ]),
        advice: ADVICE.to_owned(),
        limits: &[Limit::SenderIdle, Limit::Timeout],
        has_gain: true,
    })
}

/// Silences of the sender, behind which its timestamps show that what it sent meanwhile had waited.
fn written_before(facts: &FlowFacts<'_>) -> Option<Rule> {
    let sent = &facts.model.view.sent;
    let (start, end) = (sent.first()?, sent.last()?);
    let ticks = end.timestamp.wrapping_sub(start.timestamp);
    let is_stamped = start.timestamp != 0 && end.timestamp != 0;
    if facts.fills_together || !is_stamped || !(MIN_TICKS..=MAX_TICKS).contains(&ticks) {
        return None;
    }
    let tick_ns = end.time_ns.saturating_sub(start.time_ns) as f64 / f64::from(ticks);
    let mut held = Vec::new();
    for (at, pair) in sent.windows(2).enumerate() {
        let gap = [pair[0].time_ns, pair[1].time_ns];
        let ns = gap[1].saturating_sub(gap[0]);
        if ns < SILENCE_NS {
            continue;
        }
        // When it was written, and how long it waited beyond that, compared with the last one before the silence.
        let written_ns = |it: &Transmission| {
            f64::from(it.timestamp.wrapping_sub(pair[0].timestamp) as i32) * tick_ns
        };
        let waited_ns =
            |it: &Transmission| it.time_ns.saturating_sub(gap[0]) as f64 - written_ns(it);
        let after = || sent[at + 1..].iter().take(MOST_AFTER);
        // Its timer expired meanwhile. A stack that repeats segments with their first stamp wrote them before.
        let is_late = |it: &&Transmission| {
            written_ns(it) >= TIMEOUT_NS as f64 && waited_ns(it) >= INTERRUPTION_NS as f64
        };
        // The clock of a host that was suspended stays behind.
        let goes_on = || after().any(|it| waited_ns(it) < INTERRUPTION_NS as f64 / 2.0);
        let late = after().find(is_late).filter(|_| goes_on());
        let is_silent = || host_silence_ns(facts, facts.model.data_sender, &gap) >= SILENCE_NS;
        held.extend(late.filter(|_| is_silent()).map(|it| (ns, waited_ns(it))));
    }
    let longest = *held.iter().max_by_key(|(ns, _)| *ns)?;
    let share = facts.share_of(held.iter().map(|(ns, _)| ns).sum());
    (share >= MIN_COST).then(|| Rule {
        share,
        cause: Cause::LinkInterrupted,
        confidence: 0.8,
        summary: format!(
            "Nothing of {} passed {} for a while, {} at most, and what came behind it was written {} before it passed, as \
             its timestamp shows: the path, or its own interface, held everything back.",
            facts.sender,
            format::times(held.len() as u64),
            format::time(longest.0),
            format::time(longest.1 as u64),
        ),
        evidence: evidence([
            ("silences", held.len() as f64),
            ("silence_ns_max", longest.0 as f64),
            ("written_before_ns", longest.1),
            ("silent_share", share),
        ]),
        advice: ADVICE.to_owned(),
        limits: &[Limit::SenderIdle, Limit::Timeout],
        has_gain: true,
    })
}

/// A time in which nothing of the sender arrives, with all that arrived before acknowledged.
struct Silence {
    ns: u64,
    /// True if something of that comes again behind it.
    is_repeated: bool,
}

fn silences(facts: &FlowFacts<'_>) -> Vec<Silence> {
    let view = &facts.model.view;
    let mut acks = view.acks.iter().peekable();
    let (mut acked, mut highest) = (0, 0);
    let mut silences = Vec::new();
    for (at, pair) in view.sent.windows(2).enumerate() {
        highest = highest.max(pair[0].end);
        while let Some(ack) = acks.next_if(|it| it.time_ns < pair[1].time_ns) {
            acked = acked.max(ack.ack);
        }
        let ns = pair[1].time_ns - pair[0].time_ns;
        if ns < TIMEOUT_NS || acked < highest {
            continue;
        }
        // What was held back comes first. Where the first one comes again alone, only its acknowledgment was lost.
        let is_first_new = pair[1].end > acked;
        let after = view.sent[at + 1..].iter().take(MOST_AFTER);
        let mut soon = after.take_while(|it| it.time_ns - pair[1].time_ns < ns);
        silences.push(Silence {
            ns,
            is_repeated: is_first_new && soon.any(|it| it.len > 1 && it.end <= acked),
        });
    }
    silences
}

//! Near the receiver: the path holds everything back for a while, and loses nothing.
//!
//! From there it looks like a sender that stops: everything is acknowledged, and nothing arrives. But a sender whose data or
//! whose acknowledgments are held back has a timer running (RFC 6298 section 5.1), and repeats what has arrived meanwhile; one
//! that has nothing in flight repeats nothing.

use super::MIN_COST;
use crate::cause::flow::class::FlowClass;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_results::format;
use linerate_results::record::Cause;

/// The shortest retransmission timeout of common stacks: in a shorter silence, no timer expires.
const TIMEOUT_NS: u64 = 200_000_000;
/// Copies come with the first segments after a silence: those of the window that was in flight.
const MOST_AFTER: usize = 64;
/// One copy may be an accident of another kind.
const MIN_SILENCES: usize = 2;

/// Silences of the sender, behind most of which segments come again that had been acknowledged before.
pub(super) fn held_back(facts: &FlowFacts<'_>) -> Option<Rule> {
    if facts.class != FlowClass::Bulk || !facts.model.is_near_receiver() {
        return None;
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
        advice: "Look for what stops the path as a whole: a radio that scans or changes cells, a modem that negotiates again, \
                 a bridge that moves a port; and for the power saving of a station."
            .to_owned(),
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

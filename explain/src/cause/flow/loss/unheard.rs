//! A sender to which nothing comes back, in a capture that begins later than the connection.

use super::black_hole::ADVICE;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_capture::tcp::Segment;
use linerate_results::format;
use linerate_results::record::Cause;

/// Fewer repetitions without an answer may be chance.
const MIN_REPEATED: usize = 3;
/// Each path carries segments of this size (RFC 9293 section 3.7.1: the default MSS); what is larger may exceed its MTU.
const ANY_MSS: u64 = 536;

/// The evidence that what is repeated may exceed the MTU of the path.
pub(super) const MAY_BE_FULL: &str = "may_be_full";

/// The same octets again and again, of which nothing is acknowledged.
pub(super) fn nothing_comes_back(facts: &FlowFacts<'_>) -> Option<Rule> {
    let (view, back) = (&facts.model.view, &facts.model.back);
    let first = view.sent.iter().find(|it| it.len > 0)?;
    let copies: Vec<_> = view
        .sent
        .iter()
        .filter(|it| it.start == first.start)
        .collect();
    let last = copies.last()?;
    let repeated = copies.len() - 1;
    // A sender that goes on has heard something, also where the capture has one direction only.
    let goes_on = view
        .sent
        .iter()
        .any(|it| it.len > 0 && it.number > last.number);
    let is_acknowledged = view.acks.iter().any(|it| it.ack > first.start);
    // A closed window is probed in the same way (RFC 9293 section 3.8.6.1).
    let is_closed = view.acks.iter().any(|it| it.window == 0);
    let has_payload = back.sent.iter().any(|it| it.len > 0);
    let packets = facts.connection().log().packets();
    let is_reset = packets.iter().any(|it| it.has_any(Segment::RST));
    if !facts.begins_late()
        || repeated < MIN_REPEATED
        || goes_on
        || is_acknowledged
        || is_closed
        || has_payload
        || is_reset
    {
        return None;
    }
    let repeated_ns = last.time_ns - first.time_ns;
    let mut figures = evidence([
        ("repeated", repeated as f64),
        ("repeated_bytes", f64::from(first.len)),
        ("repeated_ns", repeated_ns as f64),
    ]);
    // What ends a write may be smaller than a full segment.
    let is_large = u64::from(first.len) > ANY_MSS && !first.is_pushed;
    if is_large {
        figures.insert(MAY_BE_FULL.to_owned(), 1.0);
    }
    // The other end is there, and has not received it.
    let is_alive = view.acks.iter().any(|it| it.number > copies[1].number);
    let what = if is_alive {
        format!("{} is there, and does not acknowledge it", facts.receiver)
    } else {
        format!(
            "nothing comes back from {}, not even an acknowledgment",
            facts.receiver
        )
    };
    Some(Rule {
        share: facts.share(Limit::Timeout),
        cause: if is_alive && is_large {
            Cause::MtuBlackHole
        } else {
            Cause::NoAnswer
        },
        confidence: 0.6,
        summary: format!(
            "{} repeats {} {} in {}, and {what}.",
            facts.sender,
            format::bytes(first.len.into()),
            format::times(repeated as u64),
            format::time(repeated_ns),
        ),
        evidence: figures,
        advice: match (is_alive, is_large) {
            (true, true) => ADVICE,
            (true, false) => {
                "A capture at the other end shows whether this arrives: a firewall or address translation on the path may have forgotten \
                 the connection."
            }
            (false, _) => {
                "Check that the other end is still there (ping), and that no firewall or address translation on the path has forgotten the \
                 connection. A capture there shows whether anything arrives."
            }
        }
        .to_owned(),
        limits: &[Limit::Timeout],
        has_gain: false,
    })
}

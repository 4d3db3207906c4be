//! Near the receiver, without echoed timestamps: segments that arrive at one interval, whatever their number.
//!
//! A sender that waits for acknowledgments sends what each of them releases: one segment or two, and one more where its window
//! grows (RFC 5681 section 3.1). Acknowledgments that a narrow way back spaces arrive at one interval, so that its segments do,
//! too. A sender that sets its own pace in octets, or a link that is full, takes twice as long for two segments as for one.

use super::BackQueue;
use crate::cause::flow::facts::{FlowFacts, LEAST_FULL};
use crate::cause::scored::evidence;
use linerate_capture::model::{AckInterval, Limit, Transmission};
use linerate_results::format;

/// A window that limits the sender for more of the time sets its pace itself.
const MOST_FULL: f64 = 0.2;
/// A program writes parts of segments by its clock.
const PARTIAL_DIVISOR: usize = 10;

/// More segments than one in so many that do not follow the one before leave no pattern.
const BREAKS_DIVISOR: usize = 50;
/// Intervals are the round trip if they are as long as this part of it, with the distance of the segments.
const MOST_OF_ROUND_TRIP: f64 = 0.8;

/// So many segments that arrive together are those of an initial window, or of more (RFC 6928).
const MANY: u64 = 10;
/// Fewer round trips to the sender do not show what it waited for.
const MIN_ROUND_TRIPS: usize = 8;

/// The evidence of this rule.
pub(in crate::cause::flow) const INTERVAL: &str = "arrival_interval_ns";

/// Segments arrive at one interval, whether one acknowledgment released few of them or more.
pub(super) fn released_queue(facts: &FlowFacts<'_>) -> Option<BackQueue> {
    let model = &facts.model;
    let is_shared = facts.shared.is_some() || facts.is_beside_full || facts.fills_together;
    // A dialogue before the transfer does not matter.
    let longest = model.turns.longest_turn(model.data_sender);
    let is_answering = longest * 10 < facts.bytes() * 9;
    let window = facts.share(Limit::ReceiveWindow) + facts.share(Limit::ClosedWindow);
    // Echoed timestamps show directly whether acknowledgments wait.
    let sees_sender = model.to_sender.count() >= MIN_ROUND_TRIPS;
    if !model.is_near_receiver() || sees_sender || is_shared || is_answering || window >= MOST_FULL
    {
        return None;
    }
    // What is missing, repeated or overtaken leaves gaps of its own. From this rate on, a window has room for fewer than nine
    // segments (the square root of 3 / (2 * rate), Mathis et al. 1997).
    let sent = &model.view.sent;
    let is_in_order = |pair: &[Transmission]| pair[0].end == pair[1].start;
    let breaks = sent.windows(2).filter(|pair| !is_in_order(pair)).count();
    let partial = sent
        .iter()
        .filter(|it| it.len > 0 && u64::from(it.len) < facts.full)
        .count();
    let is_partial = partial * PARTIAL_DIVISOR > sent.len() || facts.full < LEAST_FULL;
    if breaks * BREAKS_DIVISOR > sent.len() || is_partial {
        return None;
    }
    let interval = AckInterval::of_arrivals(&model.view)?;
    // Windows of two or three segments arrive once in each round trip, which has to be known therefore. They were never larger, or
    // a loss made them small.
    let base_ns = model.base_rtt_ns().filter(|ns| *ns > 0)?;
    let had_more = breaks == 0 && interval.most_segments >= MANY;
    if interval.ns as f64 > MOST_OF_ROUND_TRIP * base_ns as f64 && !had_more {
        return None;
    }
    let [few, many] = interval.counts;
    Some(BackQueue {
        observed: format!(
            "For {} of the time, segments arrive every {}, whether few together ({} times) or more ({} times), as if released by \
             acknowledgments that reach {} at this interval (a pace in octets or a full link would take longer for more)",
            format::percent(interval.share_of_time),
            format::time(interval.ns),
            format::count(few as u64),
            format::count(many as u64),
            facts.sender,
        ),
        evidence: evidence([
            (INTERVAL, interval.ns as f64),
            ("arrival_interval_share", interval.share_of_time),
            ("intervals_of_few_segments", few as f64),
            ("intervals_of_more_segments", many as f64),
        ]),
        share: interval.share_of_time,
        confidence: 0.7,
    })
}

//! Windows of less than a segment, which make the sender send small segments (RFC 9293 section 3.8.6.2).

use super::facts::FlowFacts;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, percentile};
use linerate_results::format;
use linerate_results::record::Cause;
use std::collections::HashMap;

/// Fewer segments may end by chance where the window does.
const MIN_AT_EDGE: u64 = 20;
/// What a window lets pass arrives within a round trip, which takes no longer (RFC 6298 section 2.1: a timeout of 1 s before any is known).
/// Messages of one size that follow later end where some window ended, too.
const MAX_ROUND_TRIP_NS: u64 = 1_000_000_000;

/// Near the receiver nothing is seen in flight, but small segments that end exactly where a granted window ends fill it; and
/// near the sender nothing is in flight while it holds back what is no full segment (RFC 9293 section 3.8.6.2.1).
/// Share of the time in which the sender waits for more of it.
pub(super) fn silly_at_edges(facts: &FlowFacts<'_>) -> Option<f64> {
    let model = &facts.model;
    let shift = model.scale.least();
    let mss = facts.mss().unwrap_or(facts.full).min(1_460);
    let mut acks = model.view.acks.iter().peekable();
    let mut edges: HashMap<u64, u64> = HashMap::new();
    let (mut small, mut at_edge, mut all) = (0_u64, 0_u64, 0_u64);
    for sent in model.view.sent.iter().filter(|it| it.len > 0) {
        while let Some(ack) = acks.next_if(|ack| ack.number < sent.number) {
            edges.insert(ack.ack + (u64::from(ack.window) << shift), ack.time_ns);
        }
        all += 1;
        if u64::from(sent.len) < mss * 9 / 10 {
            small += 1;
            let granted_ns = edges.get(&sent.end);
            let is_at_edge = |ns: &u64| sent.time_ns.saturating_sub(*ns) <= MAX_ROUND_TRIP_NS;
            at_edge += u64::from(granted_ns.is_some_and(is_at_edge));
        }
    }
    let is_silly = small * 5 >= all * 2 && at_edge * 2 >= small && at_edge >= MIN_AT_EDGE;
    let waits = [
        Limit::SenderIdle,
        Limit::ReceiveWindow,
        Limit::SlowStart,
        Limit::InFlight,
    ];
    let share: f64 = waits.iter().map(|limit| facts.share(*limit)).sum();
    is_silly.then_some(share.min(1.0))
}

/// True if its receiver opens the window by less than a segment of `mss` octets at a time, in most of the steps that open it. A window of
/// a segment and a half makes the sender send small segments, too, but each acknowledgment opens all of it.
fn grants_crumbs(facts: &FlowFacts<'_>, mss: u64) -> bool {
    let shift = facts.model.scale.least();
    let acks = facts.model.view.acks.iter();
    let edges: Vec<u64> = acks
        .map(|ack| ack.ack + (u64::from(ack.window) << shift))
        .collect();
    let steps = edges
        .windows(2)
        .filter_map(|pair| pair[1].checked_sub(pair[0]))
        .filter(|step| *step > 0);
    percentile(steps.collect(), 50).is_none_or(|step| step < mss)
}

/// Small segments, where the window holds the sender back for `full` of the time.
pub(super) fn silly_window(facts: &FlowFacts<'_>, full: f64) -> Option<Rule> {
    let view = &facts.model.view;
    let mss = facts.mss().unwrap_or(facts.full);
    let small = |len: u32| u64::from(len) < mss.min(1_460) * 9 / 10;
    let segments = view.sent.iter().filter(|it| it.len > 0).count();
    let small_segments = view
        .sent
        .iter()
        .filter(|it| it.len > 0 && small(it.len))
        .count();
    // Segments of one size are those of a small MSS.
    let equal = view
        .sent
        .iter()
        .filter(|it| u64::from(it.len) == facts.full)
        .count();
    let is_silly = grants_crumbs(facts, mss.min(1_460))
        && full >= 0.3
        && small_segments * 5 >= segments * 2
        && equal * 10 < segments * 8
        && segments >= 20;
    is_silly.then(|| Rule {
        share: full,
        cause: Cause::SillyWindow,
        confidence: 0.85,
        summary: format!(
            "{} of {} segments are not full, because {} grants less than a segment more at a time ({} of {} \
             acknowledgments leave room for less than one).",
            format::count(small_segments as u64),
            format::count(segments as u64),
            facts.receiver,
            format::count(facts.stats().small_windows),
            format::count(view.acks.len() as u64),
        ),
        evidence: evidence([
            ("small_windows", facts.stats().small_windows as f64),
            ("small_segments", small_segments as f64),
            ("segments", segments as f64),
            ("acks", view.acks.len() as f64),
            ("receive_window_share", full),
        ]),
        advice: "Advertise a window only when it has grown by a segment or by half of the buffer (RFC 9293 section \
                 3.8.6.2.2); in lwIP TCP_WND_UPDATE_THRESHOLD."
            .to_owned(),
        limits: &[Limit::ReceiveWindow, Limit::SenderIdle],
        has_gain: false,
    })
}

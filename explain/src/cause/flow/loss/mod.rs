//! Lost segments: their pattern, and what their repair costs.
//!
//! | module | causes |
//! |---|---|
//! | `alternative` | a second explanation of the same losses |
//! | `black_hole` | nothing passes above a size |
//! | `cost` | losses and what they cost |
//! | `discarded` | what arrived and was discarded |
//! | `dispersion` | the link that spaces segments |
//! | `duplex` | frames of the two directions destroy each other |
//! | `few` | a window that few losses reduced |
//! | `held_back` | the path holds everything back, and loses nothing |
//! | `lost_acks` | the sender repeats what has arrived |
//! | `messages` | requests and answers that are lost |
//! | `outage` | nothing passes for a while |
//! | `queue` | policers and short queues |
//! | `slow_start` | short queues that slow start overflows |
//! | `pattern` | in bursts, at random, repaired by the timer only |

mod alternative;
mod black_hole;
mod cost;
mod discarded;
mod dispersion;
mod duplex;
mod few;
mod held_back;
mod lost_acks;
mod messages;
mod outage;
mod pattern;
mod queue;
mod slow_start;
#[cfg(test)]
mod tests;

pub(super) use alternative::{alternative, is_rare};
pub(super) use few::reason_of_window;

use crate::cause::flow::evenness;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::idle;
use crate::cause::flow::order;
use crate::cause::flow::path;
use crate::cause::flow::rate;
use crate::cause::flow::repeats::{episodes, is_spread};
use crate::cause::flow::rule::{Rule, is_loss};
use crate::cause::flow::service;
use crate::cause::flow::time_without::{NextLimit, TimeWithout};
use crate::cause::scored::evidence;
use black_hole::mtu_black_hole;
use cost::Losses;
use discarded::discarded;
use duplex::duplex_mismatch;
use held_back::held_back;
use linerate_capture::model::{Limit, Span};
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use lost_acks::lost_acks;
use messages::{lost_messages, lost_requests};
use outage::interrupted;
use pattern::{Followers, bursts, loses_the_second, no_sack, random, stalls};
use queue::{bucket, dropped_at_rate, queue, queue_capacity};
use std::collections::BTreeMap;

/// Repairs that take less of the time are not worth a finding.
const MIN_COST: f64 = 0.1;
/// A full path loses what its queue cannot hold; repairs that leave it idle for longer are worth a finding.
const MIN_COST_ON_FULL_PATH: f64 = 0.15;
/// Losses are no reason if a transfer without them takes this share of its time or more.
const HARDLY_LESS: f64 = 1.0 - MIN_COST_ON_FULL_PATH;
/// Nearly all pairs of a lost and another segment are in the order in which a policer loses them.
const WITHOUT_EXCEPTION: f64 = 0.98;
/// One loss is no accident if its repair takes this share of the time.
const MIN_DISCARDING_COST: f64 = 0.3;
/// A person notices so long a wait (J. Nielsen, Usability Engineering, 1993, section 5.5).
const LONG_NS: u64 = 1_000_000_000;
/// Without a queue, Reno uses three quarters of a path: its window grows from half of what the path holds to all of it,
/// and is halved again (RFC 5681 section 3.1).
const NEARLY_FULL: f64 = 0.75;
/// A path that is always full passes payload at this share of its fastest rate on average.
const ALWAYS_FULL: f64 = 0.95;
/// Congestion control that reacts to losses keeps them below this rate on a full path: with 12 segments in flight and more,
/// the window of RFC 5348 section 3.1.
const MIN_POLICED_RATE: f64 = 0.01;
/// A few losses among fewer segments may be chance.
const MIN_SEGMENTS: u64 = 30;
/// Fewer losses have no pattern.
const MIN_LOSSES: u64 = 3;
/// Of so many losses at once, a sender without selective acknowledgments repairs all but one later than it could.
const MANY_AT_ONCE: f64 = 3.0;
/// A ring of a receiver has this many buffers at most, if it is small; policers and the queues of links hold more.
const RING_SEGMENTS: f64 = 8.0;
/// Fewer losses show no pattern of a receiver that keeps nothing behind them.
const MIN_PATTERN: u64 = 8;
/// A smaller window that limits the sender for less of the time is not worth mentioning.
const MIN_REDUCED: f64 = 0.01;
/// Significance level: less probable patterns are not chance.
const SIGNIFICANCE: f64 = 0.001;
/// From this share of the cost of losses on, timeouts dominate it.
const MIN_STALL_SHARE: f64 = 0.8;

/// Where more is lost, the window has room for fewer than three segments (the square root of 3 / (2 * rate), Mathis et al.
/// 1997), so that only timers repair the losses (RFC 5681 section 3.2): a steady rate is that of the repairs.
const MOST_OF_FULL_PATH: f64 = 1.0 / 6.0;
/// A window that grows by a segment in each round trip overflows a ring of [`RING_SEGMENTS`] so often: 8 / (3 n²) of all
/// segments are lost (Mathis et al. 1997).
const MIN_RING_RATE: f64 = 8.0 / (3.0 * RING_SEGMENTS * RING_SEGMENTS);

/// Fewer round trips do not show a queue.
const MIN_ROUND_TRIPS: usize = 8;

pub(super) fn losses(facts: &FlowFacts<'_>) -> Option<Rule> {
    let named = named(facts)
        .filter(|rule| !is_loss(rule.cause) || !rule.has_gain || is_slower(facts, rule));
    named.or_else(|| lost_requests(facts))
}

/// True if payload passes at the fastest rate of the path all the time: what a deep queue holds passes while the sender waits for its timer.
fn is_always_full(facts: &FlowFacts<'_>) -> bool {
    let fastest = facts.fastest();
    fastest.is_some_and(|rate| facts.goodput() >= ALWAYS_FULL * rate)
}

/// True if the transfer takes longer for what `rule` explains, unless the rate of the path shows that it does not.
fn is_slower(facts: &FlowFacts<'_>, rule: &Rule) -> bool {
    match facts.time_without(rule.share, NextLimit::Path) {
        Some(TimeWithout::About(ns)) => facts.share_of(ns) < HARDLY_LESS,
        _ => true,
    }
}

fn named(facts: &FlowFacts<'_>) -> Option<Rule> {
    let losses = Losses::of(facts);
    let specific = mtu_black_hole(facts)
        .or_else(|| duplex_mismatch(facts).filter(|_| !is_policed(facts, &losses)))
        .or_else(|| interrupted(facts))
        .or_else(|| held_back(facts))
        .or_else(|| lost_messages(facts))
        .or_else(|| lost_acks(facts));
    if specific.is_some() {
        return specific;
    }
    let is_little = losses.segments < MIN_SEGMENTS && losses.lost < 2 * MIN_LOSSES;
    if losses.lost < 1 || is_little || is_reordering(facts) {
        return None;
    }
    let cost = losses.cost();
    // One loss is enough where all behind it comes again.
    let discards = facts.model.keeps_behind_gap == Some(false);
    let is_frequent = losses.lost >= MIN_LOSSES && losses.rate() >= 0.0005
        || discards && losses.repair() >= MIN_DISCARDING_COST;
    // A full path loses what its queue cannot hold; as long as it stays full, that costs nothing.
    let is_full = rate::is_full(facts) || rate::is_steady(facts);
    let is_harmless = cost < MIN_COST
        || is_full && losses.repair() < MIN_COST_ON_FULL_PATH
        || fills_path(facts, &losses)
        || losses.repair() < MIN_COST_ON_FULL_PATH
            && (losses.rate() < queue::MIN_EXCESS_RATE && evenness::is_full_despite_losses(facts)
                || evenness::is_full_despite_many_losses(facts));
    // What one transfer leaves idle while it repairs its losses, the others use.
    if !is_frequent
        || facts.is_beside_full
        || is_of_long_queue(facts, &losses)
        || service::ns_despite_losses(facts).is_some()
        || is_harmless && losses.rate() < MIN_POLICED_RATE
    {
        return None;
    }
    let mut figures = evidence([
        ("lost_segments", losses.lost as f64),
        ("segments", losses.segments as f64),
        ("loss_rate", losses.rate()),
        ("time_outs", facts.stats().time_outs as f64),
        ("time_out_share", losses.timeout),
        ("recovery_share", losses.recovery),
        ("reduced_window_share", losses.reduced),
        ("first_packet", facts.stats().first_retransmit as f64),
        ("last_packet", facts.stats().last_retransmit as f64),
    ]);
    let spacing = &facts.stats().spacing;
    let in_bursts = spacing.loses_in_bursts() && spacing.chance_probability() < SIGNIFICANCE;
    let stalls_ns = stalls_ns(facts);
    figures.insert("repair_share".to_owned(), losses.repair());
    figures.insert("segment_bytes".to_owned(), facts.full as f64);
    if let Some(longest_ns) = stalls_ns.iter().max() {
        let mean_ns = facts.model.time_ns(Limit::Timeout) / stalls_ns.len() as u64;
        figures.insert("timer_waits".to_owned(), stalls_ns.len() as f64);
        figures.insert("timer_wait_ns_mean".to_owned(), mean_ns as f64);
        figures.insert("timer_wait_ns_max".to_owned(), *longest_ns as f64);
    }
    let longest = match stalls_ns.iter().max() {
        Some(longest_ns) => format!(
            " ({} for the timer, the longest {})",
            format::counted(stalls_ns.len() as u64, "wait"),
            format::time(*longest_ns)
        ),
        None => String::new(),
    };
    let withheld = if losses.withheld >= MIN_REDUCED {
        figures.insert("withheld_share".to_owned(), losses.withheld);
        format!(
            " Delayed acknowledgments for the single segments of so small a window take {}.",
            format::percent(losses.withheld)
        )
    } else {
        String::new()
    };
    let dropped = if discards {
        let again = facts.model.view.sent.iter().filter(|it| it.is_discarded);
        let again = again.count() as u64;
        figures.insert("discarded_segments".to_owned(), again as f64);
        format!(
            " {} keeps nothing that arrives behind a lost segment: {} came again for that.",
            facts.receiver,
            format::counted(again, "segment")
        )
    } else {
        String::new()
    };
    let repairs = format!(
        "Repairing them takes {} of the time{longest}{}.{withheld}",
        format::percent(losses.repair()),
        if losses.reduced >= MIN_REDUCED {
            format!(
                ", and for {} the congestion window that they reduced is the limit",
                format::percent(losses.reduced)
            )
        } else {
            String::new()
        },
    );
    let waits = format!("{repairs}{dropped}");
    // A sender that does not slow down for losses keeps to the rate of a policer, and what it sends above is lost.
    if is_harmless {
        let found = bucket(facts, &losses, &waits, &figures)?;
        // The end of slow start loses many segments at once; a policer drops what exceeds its rate all the time.
        let is_policed = found.cause == Cause::Policed && is_spread(facts);
        return is_policed.then(|| Rule {
            share: found.share.max(losses.rate()),
            ..found
        });
    }
    let followers = Followers::of(facts).filter(|it| it.are_lost());
    // A bucket of one rate loses segments close behind others, too.
    let bucketed = bucket(facts, &losses, &waits, &figures);
    let has_one_rate = bucketed.as_ref().is_some_and(|rule| {
        rule.cause == Cause::Policed && rule.evidence.contains_key(queue::ONE_RATE)
    });
    let first = slow_start::first_losses(facts);
    let first = first.filter(|_| losses.rate() < queue::MIN_EXCESS_RATE);
    let is_behind_others = followers.is_some() || in_bursts && loses_the_second(facts);
    Some(if is_behind_others && !has_one_rate {
        bursts(facts, &losses, followers, &waits, figures)
    } else if let Some(rule) = bucketed {
        // A link that is nearly always full loses what its queue cannot hold.
        let queued = rule.evidence.get("bucket_bytes_per_s").copied();
        let is_nearly_full = queued.is_some_and(|rate| facts.goodput() >= NEARLY_FULL * rate);
        let is_harmless = losses.repair() < MIN_COST_ON_FULL_PATH;
        let is_kept_full = is_nearly_full && is_harmless || outlasts_repairs(&rule, &losses);
        if rule.cause != Cause::Policed && is_kept_full {
            return None;
        }
        // A queue loses several segments at once, which selective acknowledgments repair together. A ring of a few
        // buffers overflows again with each flight, however the losses are repaired.
        let room = rule.evidence.get("bucket_segments").copied();
        let is_ring = room.is_some_and(|segments| segments <= RING_SEGMENTS)
            && losses.rate() >= MIN_RING_RATE;
        let costs_more = rule.cause != Cause::Policed
            && !is_ring
            && losses_each_time(facts, &losses) >= MANY_AT_ONCE;
        let unreported = no_sack(facts, &losses, &waits, &figures);
        unreported.filter(|_| costs_more).unwrap_or(rule)
    } else if let Some(rule) = discarded(facts, &losses, &waits, &figures) {
        rule
    } else if let Some(rule) = no_sack(facts, &losses, &waits, &figures).filter(|_| first.is_none())
    {
        rule
    } else if let Some(capacity) = queue_capacity(facts, &losses) {
        queue(facts, &losses, capacity, &waits, figures)
    } else if first.is_some() {
        slow_start::overflow(facts, &losses, first, &waits, figures)
    } else if let Some(rule) = dropped_at_rate(facts, &losses, &waits, &figures) {
        rule
    } else if in_bursts && !discards {
        bursts(facts, &losses, None, &waits, figures)
    } else if losses.timeout >= MIN_STALL_SHARE * losses.repair()
            && losses.timeout >= MIN_COST.max(losses.reduced)
            // So few losses have no pattern, and what they cost is that everything behind them comes again.
            || discards && losses.lost < MIN_PATTERN
    {
        (!is_always_full(facts)).then(|| stalls(facts, &losses, &repairs, figures))?
    } else {
        random(facts, &losses, &waits, figures)
    })
}

/// True if a queue in which segments wait is longer than the path: what it holds keeps its link busy behind losses, unless the sender
/// waits for its timer.
fn outlasts_repairs(rule: &Rule, losses: &Losses) -> bool {
    let figure = |name: &str| rule.evidence.get(name).copied().unwrap_or(0.0);
    rule.cause == Cause::QueueOverflow
        && figure("delay_by_level") >= queue::MIN_DELAY_SHARE
        && figure("bucket_segments") > RING_SEGMENTS
        && losses.timeout < MIN_COST_ON_FULL_PATH
}

/// True if the path has a long queue, which takes as much of the time as waits for the timer at least: it overflows where it is full, so
/// that its length is the fault, not the loss.
fn is_of_long_queue(facts: &FlowFacts<'_>, losses: &Losses) -> bool {
    path::bufferbloat(facts).is_some_and(|it| it.share >= losses.timeout)
}

/// True if the losses are those of a policer without exception: frames that destroy each other do not know how much has passed.
fn is_policed(facts: &FlowFacts<'_>, losses: &Losses) -> bool {
    let found = bucket(facts, losses, "", &BTreeMap::new());
    found.is_some_and(|it| {
        it.cause == Cause::Policed && it.evidence["separation"] >= WITHOUT_EXCEPTION
    })
}

/// Near the receiver, where no round trip shows a queue: true if segments pass at nearly the fastest rate, but for long
/// silences of the sender and a closed window. Then the path is full, and a larger window would change nothing.
fn fills_between_stops(facts: &FlowFacts<'_>) -> bool {
    let stopped = idle::stopped_share(facts) + facts.share(Limit::ClosedWindow);
    let sees_sender = facts.model.to_sender.count() >= MIN_ROUND_TRIPS;
    facts.model.is_near_receiver()
        && !sees_sender
        && stopped >= idle::MIN_STOPPED
        && facts.model.utilization >= NEARLY_FULL * (1.0 - stopped)
}

/// True if what passed took the path nearly all the time: without its losses, a transfer is no faster.
fn fills_path(facts: &FlowFacts<'_>, losses: &Losses) -> bool {
    let least_ns = facts.least_time_ns().filter(|_| rate::is_full(facts));
    let needs_all = least_ns.is_some_and(|ns| facts.share_of(ns) >= 1.0 - MIN_COST);
    (needs_all || rate::busy_share(facts) >= 1.0 - MIN_COST) && losses.rate() < MOST_OF_FULL_PATH
}

/// Lost segments for each recovery.
fn losses_each_time(facts: &FlowFacts<'_>, losses: &Losses) -> f64 {
    stats::ratio(losses.lost as f64, episodes(facts) as f64)
}

/// Waits for the retransmission timer, also where no acknowledgment ended them.
fn stalls_ns(facts: &FlowFacts<'_>) -> Vec<u64> {
    let spans = facts.model.spans.iter();
    let stalls = spans.filter(|span| span.limit == Limit::Timeout);
    stalls.map(Span::ns).collect()
}

/// Segments that others overtook are mistaken for lost ones.
fn is_reordering(facts: &FlowFacts<'_>) -> bool {
    let overtaken = order::overtaken(facts);
    overtaken >= 10 && overtaken >= 2 * facts.model.view.lost()
}

//! Lost segments: their pattern, and what their repair costs.
//!
//! | module | causes |
//! |---|---|
//! | `alternative` | a second explanation of the same losses |
//! | `bucket` | policers and short queues, by what passed before |
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
//! | `queue` | short queues, by what is in flight; policers that leave the rate as it is |
//! | `repairs` | what the repairs take, as figures and in words |
//! | `slow_start` | short queues that slow start overflows |
//! | `unheard` | nothing comes back |
//! | `pattern` | in bursts, at random, repaired by the timer only |

mod alternative;
mod black_hole;
mod bucket;
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
mod repairs;
mod slow_start;
#[cfg(test)]
mod tests;
mod unheard;

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
use black_hole::mtu_black_hole;
use bucket::bucket;
use cost::Losses;
use discarded::discarded;
use duplex::duplex_mismatch;
use held_back::held_back;
use linerate_capture::model::Limit;
use linerate_results::record::Cause;
use linerate_results::stats;
use lost_acks::lost_acks;
use messages::{lost_messages, lost_requests};
use outage::interrupted;
use pattern::{Followers, bursts, loses_the_second, no_sack, random, stalls};
use queue::{dropped_at_rate, queue, queue_capacity};
use repairs::Repairs;
use std::collections::BTreeMap;
use unheard::nothing_comes_back;

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
/// Rarer ones, one in 2,000 segments, leave a window of 55 (the square root of 3 / (2 * rate), Mathis et al. 1997).
const MIN_RATE: f64 = 0.0005;
/// Of so many losses at once, a sender without selective acknowledgments repairs all but one later than it could.
const MANY_AT_ONCE: f64 = 3.0;
/// A ring of a receiver has this many buffers at most, if it is small; policers and the queues of links hold more.
const RING_SEGMENTS: f64 = 8.0;
/// Fewer losses show no pattern of a receiver that keeps nothing behind them.
const MIN_PATTERN: u64 = 8;
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

/// What single losses, or a direction or a size that is lost as a whole, show.
fn specific(facts: &FlowFacts<'_>, losses: &Losses) -> Option<Rule> {
    mtu_black_hole(facts)
        .or_else(|| duplex_mismatch(facts).filter(|_| !is_policed(facts, losses)))
        .or_else(|| interrupted(facts))
        .or_else(|| held_back(facts))
        .or_else(|| nothing_comes_back(facts))
        .or_else(|| lost_messages(facts))
        .or_else(|| lost_acks(facts))
}

fn named(facts: &FlowFacts<'_>) -> Option<Rule> {
    let losses = Losses::of(facts);
    let specific = specific(facts, &losses);
    if specific.is_some() {
        return specific;
    }
    let is_harmless = is_harmless(facts, &losses);
    if !are_frequent(facts, &losses)
        || is_reordering(facts)
        // What one transfer leaves idle while it repairs its losses, the others use.
        || facts.is_beside_full
        || is_of_long_queue(facts, &losses)
        || service::ns_despite_losses(facts).is_some()
        || is_harmless && losses.rate() < MIN_POLICED_RATE
    {
        return None;
    }
    let repairs = Repairs::of(facts, &losses);
    if is_harmless {
        policed_at_rate(facts, &losses, &repairs)
    } else {
        by_pattern(facts, &losses, repairs)
    }
}

/// True if there are enough losses to judge them. One is enough where all behind it comes again.
fn are_frequent(facts: &FlowFacts<'_>, losses: &Losses) -> bool {
    let is_little = losses.segments < MIN_SEGMENTS && losses.lost < 2 * MIN_LOSSES;
    let is_frequent = losses.lost >= MIN_LOSSES && losses.rate() >= MIN_RATE;
    let is_expensive = discards(facts) && losses.repair() >= MIN_DISCARDING_COST;
    losses.lost >= 1 && !is_little && (is_frequent || is_expensive)
}

/// True if the receiver keeps nothing that arrives behind a gap.
fn discards(facts: &FlowFacts<'_>) -> bool {
    facts.model.keeps_behind_gap == Some(false)
}

/// True if losses cost little: a full path loses what its queue cannot hold, which costs nothing as long as it stays full.
fn is_harmless(facts: &FlowFacts<'_>, losses: &Losses) -> bool {
    let is_full = || rate::is_full(facts) || rate::is_steady(facts);
    let is_even = || {
        losses.rate() < bucket::MIN_EXCESS_RATE && evenness::is_full_despite_losses(facts)
            || evenness::is_full_despite_many_losses(facts)
    };
    losses.cost() < MIN_COST
        || fills_path(facts, losses)
        || losses.repair() < MIN_COST_ON_FULL_PATH && (is_full() || is_even())
}

/// A sender that does not slow down for losses keeps to the rate of a policer, and what it sends above is lost.
fn policed_at_rate(facts: &FlowFacts<'_>, losses: &Losses, repairs: &Repairs) -> Option<Rule> {
    let found = bucket(facts, losses, &repairs.all, &repairs.figures)?;
    // The end of slow start loses many segments at once; a policer drops what exceeds its rate all the time.
    let is_policed = found.cause == Cause::Policed && is_spread(facts);
    is_policed.then(|| Rule {
        share: found.share.max(losses.rate()),
        ..found
    })
}

/// The cause that the pattern of the losses shows.
fn by_pattern(facts: &FlowFacts<'_>, losses: &Losses, repairs: Repairs) -> Option<Rule> {
    let Repairs {
        waits,
        all,
        figures,
    } = repairs;
    let spacing = &facts.stats().spacing;
    let in_bursts = spacing.loses_in_bursts() && spacing.chance_probability() < SIGNIFICANCE;
    let followers = Followers::of(facts).filter(|it| it.are_lost());
    // A bucket of one rate loses segments close behind others, too.
    let bucketed = bucket(facts, losses, &all, &figures);
    let has_one_rate = bucketed.as_ref().is_some_and(|rule| {
        rule.cause == Cause::Policed && rule.evidence.contains_key(bucket::ONE_RATE)
    });
    let is_behind_others = followers.is_some() || in_bursts && loses_the_second(facts);
    if is_behind_others && !has_one_rate {
        return Some(bursts(facts, losses, followers, &all, figures));
    }
    if let Some(rule) = bucketed {
        return of_bucket(facts, losses, rule, &all, &figures);
    }
    // Damage does not depend on what came before, unless all behind it comes again.
    let has_no_room =
        |rule: &Rule| in_bursts && !discards(facts) && rule.cause == Cause::ChecksumErrors;
    let discarded = discarded(facts, losses, &all, &figures);
    if let Some(rule) = discarded.filter(|rule| !has_no_room(rule)) {
        return Some(rule);
    }
    let first = slow_start::first_losses(facts);
    let first = first.filter(|_| losses.rate() < bucket::MIN_EXCESS_RATE);
    let unreported = no_sack(facts, losses, &all, &figures).filter(|_| first.is_none());
    if unreported.is_some() {
        return unreported;
    }
    if let Some(capacity) = queue_capacity(facts, losses) {
        return Some(queue(facts, losses, capacity, &all, figures));
    }
    if first.is_some() {
        return Some(slow_start::overflow(facts, losses, first, &all, figures));
    }
    if let Some(rule) = dropped_at_rate(facts, losses, &all, &figures) {
        return Some(rule);
    }
    if in_bursts && !discards(facts) {
        return Some(bursts(facts, losses, None, &all, figures));
    }
    if are_stalls(facts, losses) {
        return (!is_always_full(facts)).then(|| stalls(facts, losses, &waits, figures));
    }
    Some(random(facts, losses, &all, figures))
}

/// A policer, or a queue unless it costs little, or unless losses cost more for want of selective acknowledgments.
fn of_bucket(
    facts: &FlowFacts<'_>,
    losses: &Losses,
    rule: Rule,
    waits: &str,
    figures: &BTreeMap<String, f64>,
) -> Option<Rule> {
    if rule.cause == Cause::Policed {
        return Some(rule);
    }
    // A link that is nearly always full loses what its queue cannot hold.
    let figure = |name: &str| rule.evidence.get(name).copied();
    let rate = figure("bucket_bytes_per_s");
    let is_nearly_full = rate.is_some_and(|rate| facts.goodput() >= NEARLY_FULL * rate);
    let is_cheap = losses.repair() < MIN_COST_ON_FULL_PATH;
    if is_nearly_full && is_cheap || outlasts_repairs(&rule, losses) {
        return None;
    }
    // A queue loses several segments at once, which selective acknowledgments repair together. A ring of a few
    // buffers overflows again with each flight, however the losses are repaired.
    let is_ring = figure("bucket_segments").is_some_and(|segments| segments <= RING_SEGMENTS)
        && losses.rate() >= MIN_RING_RATE;
    let costs_more = !is_ring && losses_each_time(facts, losses) >= MANY_AT_ONCE;
    let unreported = no_sack(facts, losses, waits, figures).filter(|_| costs_more);
    Some(unreported.unwrap_or(rule))
}

/// True if waits for the timer are nearly all that the losses cost. Where all behind a few losses comes again, these have no pattern, and
/// that is what they cost.
fn are_stalls(facts: &FlowFacts<'_>, losses: &Losses) -> bool {
    losses.timeout >= MIN_STALL_SHARE * losses.repair()
        && losses.timeout >= MIN_COST.max(losses.reduced)
        || discards(facts) && losses.lost < MIN_PATTERN
}

/// True if a queue in which segments wait is longer than the path: what it holds keeps its link busy behind losses, unless the sender
/// waits for its timer.
fn outlasts_repairs(rule: &Rule, losses: &Losses) -> bool {
    let figure = |name: &str| rule.evidence.get(name).copied().unwrap_or(0.0);
    rule.cause == Cause::QueueOverflow
        && figure("delay_by_level") >= bucket::MIN_DELAY_SHARE
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

/// Segments that others overtook are mistaken for lost ones.
fn is_reordering(facts: &FlowFacts<'_>) -> bool {
    let overtaken = order::overtaken(facts);
    overtaken >= 10 && overtaken >= 2 * facts.model.view.lost()
}

//! Losses that permit a second explanation.

use super::bucket::{MIN_DELAY_SHARE, MIN_EXCESS_RATE, bucket};
use super::{Losses, queue, queue_capacity, unheard};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use linerate_results::record::Cause;
use std::collections::BTreeMap;

/// A receiver that is busy with a frame has room for few behind it: two descriptors, besides the frame that it processes.
const BUSY_SEGMENTS: f64 = 3.0;

/// From this loss rate on, a window has room for four segments at most (Mathis et al. 1997: the square root of 3 / (2 * rate)).
const MIN_HEAVY_RATE: f64 = 0.08;

/// The other explanation of the losses that `rule` explains.
pub(in crate::cause::flow) fn alternative(facts: &FlowFacts<'_>, rule: &Rule) -> Option<Cause> {
    let figure = |name: &str| rule.evidence.get(name).copied();
    Some(match rule.cause {
        // So many are lost by what drops all that exceeds a rate.
        Cause::LossInBursts if is_heavy(rule) => Cause::Policed,
        Cause::LossInBursts => Cause::QueueOverflow,
        Cause::QueueOverflow | Cause::ShallowQueue => {
            let is_busy = figure("bucket_segments").is_none_or(|it| it <= BUSY_SEGMENTS);
            let is_delayed = figure("delay_by_level").is_none_or(|it| it >= MIN_DELAY_SHARE);
            let is_frequent = figure("loss_rate").is_some_and(|it| it >= MIN_EXCESS_RATE);
            if rule.cause == Cause::QueueOverflow && is_busy && !is_frequent {
                Cause::LossInBursts
            } else if is_delayed {
                Cause::RandomLoss
            } else {
                Cause::Policed
            }
        }
        Cause::Policed if figure("bucket_bytes").is_none() => Cause::RandomLoss,
        Cause::Policed => Cause::ShallowQueue,
        // A sender probes for the room of a queue with one loss in each of its cycles, which cost little to repair.
        Cause::RandomLoss if is_probing(rule) => Cause::ShallowQueue,
        Cause::RandomLoss if is_heavy(rule) && exceeds_chance(facts, figure("loss_rate")?) => {
            Cause::Policed
        }
        Cause::RandomLoss if facts.model.is_near_receiver() => Cause::LossInBursts,
        Cause::RandomLoss => {
            // Only where the timer repairs most of them.
            let (timer, all) = (figure("time_out_share")?, figure("repair_share")?);
            if timer * 2.0 < all {
                return None;
            }
            Cause::RetransmissionStalls
        }
        Cause::RetransmissionStalls => Cause::RandomLoss,
        Cause::DuplexMismatch => Cause::LossInBursts,
        Cause::NoAnswer if figure(unheard::MAY_BE_FULL).is_some() => Cause::MtuBlackHole,
        Cause::NoSack => pattern(facts),
        _ => return None,
    })
}

/// True if so many are lost that independent losses would leave hardly any window.
fn is_heavy(rule: &Rule) -> bool {
    let rate = rule.evidence.get("loss_rate").copied().unwrap_or(0.0);
    rate >= MIN_HEAVY_RATE
}

/// True if more passes than congestion control permits with independent losses at this rate (Mathis et al. 1997): they come
/// together.
pub(super) fn exceeds_chance(facts: &FlowFacts<'_>, loss_rate: f64) -> bool {
    let window = (1.5 / loss_rate.max(1e-9)).sqrt() * facts.full as f64;
    let rtt_ns = facts.model.base_rtt_ns().unwrap_or(0) as f64;
    rtt_ns > 0.0 && facts.goodput() * rtt_ns / 1e9 > window
}

/// True for losses that are as rare as those of a queue that a growing window overflows.
pub(in crate::cause::flow) fn is_rare(facts: &FlowFacts<'_>) -> bool {
    let losses = Losses::of(facts);
    losses.lost > 0 && losses.rate() < MIN_EXCESS_RATE
}

/// True for rare losses whose repair costs less than the smaller window behind them.
fn is_probing(rule: &Rule) -> bool {
    let figure = |name: &str| rule.evidence.get(name).copied().unwrap_or(0.0);
    figure("loss_rate") < MIN_EXCESS_RATE && figure("repair_share") < figure("reduced_window_share")
}

/// The pattern of losses, whatever their repair costs.
fn pattern(facts: &FlowFacts<'_>) -> Cause {
    let (losses, figures) = (Losses::of(facts), BTreeMap::new());
    if let Some(rule) = bucket(facts, &losses, "", &figures) {
        return rule.cause;
    }
    if let Some(capacity) = queue_capacity(facts, &losses) {
        return queue(facts, &losses, capacity, "", figures).cause;
    }
    if facts.stats().spacing.loses_in_bursts() {
        Cause::LossInBursts
    } else {
        Cause::RandomLoss
    }
}

//! Losses that permit a second explanation.

use super::queue::MIN_DELAY_SHARE;
use super::{Losses, bucket, queue, queue_capacity};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::rule::Rule;
use linerate_results::record::Cause;
use std::collections::BTreeMap;

/// A receiver that is busy with a frame has room for few behind it: two descriptors, besides the frame that it processes.
const BUSY_SEGMENTS: f64 = 3.0;

/// A window that grows by one segment in a round trip, from half of what overflows a queue, loses one in 3/8 of its square
/// (Mathis et al. 1997): with 16 segments of room and more, fewer than this are lost.
const MAX_PROBING_RATE: f64 = 0.01;

/// The other explanation of the losses that `rule` explains.
pub(in crate::cause::flow) fn alternative(facts: &FlowFacts<'_>, rule: &Rule) -> Option<Cause> {
    let figure = |name: &str| rule.evidence.get(name).copied();
    Some(match rule.cause {
        Cause::LossInBursts => Cause::QueueOverflow,
        Cause::QueueOverflow | Cause::ShallowQueue => {
            let is_busy = figure("bucket_segments").is_none_or(|it| it <= BUSY_SEGMENTS);
            let is_delayed = figure("delay_by_level").is_none_or(|it| it >= MIN_DELAY_SHARE);
            if rule.cause == Cause::QueueOverflow && is_busy {
                Cause::LossInBursts
            } else if is_delayed {
                Cause::RandomLoss
            } else {
                Cause::Policed
            }
        }
        Cause::Policed => Cause::ShallowQueue,
        // A sender probes for the room of a queue with one loss in each of its cycles, which cost little to repair.
        Cause::RandomLoss if is_probing(rule) => Cause::ShallowQueue,
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
        Cause::NoSack => pattern(facts),
        _ => return None,
    })
}

/// True for rare losses whose repair costs less than the smaller window behind them.
fn is_probing(rule: &Rule) -> bool {
    let figure = |name: &str| rule.evidence.get(name).copied().unwrap_or(0.0);
    figure("loss_rate") < MAX_PROBING_RATE
        && figure("repair_share") < figure("reduced_window_share")
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

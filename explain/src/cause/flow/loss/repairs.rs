//! What the repairs of losses take, as figures and in words.

use super::{Losses, discards};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::scored::evidence;
use linerate_capture::model::{Limit, Span};
use linerate_results::format;
use std::collections::BTreeMap;

/// A smaller window that limits the sender for less of the time is not worth mentioning.
const MIN_REDUCED: f64 = 0.01;

/// Sentences and figures that are the same for all patterns of losses.
pub(super) struct Repairs {
    /// How long the sender waits for repairs.
    pub(super) waits: String,
    /// The same, and what comes again because the receiver has discarded it.
    pub(super) all: String,
    pub(super) figures: BTreeMap<String, f64>,
}

impl Repairs {
    pub(super) fn of(facts: &FlowFacts<'_>, losses: &Losses) -> Self {
        let mut figures = evidence([
            ("lost_segments", losses.lost as f64),
            ("segments", losses.segments as f64),
            ("loss_rate", losses.rate()),
            ("time_outs", facts.stats().time_outs as f64),
            ("time_out_share", losses.timeout),
            ("recovery_share", losses.recovery),
            ("reduced_window_share", losses.reduced),
            ("repair_share", losses.repair()),
            ("segment_bytes", facts.full as f64),
            ("first_packet", facts.stats().first_retransmit as f64),
            ("last_packet", facts.stats().last_retransmit as f64),
        ]);
        let waits = format!(
            "Repairing them takes {} of the time{}{}.{}",
            format::percent(losses.repair()),
            timer_waits(facts, &mut figures),
            reduced_window(losses),
            withheld(losses, &mut figures),
        );
        let all = format!("{waits}{}", discarded(facts, &mut figures));
        Self {
            waits,
            all,
            figures,
        }
    }
}

/// The waits for the retransmission timer, also where no acknowledgment ended them.
fn timer_waits(facts: &FlowFacts<'_>, figures: &mut BTreeMap<String, f64>) -> String {
    let spans = facts.model.spans.iter();
    let stalls = spans.filter(|span| span.limit == Limit::Timeout);
    let stalls_ns: Vec<u64> = stalls.map(Span::ns).collect();
    let Some(longest_ns) = stalls_ns.iter().max() else {
        return String::new();
    };
    let count = stalls_ns.len() as u64;
    let mean_ns = stalls_ns.iter().sum::<u64>() / count;
    figures.insert("timer_waits".to_owned(), count as f64);
    figures.insert("timer_wait_ns_mean".to_owned(), mean_ns as f64);
    figures.insert("timer_wait_ns_max".to_owned(), *longest_ns as f64);
    format!(
        " ({} for the timer, the longest {})",
        format::counted(count, "wait"),
        format::time(*longest_ns)
    )
}

fn reduced_window(losses: &Losses) -> String {
    if losses.reduced < MIN_REDUCED {
        return String::new();
    }
    format!(
        ", and for {} the congestion window that they reduced is the limit",
        format::percent(losses.reduced)
    )
}

fn withheld(losses: &Losses, figures: &mut BTreeMap<String, f64>) -> String {
    if losses.withheld < MIN_REDUCED {
        return String::new();
    }
    figures.insert("withheld_share".to_owned(), losses.withheld);
    format!(
        " Delayed acknowledgments for the single segments of so small a window take {}.",
        format::percent(losses.withheld)
    )
}

fn discarded(facts: &FlowFacts<'_>, figures: &mut BTreeMap<String, f64>) -> String {
    if !discards(facts) {
        return String::new();
    }
    let again = facts.model.view.sent.iter().filter(|it| it.is_discarded);
    let again = again.count() as u64;
    figures.insert("discarded_segments".to_owned(), again as f64);
    format!(
        " {} keeps nothing that arrives behind a lost segment: {} came again for that.",
        facts.receiver,
        format::counted(again, "segment")
    )
}

//! The fate of each frame.

use linerate_ether::ledger::DropCause;
use serde::Serialize;

use super::{Legend, label, size};
use crate::svg::{colour, stack};
use linerate_results::format;
use linerate_results::record::HttpGet;

/// The name of the frames that were not lost.
const DELIVERED: &str = "delivered";
/// Their place among the colours.
const DELIVERED_PLACE: usize = 2;

#[derive(Serialize)]
pub(super) struct Fate {
    name: String,
    size: String,
    /// Of the largest download of a run; empty if it lost no frame.
    chart: String,
    sent: String,
    delivered: String,
    lost: Vec<FateLoss>,
    balance: &'static str,
    is_balanced: bool,
}

#[derive(Serialize)]
pub(super) struct FateLoss {
    class: String,
    cause: String,
    layer: String,
    explanation: &'static str,
    frames: String,
}

/// The fate of the frames of each download, and the meaning of the colours.
pub(super) fn fates(gets: &[&HttpGet]) -> (Vec<Fate>, Vec<Legend>) {
    let lost = gets.iter().flat_map(|get| get.ledger.lost_frames.keys());
    let mut names: Vec<&str> = lost.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let class = |name: &str| {
        let at = names.iter().position(|known| *known == name);
        colour(at.map_or(DELIVERED_PLACE, |at| {
            at + usize::from(at >= DELIVERED_PLACE)
        }))
    };
    let legend = [DELIVERED].into_iter().chain(names.iter().copied());
    let legend = legend.map(|name| Legend {
        class: class(name),
        name: name.replace('_', " "),
    });
    let is_largest = |get: &HttpGet| {
        let mut same = gets.iter().filter(|other| label(other) == label(get));
        same.all(|other| other.params.bytes <= get.params.bytes)
    };
    let fates = gets.iter().map(|get| fate(get, is_largest(get), &class));
    (fates.collect(), legend.collect())
}

fn fate(get: &HttpGet, is_drawn: bool, class: &dyn Fn(&str) -> String) -> Fate {
    let ledger = &get.ledger;
    let mut parts = vec![stack::Part {
        class: class(DELIVERED),
        name: DELIVERED,
        size: ledger.delivered_frames as f64,
    }];
    parts.extend(ledger.lost_frames.iter().map(|(name, frames)| stack::Part {
        class: class(name),
        name,
        size: *frames as f64,
    }));
    let missing = ledger.missing_frames();
    let label_text = format!(
        "{}, {}: {} frames sent, {} delivered, {} lost",
        label(get),
        size(get),
        ledger.sent_frames,
        ledger.delivered_frames,
        ledger.lost()
    );
    Fate {
        // Without a loss the bar shows nothing.
        chart: if is_drawn && ledger.lost() > 0 {
            stack::stack(&parts, ledger.sent_frames as f64, &label_text)
        } else {
            String::new()
        },
        name: label(get).to_owned(),
        size: size(get),
        sent: format::count(ledger.sent_frames),
        delivered: format::count(ledger.delivered_frames),
        lost: ledger
            .lost_frames
            .iter()
            .map(|(name, frames)| FateLoss {
                class: class(name),
                cause: name.replace('_', " "),
                layer: DropCause::from_name(name)
                    .map_or("unknown", |cause| cause.layer().name())
                    .into(),
                explanation: DropCause::from_name(name).map_or("", DropCause::explanation),
                frames: format::count(*frames),
            })
            .collect(),
        is_balanced: missing == 0,
        balance: if missing == 0 {
            "balances"
        } else {
            "does not balance"
        },
    }
}

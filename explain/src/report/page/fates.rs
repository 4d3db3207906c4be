//! The fate of each frame.

use linerate_ether::ledger::DropCause;
use serde::Serialize;

use super::{Legend, label, size};
use crate::svg::stack;
use linerate_results::format;
use linerate_results::record::HttpGet;

#[derive(Serialize)]
pub(super) struct Fate {
    class: String,
    name: String,
    size: String,
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

pub(super) fn fate(get: &HttpGet, class: String) -> Fate {
    let ledger = &get.ledger;
    let mut parts = vec![stack::Part {
        class: "l-ok".into(),
        name: "delivered",
        size: ledger.delivered_frames as f64,
    }];
    parts.extend(ledger.lost_frames.iter().map(|(name, frames)| stack::Part {
        class: drop_class(name),
        name,
        size: *frames as f64,
    }));
    let missing = ledger.missing_frames();
    Fate {
        chart: stack::stack(
            &parts,
            ledger.sent_frames as f64,
            &format!(
                "{}, {}: {} frames sent, {} delivered, {} lost",
                label(get),
                size(get),
                ledger.sent_frames,
                ledger.delivered_frames,
                ledger.lost()
            ),
        ),
        class,
        name: label(get).to_owned(),
        size: size(get),
        sent: format::count(ledger.sent_frames),
        delivered: format::count(ledger.delivered_frames),
        lost: ledger
            .lost_frames
            .iter()
            .map(|(name, frames)| FateLoss {
                class: drop_class(name),
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

pub(super) fn fate_legend(gets: &[&HttpGet]) -> Vec<Legend> {
    let mut names: Vec<&str> = gets
        .iter()
        .flat_map(|get| get.ledger.lost_frames.keys().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    let lost = names.into_iter().map(|name| Legend {
        class: drop_class(name),
        name: name.replace('_', " "),
    });
    std::iter::once(Legend {
        class: "l-ok".into(),
        name: "delivered".into(),
    })
    .chain(lost)
    .collect()
}

fn drop_class(name: &str) -> String {
    let layer = DropCause::from_name(name).map_or("unknown", |cause| cause.layer().name());
    // Causes of one layer share a hue; the PHY and the MAC have two important ones.
    let shade = if matches!(name, "truncated" | "bad_fcs") {
        " b"
    } else {
        ""
    };
    format!("l-{layer}{shade}")
}

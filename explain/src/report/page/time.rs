//! The time of a download by activity.

use super::{Bar, Legend, label, size};
use crate::svg::stack;
use linerate_results::format;
use linerate_results::record::{HttpGet, TimeShare};

/// Classes of the parts of `TimeShare::parts`, in its order.
const TIME_CLASSES: [&str; 6] = ["t-rx", "t-repeat", "t-tx", "t-device", "t-peer", "t-timer"];

pub(super) fn time_bar(get: &HttpGet, class: String) -> Bar {
    let named = get.metrics.time_share.parts();
    let parts: Vec<stack::Part<'_>> = named
        .iter()
        .zip(TIME_CLASSES)
        .map(|((name, size), class)| stack::Part {
            class: class.into(),
            name,
            size: *size,
        })
        .collect();
    let words: Vec<String> = named
        .iter()
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{name} {}", format::percent(*share)))
        .collect();
    Bar {
        chart: stack::stack(
            &parts,
            1.0,
            &format!("{}: {}", label(get), words.join(", ")),
        ),
        class,
        name: label(get).to_owned(),
        size: size(get),
        value: words.join(" · "),
    }
}

pub(super) fn time_legend() -> Vec<Legend> {
    let names = TimeShare::default().parts();
    let pairs = names.iter().zip(TIME_CLASSES);
    pairs
        .map(|((name, _), class)| Legend {
            class: class.into(),
            name: (*name).into(),
        })
        .collect()
}

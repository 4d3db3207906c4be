//! The time of a download by activity.

use super::{Bar, Legend, label, size};
use crate::svg::{colour, stack};
use linerate_results::format;
use linerate_results::record::{HttpGet, TimeShare};

/// The places of the parts of `TimeShare::parts` among the colours, in its order.
const PLACES: [usize; 6] = [2, 7, 3, 1, 15, 0];

pub(super) fn time_bar(get: &HttpGet) -> Bar {
    let named = get.metrics.time_share.parts();
    let parts: Vec<stack::Part<'_>> = named
        .iter()
        .zip(PLACES)
        .map(|((name, size), place)| stack::Part {
            class: colour(place),
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
        name: label(get).to_owned(),
        size: size(get),
        value: words.join(" · "),
    }
}

pub(super) fn time_legend() -> Vec<Legend> {
    let names = TimeShare::default().parts();
    let entries = names.iter().zip(PLACES);
    entries
        .map(|((name, _), place)| Legend {
            class: colour(place),
            name: (*name).into(),
        })
        .collect()
}

//! A finding alone: each figure of its sentences is in its evidence, and its words fit its figures.

use super::quantity::{Quantity, Unit, quantities, words};
use super::{Contradiction, StatedFinding};

/// Words that end with `s`, and are no plural.
const NO_PLURAL: [&str; 5] = ["is", "was", "has", "its", "others"];
/// Figures that standards and definitions give, not the capture: the MSS of Ethernet, the rate at which pauses are
/// counted, the time within which copies are searched.
const CONSTANTS: [&str; 4] = ["1,460:", "1,460", "100 Mbit/s", "10 ms"];
/// Percentiles in evidence, in ascending order; `_ns_least` and `_ns_max` bound them.
const PERCENTILES: [&str; 6] = ["_least", "_p50", "_p90", "_p98", "_p99", "_max"];

/// The contradictions of a finding in itself.
pub(super) fn check(found: &StatedFinding) -> Vec<Contradiction> {
    let finding = &found.finding;
    let mut texts = Vec::new();
    ranges(found, &mut texts);
    let (summary, advice) = (words(&finding.summary), words(&finding.advice));
    let stated = quantities(&summary);
    for quantity in &stated {
        if !is_evident(found, quantity) {
            texts.push(format!(
                "no evidence for `{}` in: {}",
                quantity.text, finding.summary
            ));
        }
    }
    // Numbers in advice are mostly settings; sizes, times and rates are those of this capture.
    let advised = quantities(&advice);
    for quantity in &advised {
        let is_setting = matches!(quantity.unit, Unit::Plain | Unit::Percent);
        if !is_setting && !is_evident(found, quantity) {
            texts.push(format!(
                "no evidence for `{}` in: {}",
                quantity.text, finding.advice
            ));
        }
        if quantity.unit == Unit::Bytes && quantity.value <= 1.0 {
            texts.push(format!("a useless size is advised: {}", finding.advice));
        }
    }
    parts(&summary, &stated, &mut texts);
    medians(&summary, &stated, &mut texts);
    for (words, stated) in [(&summary, &stated), (&advice, &advised)] {
        texts.extend(plurals_of_one(words, stated));
    }
    let texts = texts.into_iter();
    texts
        .map(|text| Contradiction::of(finding.cause, text))
        .collect()
}

/// Shares are 0 to 1, no figure is negative, percentiles ascend, and a time without a cause is not longer than with it.
fn ranges(found: &StatedFinding, texts: &mut Vec<String>) {
    let evidence = &found.finding.evidence;
    let is_share = |value: f64| (0.0..=1.0 + 1e-9).contains(&value) && value.is_sign_positive();
    if !is_share(found.share_of_time) {
        texts.push(format!("share of time {}", found.share_of_time));
    }
    if !is_share(found.finding.confidence) {
        texts.push(format!("confidence {}", found.finding.confidence));
    }
    for (name, value) in evidence {
        let is_wrong = if name.ends_with("_share") {
            !is_share(*value)
        } else {
            !value.is_finite() || value.is_sign_negative()
        };
        if is_wrong {
            texts.push(format!("{name} is {value}"));
        }
        let Some((stem, rank)) = split(name) else {
            continue;
        };
        for above in &PERCENTILES[rank + 1..] {
            if let Some(larger) = evidence
                .get(&format!("{stem}{above}"))
                .filter(|it| *it < value)
            {
                texts.push(format!("{name} is {value}, but {stem}{above} is {larger}"));
            }
        }
    }
    let figure = |name: &str| evidence.get(name).copied();
    let without_ns = figure("time_without_ns");
    let bounds = [
        ("least_time_ns", without_ns),
        ("time_without_ns", figure("time_ns")),
    ];
    for (name, greater) in bounds {
        if let Some((less, greater)) = figure(name)
            .zip(greater)
            .filter(|(less, more)| *less > more + 1.0)
        {
            texts.push(format!("{name} is {less}, more than {greater}"));
        }
    }
}

/// The name before a percentile, and its place in [`PERCENTILES`].
fn split(name: &str) -> Option<(&str, usize)> {
    let mut ranked = PERCENTILES.iter().enumerate();
    ranked.find_map(|(rank, suffix)| Some((name.strip_suffix(suffix)?, rank)))
}

/// True if a figure of the evidence, or the share of the time, is printed as `quantity`.
fn is_evident(found: &StatedFinding, quantity: &Quantity) -> bool {
    if CONSTANTS.contains(&quantity.text.as_str())
        || CONSTANTS.contains(&quantity.text.trim_end_matches(['.', ',']))
    {
        return true;
    }
    let mut figures = found.finding.evidence.iter();
    let shown = |(name, value): (&String, &f64)| {
        let (unit, scale) = unit_of(name);
        let is_same = match quantity.unit {
            // A number of octets may be printed without a unit.
            Unit::Plain => matches!(unit, Unit::Plain | Unit::Bytes),
            Unit::Percent => unit == Unit::Plain,
            other => other == unit,
        };
        is_same && quantity.shows(value * scale)
    };
    figures.any(shown) || quantity.unit == Unit::Percent && quantity.shows(found.share_of_time)
}

/// Unit of a figure of evidence by its name, and the factor to the base unit.
fn unit_of(name: &str) -> (Unit, f64) {
    let is_of = |part: &str| name.contains(part);
    if is_of("bits_per_s") {
        (Unit::Rate, 0.125)
    } else if is_of("bytes_per_s") {
        (Unit::Rate, 1.0)
    } else if name.split('_').any(|it| it == "ns") {
        (Unit::Time, 1.0)
    } else if is_of("bytes") {
        (Unit::Bytes, 1.0)
    } else {
        (Unit::Plain, 1.0)
    }
}

/// `x of y`: a part is not larger than the whole.
fn parts(words: &[&str], stated: &[Quantity], texts: &mut Vec<String>) {
    for pair in stated.windows(2) {
        let between = &words[pair[0].next..pair[1].word];
        let is_part = matches!(between, ["of"] | ["of", "its"]) && pair[0].unit == pair[1].unit;
        if is_part && pair[0].value > pair[1].value {
            texts.push(format!(
                "{} of {}: {}",
                pair[0].text,
                pair[1].text,
                words.join(" ")
            ));
        }
    }
}

/// A median is not longer than the longest.
fn medians(words: &[&str], stated: &[Quantity], texts: &mut Vec<String>) {
    let times = || stated.iter().filter(|it| it.unit == Unit::Time);
    let is_median = |it: &&Quantity| {
        let after = &words[it.next.min(words.len())..];
        after
            .first()
            .is_some_and(|word| word.starts_with("(median"))
            || after.len() >= 3 && after[..2] == ["in", "the"] && after[2].starts_with("median")
    };
    let Some(longest_at) = words.iter().position(|word| *word == "longest") else {
        return;
    };
    let longest = times().find(|it| it.word > longest_at);
    if let Some((median, longest)) = times().find(is_median).zip(longest)
        && median.value > longest.value * 1.01
    {
        texts.push(format!("median {}, longest {}", median.text, longest.text));
    }
}

/// `1 times`, `1 segments`.
fn plurals_of_one(words: &[&str], stated: &[Quantity]) -> Vec<String> {
    let ones = stated
        .iter()
        .filter(|it| it.unit == Unit::Plain && it.text.trim_start_matches('(') == "1");
    let nouns = ones.filter_map(|it| words.get(it.next));
    let plurals = nouns.filter(|noun| {
        let noun = noun.trim_end_matches([',', '.', ';', ':', ')']);
        noun.ends_with('s') && !NO_PLURAL.contains(&noun)
    });
    plurals
        .map(|noun| format!("`1 {noun}` in: {}", words.join(" ")))
        .collect()
}

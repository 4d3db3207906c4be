//! A finding alone: each figure of its sentences is in its evidence, and its words fit its figures.

use super::quantity::{Quantity, Unit, quantities, words};
use super::{Contradiction, StatedFinding};

/// Words that end with `s`, and are no plural.
const NO_PLURAL: [&str; 5] = ["is", "was", "has", "its", "others"];
/// Plurals that may follow an adjective.
const NOUNS: [&str; 12] = [
    "segments",
    "packets",
    "requests",
    "connections",
    "waits",
    "acknowledgments",
    "datagrams",
    "flights",
    "octets",
    "answers",
    "frames",
    "bursts",
];
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
    products(found, &mut texts);
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
    // How sure a rule is, is no figure of the capture.
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
    figures.any(|it| it.0 != "rule_confidence" && shown(it))
        || quantity.unit == Unit::Percent && quantity.shows(found.share_of_time)
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

/// Figures of a finding that follow from each other.
fn products(found: &StatedFinding, texts: &mut Vec<String>) {
    let figure = |name: &str| found.finding.evidence.get(name).copied();
    let all = |names: &[&str]| {
        names
            .iter()
            .map(|name| figure(name))
            .collect::<Option<Vec<_>>>()
    };
    let is_near = |value: f64, product: f64, tolerance: f64| {
        (value - product).abs() <= tolerance * value.abs().max(product.abs())
    };
    if let Some([window, rtt_ns, rate]) =
        all(&["most_window_bytes", "rtt_ns", "window_limit_bytes_per_s"]).as_deref()
        && !is_near(*rate, window * 1e9 / rtt_ns, 0.01)
    {
        texts.push(format!(
            "{window:.0} B in {rtt_ns:.0} ns allow {rate:.0} B/s"
        ));
    }
    // Stalls begin one period after another, so none is longer than the next one's distance on average.
    if let Some([mean_ns, period_ns]) = all(&["stall_ns_mean", "period_ns"]).as_deref()
        && mean_ns > period_ns
    {
        texts.push(format!("stalls of {mean_ns:.0} ns every {period_ns:.0} ns"));
    }
    if let Some([time_ns, without_ns]) = all(&["time_ns", "time_without_most_ns"]).as_deref()
        && without_ns > time_ns
    {
        texts.push(format!(
            "{time_ns:.0} ns would be at most {without_ns:.0} ns"
        ));
    }
    if let Some([needed, most]) =
        all(&["needed_in_flight_bytes", "most_in_flight_bytes"]).as_deref()
        && needed >= most
    {
        texts.push(format!(
            "less in flight is advised, {needed:.0} B of at most {most:.0} B"
        ));
    }
}

/// `1 times`, `1 further segments`, `1 of 20 segments were`.
fn plurals_of_one(words: &[&str], stated: &[Quantity]) -> Vec<String> {
    let bare = |word: &str| word.trim_end_matches([',', '.', ';', ':', ')']).to_owned();
    let is_plural =
        |word: &str| word.ends_with('s') && !NO_PLURAL.contains(&word) && !word.ends_with("ss");
    let ones = stated
        .iter()
        .filter(|it| it.unit == Unit::Plain && it.text.trim_start_matches('(') == "1");
    let plural = |one: &Quantity| {
        let after = &words[one.next.min(words.len())..];
        let [first, second] = [0, 1].map(|at| after.get(at).map_or(String::new(), |it| bare(it)));
        if first == "of" {
            // The verb belongs to the one.
            let verbs = after.iter().take(6).map(|it| bare(it));
            let verb = verbs
                .into_iter()
                .find(|it| matches!(it.as_str(), "were" | "are" | "have"));
            return verb.map(|verb| format!("of ... {verb}"));
        }
        let is_first_open = !after
            .first()
            .is_some_and(|it| it.ends_with([',', '.', ';', ':', ')']));
        if is_plural(&first) {
            Some(first)
        } else {
            (is_first_open && NOUNS.contains(&second.as_str())).then(|| format!("{first} {second}"))
        }
    };
    ones.filter_map(plural)
        .map(|noun| format!("`1 {noun}` in: {}", words.join(" ")))
        .collect()
}

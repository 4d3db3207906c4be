//! Results compared with earlier ones: changes and regressions.

use std::fmt::Write as _;

use serde::Serialize;

use crate::export::figures;
use crate::export::{Figure, conditions};
use crate::format;
use crate::record::{Measurement, Rfc2544Test, Run};

/// Limits of acceptable change.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Maximum deterioration of a figure, as a share of the earlier value.
    pub share: f64,
    /// Limits of single metrics, by name or suffix.
    pub by_metric: Vec<(String, f64)>,
}

impl Default for Thresholds {
    /// 5 per cent.
    fn default() -> Self {
        Self {
            share: 0.05,
            by_metric: Vec::new(),
        }
    }
}

impl Thresholds {
    fn for_metric(&self, metric: &str) -> f64 {
        let own = self
            .by_metric
            .iter()
            .find(|(name, _)| metric.ends_with(name.as_str()));
        own.map_or(self.share, |(_, share)| *share)
    }
}

/// The direction of change in which a figure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Higher values are better.
    Higher,
    /// Lower values are better.
    Lower,
    /// Neither: a descriptive figure.
    Neither,
}

/// The direction of change in which `metric` improves.
pub fn better(metric: &str) -> Better {
    const HIGHER: [&str; 7] = [
        "answered",
        "goodput",
        "frames_per_s",
        "received",
        "utilisation",
        "throughput",
        "share_of",
    ];
    const LOWER: [&str; 15] = [
        "pdv",
        "round_trips",
        "loss",
        "lost",
        "rtt",
        "latency",
        "jitter",
        "wrong",
        "collisions",
        "duplicates",
        "out_of_order",
        "given_up",
        "uncounted",
        "post_processing",
        "instructions_per_frame",
    ];
    // A number of samples is not a measure of quality.
    if metric.split('.').next_back() == Some("count") {
        return Better::Neither;
    }
    // The most specific part decides: `rtt_ns.p50`, `to_device.datagrams.lost`.
    let names = |parts: &[&str]| parts.iter().any(|part| metric.contains(part));
    if names(&LOWER) {
        Better::Lower
    } else if names(&HIGHER) {
        Better::Higher
    } else {
        Better::Neither
    }
}

/// A figure before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The result, in a few words.
    pub result: String,
    /// Its name.
    pub metric: String,
    /// The earlier value.
    pub before: f64,
    /// The later one.
    pub after: f64,
    /// The direction of change in which it improves.
    pub better: Better,
    /// Worse by more than the threshold.
    pub is_worse: bool,
}

/// Two runs side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Every figure that both have.
    pub changes: Vec<Change>,
    /// Results that only the earlier run has.
    pub missing: Vec<String>,
    /// Results that only the later run has.
    pub new: Vec<String>,
}

impl Comparison {
    /// Regressions and missing figures, each in a sentence.
    pub fn failures(&self) -> Vec<String> {
        let worse = self.changes.iter().filter(|change| change.is_worse);
        let worse = worse.map(|change| {
            format!(
                "{}: {} was {}, is {} ({})",
                change.result,
                change.metric,
                number(change.before),
                number(change.after),
                format::error(change.after, change.before),
            )
        });
        let missing = self.missing.iter();
        let missing =
            missing.map(|name| format!("{name}: was measured before, but is missing now"));
        worse.chain(missing).collect()
    }

    /// The differences, as a Markdown table; unchanged figures are left out.
    pub fn markdown(&self) -> String {
        let differs = |change: &&Change| change.before.to_bits() != change.after.to_bits();
        let mut text = String::from(
            "| result | metric | before | after | change | |\n|---|---|---:|---:|---:|---|\n",
        );
        for change in self.changes.iter().filter(differs) {
            let verdict = match (change.is_worse, change.better) {
                (true, _) => "worse",
                (false, Better::Neither) => "",
                (false, Better::Higher) if change.after > change.before => "better",
                (false, Better::Lower) if change.after < change.before => "better",
                (false, _) => "within the limit",
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {verdict} |",
                change.result,
                change.metric,
                number(change.before),
                number(change.after),
                format::error(change.after, change.before),
            );
        }
        if !self.changes.iter().any(|change| differs(&change)) {
            text = format!("All {} figures are unchanged.\n", self.changes.len());
        }
        for name in &self.missing {
            let _ = writeln!(text, "\nOnly before: {name}");
        }
        for name in &self.new {
            let _ = writeln!(text, "\nOnly after: {name}");
        }
        text
    }
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format::count(value.abs() as u64)
    } else {
        format!("{value:.3}")
    }
}

/// Figures derived from several results, by the name of what they belong to.
pub type DerivedFigures = Vec<(String, Vec<Figure>)>;

/// Compares `after` with `before`. Results are paired if they measure the same under the same
/// conditions; several such, in order. `derived` returns the figures derived from several results of a run.
pub fn compare(
    before: &Run,
    after: &Run,
    derived: impl Fn(&Run) -> DerivedFigures,
    thresholds: &Thresholds,
) -> Comparison {
    let mut rest: Vec<(Key, &Measurement)> = after.results.iter().map(|it| (key(it), it)).collect();
    let mut comparison = Comparison::default();
    for result in &before.results {
        let wanted = key(result);
        let Some(at) = rest.iter().position(|(key, _)| *key == wanted) else {
            if !is_search_step(result) {
                comparison.missing.push(name(result));
            }
            continue;
        };
        let (_, other) = rest.remove(at);
        let later = without_cut(figures(other));
        comparison.compare_figures(
            &name(result),
            without_cut(figures(result)),
            &later,
            thresholds,
        );
    }
    rest.retain(|(_, result)| !is_search_step(result));
    comparison.new = rest.iter().map(|(_, result)| name(result)).collect();
    let later = derived(after);
    for (of, earlier) in derived(before) {
        let found = later.iter().find(|(other, _)| *other == of);
        let found = found.map_or(&[][..], |(_, figures)| figures);
        comparison.compare_figures(&of, earlier, found, thresholds);
    }
    comparison
}

/// True for a step of a search: its parameters depend on earlier trials, so single steps of two runs are not
/// comparable. The result of the search is compared as a derived figure.
fn is_search_step(result: &Measurement) -> bool {
    match result {
        Measurement::Rfc2544(it) => it.params.test != Rfc2544Test::FrameLoss,
        Measurement::UdpSweep(_) => true,
        _ => false,
    }
}

/// The figures without those of transfers that were cut: they are not comparable.
fn without_cut(figures: Vec<Figure>) -> Vec<Figure> {
    let cut = figures
        .iter()
        .filter_map(|it| it.metric.strip_suffix("is_cut"));
    let cut: Vec<String> = cut.map(str::to_owned).collect();
    let is_cut = |it: &Figure| cut.iter().any(|prefix| it.metric.starts_with(prefix));
    figures.into_iter().filter(|it| !is_cut(it)).collect()
}

impl Comparison {
    /// Compares the figures of `result` with later ones. A figure with a preferred direction that is absent
    /// later is missing.
    fn compare_figures(
        &mut self,
        result: &str,
        earlier: Vec<Figure>,
        later: &[Figure],
        thresholds: &Thresholds,
    ) {
        for Figure { metric, value } in earlier {
            let found = later.iter().find(|figure| figure.metric == metric);
            match found {
                Some(found) => {
                    let change = change(result, metric, value, found.value, thresholds);
                    self.changes.push(change);
                }
                None if better(&metric) != Better::Neither => {
                    self.missing.push(format!("{result}: {metric}"));
                }
                None => {}
            }
        }
    }
}

type Key = (&'static str, Vec<(String, String)>);

fn key(result: &Measurement) -> Key {
    (result.kind(), conditions(result))
}

fn name(result: &Measurement) -> String {
    [result.setting().name(), &result.describe().detail()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn change(
    result: &str,
    metric: String,
    before: f64,
    after: f64,
    thresholds: &Thresholds,
) -> Change {
    let better = better(&metric);
    let worse_by = match better {
        Better::Higher => before - after,
        Better::Lower => after - before,
        Better::Neither => 0.0,
    };
    // From zero, any deterioration is too much.
    let is_worse = worse_by > 0.0 && worse_by > before.abs() * thresholds.for_metric(&metric);
    Change {
        result: result.to_owned(),
        metric,
        before,
        after,
        better,
        is_worse,
    }
}

#[cfg(test)]
mod tests;

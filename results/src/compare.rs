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
    const LOWER: [&str; 14] = [
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
        comparison.compare_figures(&name(result), figures(result), &figures(other), thresholds);
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
    let run = &result.setting().run;
    let run = if run.is_empty() {
        result.variant()
    } else {
        run
    };
    [run, &result.describe().detail()]
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
mod tests {
    use super::*;

    fn fixture() -> Run {
        Run::from_json(include_str!("../tests/fixtures/run.json")).expect("the fixture is valid")
    }

    #[test]
    fn a_run_equals_itself() {
        let run = fixture();
        let comparison = compare(&run, &run, none, &Thresholds::default());
        assert_eq!(comparison.failures(), [""; 0]);
        assert!(comparison.changes.len() > 20 && comparison.new.is_empty());
        assert!(comparison.markdown().starts_with("All "));
    }

    fn none(_: &Run) -> DerivedFigures {
        Vec::new()
    }

    fn goodput(run: &mut Run) -> &mut f64 {
        let gets = run.results.iter_mut().find_map(|result| match result {
            Measurement::HttpGet(get) => Some(get),
            _ => None,
        });
        &mut gets.expect("a download").metrics.goodput_bytes_per_s_p50
    }

    #[test]
    fn slower_is_reported_and_faster_is_not() {
        let before = fixture();
        let mut after = fixture();
        *goodput(&mut after) *= 0.9;
        let comparison = compare(&before, &after, none, &Thresholds::default());
        let failures = comparison.failures();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(
            failures[0].contains("goodput_bytes_per_s_p50"),
            "{failures:?}"
        );
        assert!(comparison.markdown().contains("worse"));
        // A threshold of the metric.
        let thresholds = Thresholds {
            by_metric: vec![("goodput_bytes_per_s_p50".to_owned(), 0.2)],
            ..Thresholds::default()
        };
        assert_eq!(
            compare(&before, &after, none, &thresholds).failures(),
            [""; 0]
        );
        assert_eq!(
            compare(&after, &before, none, &Thresholds::default()).failures(),
            [""; 0]
        );
    }

    #[test]
    fn a_result_that_disappeared_is_missing() {
        let before = fixture();
        let mut after = fixture();
        after.results.remove(0);
        let comparison = compare(&before, &after, none, &Thresholds::default());
        assert_eq!(comparison.missing.len(), 1);
        assert!(comparison.failures()[0].contains("was measured before"));
        assert_eq!(
            compare(&after, &before, none, &Thresholds::default())
                .new
                .len(),
            1
        );
    }

    #[test]
    fn a_figure_that_disappeared_is_missing() {
        let mut comparison = Comparison::default();
        let figure = |metric: &str| Figure {
            metric: metric.to_owned(),
            value: 1.0,
        };
        let earlier = vec![figure("rtt.p50_ns"), figure("rtt.count")];
        comparison.compare_figures("latency", earlier, &[], &Thresholds::default());
        assert_eq!(comparison.missing, ["latency: rtt.p50_ns"]);
    }

    #[test]
    fn preferred_direction_of_metrics() {
        for (metric, expected) in [
            ("goodput_bytes_per_s_p50", Better::Higher),
            ("to_device.datagrams.received", Better::Higher),
            ("to_device.datagrams.lost", Better::Lower),
            ("rtt_ns.p99", Better::Lower),
            ("frame_loss_rate", Better::Lower),
            ("to_device.span_ns", Better::Neither),
            ("rtt.count", Better::Neither),
            ("pdv_ns", Better::Lower),
            ("answered", Better::Higher),
        ] {
            assert_eq!(better(metric), expected, "{metric}");
        }
    }
}

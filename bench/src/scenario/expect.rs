//! Expectations, checked against results.

use linerate_ether::ledger::DropCause;
use linerate_results::format;
use linerate_results::record::Measurement;
use linerate_results::stats;
use serde_json::Value;

use super::Run;

/// Expected limits of some results; if one is not met, the command ends with exit code 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// The run; `None`: any.
    pub run: Option<String>,
    /// The variant; `None`: any.
    pub variant: Option<String>,
    /// The kind of measurement; `None`: any that has the metric.
    pub measurement: Option<String>,
    /// The size; `None`: every size.
    pub bytes: Option<u64>,
    /// The conformance case; `None`: every case.
    pub case: Option<String>,
    /// It needs the whole version: results of a short one are not conclusive.
    pub whole_version_only: bool,
    /// The physical reason of a loss that the limits permit.
    pub reason: Option<String>,
    /// Limits.
    pub limits: Vec<Limit>,
}

/// A limit of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name in the results.
    pub metric: String,
    /// Minimum.
    pub min: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

impl Expectation {
    /// True if it applies to results of `run`.
    pub fn applies_to_run(&self, run: &Run) -> bool {
        self.run.as_ref().is_none_or(|name| *name == run.name)
            && self
                .variant
                .as_ref()
                .is_none_or(|name| *name == run.variant)
    }

    /// The limits that `results` do not meet, each in a sentence. A missing result is a failure,
    /// too.
    pub fn failures(&self, results: &[Measurement]) -> Vec<String> {
        let matching: Vec<&Measurement> = results
            .iter()
            .filter(|result| self.applies_to(result))
            .collect();
        let mut failures = Vec::new();
        for limit in &self.limits {
            let mut seen = false;
            for result in &matching {
                let metric = metric(result, &limit.metric);
                // It does not apply to a kind of measurement without this metric.
                if metric.is_none() && self.measurement.is_none() {
                    continue;
                }
                seen = true;
                failures.extend(limit.failure(&name(result), metric.as_ref()));
            }
            if !seen {
                failures.push(format!("{} was not measured", limit.metric));
            }
        }
        failures
    }

    fn applies_to(&self, result: &Measurement) -> bool {
        let value = || serde_json::to_value(result).unwrap_or_default();
        let run = &result.setting().run;
        self.run.as_ref().is_none_or(|name| name == run)
            && self
                .variant
                .as_ref()
                .is_none_or(|name| name == result.variant())
            && self
                .measurement
                .as_ref()
                .is_none_or(|kind| kind == result.kind())
            && self
                .bytes
                .is_none_or(|bytes| value()["params"]["bytes"] == bytes)
            && self
                .case
                .as_ref()
                .is_none_or(|case| value()["params"]["case"] == case.as_str())
    }
}

/// The metric `name` of `result`: a number of its `metrics`, or frames of its ledger.
fn metric(result: &Measurement, name: &str) -> Option<Value> {
    let Some(loss) = LossMetric::parse(name) else {
        let value = serde_json::to_value(result).unwrap_or_default();
        let path = format!("/metrics/{}", name.replace('.', "/"));
        return value.pointer(&path).cloned();
    };
    let ledger = result.ledger();
    let lost = ledger.lost_for(loss.cause?);
    Some(if loss.is_share {
        stats::ratio(lost as f64, ledger.sent_frames as f64).into()
    } else {
        lost.into()
    })
}

/// A metric of the ledger: `lost_frames.CAUSE` or `lost_share.CAUSE`.
pub(super) struct LossMetric {
    /// The cause; `None` if there is none of this name.
    pub cause: Option<DropCause>,
    /// A share of the frames sent, instead of a number.
    is_share: bool,
}

impl LossMetric {
    /// `None` if `name` is no metric of the ledger.
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, cause) = name.split_once('.')?;
        let is_share = match kind {
            "lost_frames" => false,
            "lost_share" => true,
            _ => return None,
        };
        let cause = DropCause::from_name(cause);
        Some(Self { cause, is_share })
    }
}

/// A result's name for messages.
pub fn name(result: &Measurement) -> String {
    let run = &result.setting().run;
    let run = if run.is_empty() {
        result.variant()
    } else {
        run
    };
    let detail = result.describe().detail();
    match &result.setting().cell {
        Some(cell) => format!("cell {}, {run}, {detail}", cell.number),
        None => format!("{run}, {detail}"),
    }
}

impl Limit {
    fn failure(&self, name: &str, found: Option<&Value>) -> Option<String> {
        let metric = &self.metric;
        let found = match found {
            Some(Value::Bool(yes)) => Some(f64::from(u8::from(*yes))),
            Some(value) => value.as_f64(),
            None => None,
        };
        let Some(found) = found else {
            return Some(format!("{name}: there is no {metric}"));
        };
        let shown = |value| format_metric(metric, value);
        match (self.min, self.max) {
            (Some(min), _) if found < min || found.is_nan() => Some(format!(
                "{name}: {metric} {} is below {}",
                shown(found),
                shown(min)
            )),
            (_, Some(max)) if found > max || found.is_nan() => Some(format!(
                "{name}: {metric} {} is above {}",
                shown(found),
                shown(max)
            )),
            _ => None,
        }
    }
}

/// A figure with the unit given by its name.
fn format_metric(metric: &str, value: f64) -> String {
    let name = metric
        .trim_end_matches("_p50")
        .trim_end_matches("_max")
        .trim_end_matches("_min");
    if name.ends_with("bytes_per_s") {
        format::rate(value)
    } else if name.ends_with("_rate") || name.ends_with("share") || name.starts_with("lost_share") {
        format::percent(value)
    } else if name.ends_with("_ns") && value >= 0.0 {
        format::time(value as u64)
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_results::record;

    fn results() -> Vec<Measurement> {
        let text = include_str!("../../../results/tests/fixtures/run.json");
        record::Run::from_json(text).expect("valid").results
    }

    fn limit(metric: &str, min: Option<f64>, max: Option<f64>) -> Vec<Limit> {
        let metric = metric.to_owned();
        vec![Limit { metric, min, max }]
    }

    #[test]
    fn limits_hold_for_what_has_the_metric() {
        let expected = Expectation {
            variant: Some("isr-all".into()),
            limits: limit("frame_loss_rate", None, Some(0.25)),
            ..Expectation::default()
        };
        let failures = expected.failures(&results());
        assert_eq!(failures.len(), 2, "{failures:?}");
        assert!(failures[0].starts_with("isr-all, 10 kB: frame_loss_rate 38% is above 25%"));
        let met = Expectation {
            limits: limit("rtt_ns.p50", Some(1.0), Some(1e9)),
            ..expected.clone()
        };
        assert_eq!(met.failures(&results()), [""; 0]);
    }

    #[test]
    fn losses_of_one_cause_are_limited_by_number_and_by_share() {
        let failures = |metric: &str, max| {
            let expected = Expectation {
                measurement: Some("http_get".into()),
                variant: Some("isr-all".into()),
                bytes: Some(10_000),
                limits: limit(metric, None, Some(max)),
                ..Expectation::default()
            };
            expected.failures(&results())
        };
        // 11 of 61; none is left out of the record.
        assert_eq!(failures("lost_frames.unheard", 11.0), [""; 0]);
        assert_eq!(
            failures("lost_frames.unheard", 10.0),
            ["isr-all, 10 kB: lost_frames.unheard 11 is above 10"]
        );
        assert_eq!(failures("lost_share.unheard", 0.181), [""; 0]);
        assert_eq!(
            failures("lost_share.unheard", 0.1),
            ["isr-all, 10 kB: lost_share.unheard 18% is above 10%"]
        );
        assert_eq!(failures("lost_frames.oversize", 0.0), [""; 0]);
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let expected = Expectation {
            run: Some("elsewhere".into()),
            measurement: Some("storm".into()),
            limits: limit("ping_after_ms", None, Some(100.0)),
            ..Expectation::default()
        };
        assert_eq!(
            expected.failures(&results()),
            ["ping_after_ms was not measured"]
        );
        let unknown = Expectation {
            measurement: Some("ping".into()),
            variant: Some("windowed".into()),
            limits: limit("speed", Some(1.0), None),
            ..Expectation::default()
        };
        assert_eq!(
            unknown.failures(&results()),
            ["windowed, ping: there is no speed"]
        );
    }
}

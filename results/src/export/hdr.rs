//! `HdrHistogram`'s log format, version 1.3: one line per distribution, tagged with its result.

use core::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde_json::Value;

use crate::record::{Measurement, Run};

/// Significant digits.
const DIGITS: u8 = 3;

/// The log of all distributions of `run` in nanoseconds; `None` where there is none.
pub fn hdr(run: &Run) -> Option<String> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut count = 0;
    {
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment(&format!("linerate {}: nanoseconds", run.scenario))
            .with_max_value_divisor(1.0)
            .begin_log_with(&mut bytes, &mut serializer)
            .ok()?;
        for (at, result) in run.results.iter().enumerate() {
            for (name, steps) in distributions(result) {
                let tag = format!("{}-{}-{name}", at + 1, result.kind());
                let histogram = histogram(&steps)?;
                log.write_histogram(&histogram, Duration::ZERO, Duration::ZERO, Tag::new(&tag))
                    .ok()?;
                count += 1;
            }
        }
    }
    (count > 0).then(|| String::from_utf8(bytes).ok()).flatten()
}

/// A time and its count.
type Step = (u64, u64);

fn histogram(steps: &[Step]) -> Option<Histogram<u64>> {
    let mut histogram = Histogram::new(DIGITS).ok()?;
    for (value, count) in steps {
        histogram.record_n(*value, *count).ok()?;
    }
    Some(histogram)
}

/// Every list of whole numbers in nanoseconds among a result's samples, and every histogram in its metrics.
fn distributions(result: &Measurement) -> Vec<(String, Vec<Step>)> {
    let value = serde_json::to_value(result).unwrap_or_default();
    let mut all = Vec::new();
    if let Some(Value::Object(samples)) = value.get("samples") {
        for (name, value) in samples.iter().filter(|(name, _)| name.ends_with("_ns")) {
            let values = value.as_array().into_iter().flatten();
            let steps: Vec<Step> = values
                .filter_map(Value::as_u64)
                .map(|value| (value, 1))
                .collect();
            all.push((name.clone(), steps));
        }
    }
    if let Some(metrics) = value.get("metrics") {
        histograms(metrics, "", &mut all);
    }
    all.retain(|(_, steps)| !steps.is_empty());
    all
}

/// The `histogram` of each [`Distribution`](crate::record::Distribution), by the path of its field.
fn histograms(value: &Value, name: &str, all: &mut Vec<(String, Vec<Step>)>) {
    let Value::Object(members) = value else {
        return;
    };
    for (member, value) in members {
        if member == "histogram" {
            let buckets = value.as_array().into_iter().flatten();
            let steps = buckets.filter_map(|bucket| {
                Some((
                    bucket.get("up_to_ns")?.as_u64()?,
                    bucket.get("count")?.as_u64()?,
                ))
            });
            all.push((name.to_owned(), steps.collect()));
            continue;
        }
        let path = [name, member].into_iter().filter(|part| !part.is_empty());
        histograms(value, &path.collect::<Vec<_>>().join("."), all);
    }
}

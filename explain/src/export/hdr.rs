//! `HdrHistogram`'s log format, version 1.3: a line a distribution, tagged with its result.

use core::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde_json::Value;

use crate::record::{Measurement, Run};

/// Significant digits that are kept.
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
            for (name, samples) in distributions(result) {
                let tag = format!("{}-{}-{name}", at + 1, result.kind());
                let histogram = histogram(&samples)?;
                log.write_histogram(&histogram, Duration::ZERO, Duration::ZERO, Tag::new(&tag))
                    .ok()?;
                count += 1;
            }
        }
    }
    (count > 0).then(|| String::from_utf8(bytes).ok()).flatten()
}

fn histogram(samples: &[u64]) -> Option<Histogram<u64>> {
    let mut histogram = Histogram::new(DIGITS).ok()?;
    for sample in samples {
        histogram.record(*sample).ok()?;
    }
    Some(histogram)
}

/// Every list of whole numbers among a result's samples that is in nanoseconds.
fn distributions(result: &Measurement) -> Vec<(String, Vec<u64>)> {
    let value = serde_json::to_value(result).unwrap_or_default();
    let Some(Value::Object(samples)) = value.get("samples") else {
        return Vec::new();
    };
    let lists = samples.iter().filter(|(name, _)| name.ends_with("_ns"));
    lists
        .filter_map(|(name, value)| {
            let values = value.as_array()?.iter();
            let numbers: Vec<u64> = values.filter_map(Value::as_u64).collect();
            (!numbers.is_empty()).then(|| (name.clone(), numbers))
        })
        .collect()
}

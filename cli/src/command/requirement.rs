//! `linerate test --require RATE --p99 TIME`: is the link good enough, and with what margin?

use std::fmt::Write as _;

use linerate_results::format;
use linerate_results::record::{Flow, Latency, Measurement, Throughput};

use crate::args;

/// A figure held against its requirement.
struct Judged {
    what: String,
    is_met: bool,
    sentence: String,
}

/// Prints yes or no, and each figure with its margin; returns the sentences about those that are not met.
pub fn judge(required: &args::Required, results: &[Measurement]) -> (String, Vec<String>) {
    let judged = all(required, results);
    if judged.is_empty() {
        return (String::new(), Vec::new());
    }
    let is_met = judged.iter().all(|it| it.is_met);
    let mut text = format!("\nGood enough: {}\n\n", if is_met { "yes" } else { "no" });
    for it in &judged {
        let mark = if it.is_met { "met" } else { "not met" };
        let _ = writeln!(text, "- {}: {} ({mark})", it.what, it.sentence);
    }
    let failed = judged.into_iter().filter(|it| !it.is_met);
    (
        text,
        failed
            .map(|it| format!("{}: {}", it.what, it.sentence))
            .collect(),
    )
}

fn all(required: &args::Required, results: &[Measurement]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for result in results {
        match result {
            Measurement::Throughput(it) => judged.extend(goodputs(required, it)),
            Measurement::Latency(it) => judged.extend(round_trips(required, it)),
            _ => {}
        }
    }
    let missing = |name: &str, what: &str| Judged {
        what: name.to_owned(),
        is_met: false,
        sentence: format!("not measured: the target has no {what}"),
    };
    if required.require.is_some() && !judged.iter().any(|it| it.what.starts_with("goodput")) {
        judged.push(missing("goodput", "transfers"));
    }
    if required.p99.is_some() && !judged.iter().any(|it| it.what.starts_with("round trips")) {
        judged.push(missing("round trips", "requests with answers; add --probe"));
    }
    judged
}

fn goodputs(required: &args::Required, result: &Throughput) -> Vec<Judged> {
    let Some(bits_per_s) = required.require else {
        return Vec::new();
    };
    let is_both = result.metrics.to_device.is_some() && result.metrics.from_device.is_some();
    let beside = if is_both { ", both at once" } else { "" };
    let flows = [
        ("to the device", &result.metrics.to_device),
        ("from the device", &result.metrics.from_device),
    ];
    let flows = flows
        .into_iter()
        .filter_map(|(way, flow)| Some((way, flow.as_ref()?)));
    let least = bits_per_s as f64 / 8.0;
    flows
        .map(|(way, flow): (&str, &Flow)| {
            let is = flow.goodput_bytes_per_s;
            let (margin, word) = margin(is, least, ["more", "less"]);
            Judged {
                what: format!("goodput {way}{beside}"),
                is_met: is >= least,
                sentence: format!(
                    "{}, {margin} {word} than {}",
                    format::rate(is),
                    format::rate(least)
                ),
            }
        })
        .collect()
}

fn round_trips(required: &args::Required, result: &Latency) -> Option<Judged> {
    let most = required.p99?;
    let what = match &result.params.load {
        None => "round trips without load".to_owned(),
        Some(load) => format!("round trips under {}", load.label()),
    };
    let Some(rtt) = &result.metrics.rtt else {
        return Some(Judged {
            what,
            is_met: false,
            sentence: result.metrics.failure.clone(),
        });
    };
    let is = rtt.p99_ns;
    let (margin, word) = margin(is as f64, most as f64, ["longer", "shorter"]);
    Some(Judged {
        what,
        is_met: is <= most,
        sentence: format!(
            "99% take at most {}, {margin} {word} than {}",
            format::time(is),
            format::time(most)
        ),
    })
}

/// Distance of a figure from its limit, relative to the limit, and the word for it.
fn margin(is: f64, limit: f64, [above, below]: [&'static str; 2]) -> (String, &'static str) {
    let word = if is >= limit { above } else { below };
    let percent = (is - limit).abs() / limit * 100.0;
    (format!("{percent:.0}%"), word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_results::distribution;
    use linerate_results::record::{
        CountedAt, LatencyLimits, LatencyMetrics, LatencyParams, Ledger, Observation,
        ThroughputMetrics, ThroughputParams,
    };

    fn results() -> [Measurement; 2] {
        let throughput = Throughput {
            params: ThroughputParams::default(),
            metrics: ThroughputMetrics {
                to_device: Some(Flow::stream(1_000_000, 1_000_000_000, CountedAt::Device)),
                from_device: None,
            },
            ledger: Ledger::default(),
            findings: Vec::new(),
            observation: Observation::default(),
        };
        let latency = Latency {
            params: LatencyParams::default(),
            metrics: LatencyMetrics {
                rtt: distribution::of([500_000; 100]),
                ..LatencyMetrics::default()
            },
            limits: LatencyLimits::default(),
            ledger: Ledger::default(),
        };
        [
            Measurement::Throughput(throughput),
            Measurement::Latency(latency),
        ]
    }

    fn judged(
        require: Option<u64>,
        p99: Option<u64>,
        results: &[Measurement],
    ) -> (String, Vec<String>) {
        judge(&args::Required { require, p99 }, results)
    }

    #[test]
    fn the_answer_is_yes_with_the_margin() {
        let (text, failed) = judged(Some(5_000_000), Some(1_000_000), &results());
        assert!(failed.is_empty(), "{failed:?}");
        assert!(text.contains("Good enough: yes"), "{text}");
        assert!(text.contains("60% more than 5 Mbit/s"), "{text}");
        assert!(text.contains("50% shorter than 1 ms"), "{text}");
    }

    #[test]
    fn one_figure_is_enough_for_no() {
        let (text, failed) = judged(Some(10_000_000), Some(1_000_000), &results());
        assert!(text.contains("Good enough: no"), "{text}");
        assert_eq!(failed.len(), 1);
        assert!(
            failed[0].contains("goodput to the device") && failed[0].contains("20% less than"),
            "{failed:?}"
        );
        let (_, failed) = judged(None, Some(400_000), &results());
        assert!(failed[0].contains("25% longer than 400 µs"), "{failed:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_good_enough_and_nothing_is_asked_by_default() {
        let (text, failed) = judged(Some(1), Some(1), &[]);
        assert!(
            text.contains("Good enough: no") && failed.len() == 2,
            "{text}"
        );
        assert_eq!(judged(None, None, &results()), (String::new(), Vec::new()));
    }
}

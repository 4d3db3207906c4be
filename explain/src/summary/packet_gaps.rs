//! Gaps between datagrams, by datagram size.

use super::{Axis, Chart, Curves, Line, Summary, Table};
use crate::cause::sweep;
use linerate_results::format;
use linerate_results::record::{Distribution, PacketGaps, Run};

/// Bars of a histogram in each decade of time.
const BARS: f64 = 24.0;
/// From this multiple of the ideal gap on, a gap is a pause.
const PAUSE: f64 = 2.0;

/// One summary of all sizes.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let mut all: Vec<&PacketGaps> = run.packet_gaps().collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_by_key(|it| it.params.payload_bytes);
    let verdicts: Vec<String> = all.iter().filter_map(|it| verdict(it)).collect();
    let variant = if all.iter().all(|it| it.params.is_simulated) {
        "Times are those of the simulated wire: exact."
    } else {
        "Times are those at which this machine's program read a datagram: datagrams that arrived while it was not \
         running are read at once, as gaps of almost zero after a long one. Other traffic on the wire is not \
         visible."
    };
    vec![Summary {
        title: "Gaps between datagrams".to_owned(),
        verdict: if verdicts.is_empty() {
            "No gaps are known: this target does not record arrival times.".to_owned()
        } else {
            format!("{}.", verdicts.join("; "))
        },
        findings: sweep::of_gaps(run),
        variant: variant.to_owned(),
        charts: all.iter().filter_map(|it| chart(it)).collect(),
        table: Table {
            head: vec![
                "payload",
                "direction",
                "ideal gap",
                "received",
                "min",
                "p50",
                "p90",
                "p99",
                "p99.9",
                "max",
                "rate at the median",
            ],
            rows: all.iter().map(|it| row(it)).collect(),
        },
    }]
}

fn gaps(result: &PacketGaps) -> Option<&Distribution> {
    result.metrics.flow.as_ref()?.gaps.as_ref()
}

/// The rate that corresponds to gaps of this length.
fn rate(result: &PacketGaps, gap_ns: u64) -> String {
    if gap_ns == 0 {
        return "–".to_owned();
    }
    format::bit_rate(result.params.payload_bytes as f64 * 1e9 / gap_ns as f64)
}

fn verdict(result: &PacketGaps) -> Option<String> {
    let gaps = gaps(result)?;
    let size = format::bytes(result.params.payload_bytes);
    let median = format::time(gaps.p50_ns);
    let pauses = match result.params.ideal_ns() {
        Some(ideal) => {
            let longer = gaps
                .histogram
                .iter()
                .filter(|it| it.up_to_ns as f64 > ideal * PAUSE);
            let longer: u64 = longer.map(|it| it.count).sum();
            let ideal_gap = format::time(ideal.round() as u64);
            match longer {
                0 => format!("; ideal {ideal_gap}; none more than twice as long"),
                _ => format!(
                    "; ideal {ideal_gap}; {} of {} more than twice as long, longest {}",
                    format::count(longer),
                    format::count(gaps.count),
                    format::time(gaps.max_ns)
                ),
            }
        }
        None => format!(", longest {}", format::time(gaps.max_ns)),
    };
    Some(format!(
        "{size} {}: median gap {median} ({}){pauses}",
        result.params.direction.label(),
        rate(result, gaps.p50_ns)
    ))
}

fn row(result: &PacketGaps) -> Vec<String> {
    let none = || "–".to_owned();
    let params = &result.params;
    let mut row = vec![
        format::bytes(params.payload_bytes),
        params.direction.label().to_owned(),
        params
            .ideal_ns()
            .map_or_else(none, |it| format::time(it.round() as u64)),
    ];
    let flow = result.metrics.flow.as_ref();
    let datagrams = flow.and_then(|flow| flow.datagrams);
    row.push(datagrams.map_or_else(
        || result.metrics.failure.clone(),
        |it| {
            format!(
                "{} of {}",
                format::count(it.received),
                format::count(it.sent)
            )
        },
    ));
    let Some(gaps) = gaps(result) else {
        row.resize_with(11, none);
        return row;
    };
    let times = [
        gaps.min_ns,
        gaps.p50_ns,
        gaps.p90_ns,
        gaps.p99_ns,
        gaps.p999_ns,
        gaps.max_ns,
    ];
    row.extend(times.map(format::time));
    row.push(rate(result, gaps.p50_ns));
    row
}

/// A bar of the histogram: from, up to, share of all.
fn bars(gaps: &Distribution) -> Vec<(f64, f64, f64)> {
    let all: u64 = gaps.histogram.iter().map(|it| it.count).sum();
    let mut bars: Vec<(i32, u64)> = Vec::new();
    for bucket in &gaps.histogram {
        let at = ((bucket.up_to_ns.max(1) as f64).log10() * BARS).floor() as i32;
        match bars.last_mut() {
            Some(bar) if bar.0 == at => bar.1 += bucket.count,
            _ => bars.push((at, bucket.count)),
        }
    }
    let edge = |at: i32| 10_f64.powf(f64::from(at) / BARS);
    let bar = |(at, count): (i32, u64)| {
        let share = count as f64 / all.max(1) as f64;
        (edge(at), edge(at + 1), share)
    };
    bars.into_iter().map(bar).collect()
}

fn chart(result: &PacketGaps) -> Option<Chart> {
    let gaps = gaps(result).filter(|it| !it.histogram.is_empty())?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (from, to, share) in bars(gaps) {
        points.extend([(from, 0.0), (from, share), (to, share), (to, 0.0)]);
    }
    let size = format::bytes(result.params.payload_bytes);
    let ideal = result.params.ideal_ns();
    Some(Chart::of(
        &format!("{size} {}", result.params.direction.label()),
        &Curves {
            label: format!("Histogram of gaps between datagrams of {size}"),
            x: Axis::logarithmic("gap", |ns| format::time(ns.round() as u64)),
            y: Axis::linear("share of gaps", format::percent),
            lines: vec![Line::of("from one datagram to the next", points)],
            marks: ideal
                .map(|it| (it, "ideal".to_owned()))
                .into_iter()
                .collect(),
            limits: Vec::new(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use linerate_results::record::{
        Bucket, CountedAt, Datagrams, Direction, Flow, Ledger, Measurement, PacketGapsMetrics,
        PacketGapsParams,
    };

    fn result(payload_bytes: u64, gaps: Option<Distribution>) -> Measurement {
        let datagrams = Datagrams {
            sent: 1_001,
            received: 1_001,
            ..Datagrams::default()
        };
        let flow = Flow::datagrams(
            1_001 * payload_bytes,
            1_000_000_000,
            CountedAt::Host,
            datagrams,
        );
        Measurement::PacketGaps(PacketGaps {
            params: PacketGapsParams {
                direction: Direction::FromDevice,
                payload_bytes,
                offered_bytes_per_s: payload_bytes as f64 * 1_000.0,
                ..PacketGapsParams::default()
            },
            metrics: PacketGapsMetrics {
                flow: Some(Flow { gaps, ..flow }),
                failure: String::new(),
            },
            ledger: Ledger::default(),
        })
    }

    fn summarize(results: Vec<Measurement>) -> Summary {
        let run = Run {
            results,
            ..sample::run()
        };
        summaries(&run).remove(0)
    }

    #[test]
    fn pauses_are_reported_with_the_ideal_gap() {
        let gaps = Distribution {
            count: 1_000,
            min_ns: 200_000,
            p50_ns: 1_000_000,
            p90_ns: 1_010_000,
            p99_ns: 1_010_000,
            p999_ns: 12_000_000,
            max_ns: 12_000_000,
            histogram: vec![
                Bucket {
                    up_to_ns: 200_000,
                    count: 4,
                },
                Bucket {
                    up_to_ns: 1_000_000,
                    count: 700,
                },
                Bucket {
                    up_to_ns: 1_010_000,
                    count: 292,
                },
                Bucket {
                    up_to_ns: 12_000_000,
                    count: 4,
                },
            ],
        };
        let summary = summarize(vec![result(256, Some(gaps))]);
        assert_eq!(
            summary.verdict,
            "256 B from the device: median gap 1 ms (2.05 Mbit/s); ideal 1 ms; 4 of 1,000 more than twice as long, \
             longest 12 ms."
        );
        assert!(summary.charts[0].svg.contains(">ideal</text>"));
        assert_eq!(summary.charts[0].title, "256 B from the device");
        assert_eq!(
            summary.table.rows[0],
            [
                "256 B",
                "from the device",
                "1 ms",
                "1,001 of 1,001",
                "200 µs",
                "1 ms",
                "1.01 ms",
                "1.01 ms",
                "12 ms",
                "12 ms",
                "2.05 Mbit/s"
            ]
        );
    }

    #[test]
    fn neighbours_are_one_bar_and_shares_add_up() {
        let histogram = [99, 100, 101, 102, 5_000].map(|up_to_ns| Bucket { up_to_ns, count: 1 });
        let gaps = Distribution {
            histogram: histogram.into(),
            ..Distribution::default()
        };
        let bars = bars(&gaps);
        assert_eq!(bars.len(), 3, "{bars:?}");
        assert!((bars[1].2 - 0.6).abs() < 1e-9 && bars[1].0 <= 100.0 && bars[1].1 > 102.0);
        assert!((bars.iter().map(|bar| bar.2).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn unrecorded_gaps_are_reported_as_unknown() {
        let summary = summarize(vec![result(64, None)]);
        assert!(
            summary.verdict.starts_with("No gaps are known"),
            "{}",
            summary.verdict
        );
        assert_eq!(summary.table.rows[0].len(), summary.table.head.len());
        assert!(summary.charts.is_empty());
    }
}

//! Round trips, idle and under load.

use super::{Axis, Chart, Curves, Line, Summary, Table};
use crate::cause::sweep;
use crate::series::latency::{LoadedRtt, idle_p50, loaded_rtt};
use linerate_results::format;
use linerate_results::record::{Direction, Latency, Run};

/// Loads listed one by one; of more (a sweep), only the first and the worst are.
const MAX_LISTED: usize = 3;

/// One summary of all round trips.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let all: Vec<&Latency> = run.latencies().collect();
    if all.is_empty() {
        return Vec::new();
    }
    let charts = [cumulative(&all), over_load(&all)];
    vec![Summary {
        title: "Latency".to_owned(),
        verdict: verdict(&all),
        findings: sweep::of_latencies(run),
        variant: format!(
            "{} PDV is that of RFC 8219 for the round trip: its 99.9th percentile minus its minimum.",
            all[0].limits.sentence()
        ),
        charts: charts.into_iter().flatten().collect(),
        table: Table {
            head: vec![
                "load",
                "goodput",
                "answered",
                "lost to / from the device",
                "min",
                "p50",
                "p90",
                "p99",
                "p99.9",
                "max",
                "PDV",
            ],
            rows: all.iter().map(|it| row(it)).collect(),
        },
    }]
}

fn verdict(all: &[&Latency]) -> String {
    let idle = idle_p50(all);
    let Some(idle) = idle.filter(|idle| *idle > 0) else {
        let answered = all.iter().find_map(|it| it.metrics.rtt.as_ref());
        return match answered {
            Some(_) => "Round trips were measured under load only.".to_owned(),
            None => "No request was answered.".to_owned(),
        };
    };
    let mut parts = vec![format!("The median round trip is {}", format::time(idle))];
    let loads: Vec<LoadedRtt> = all.iter().filter_map(|it| loaded_rtt(it, idle)).collect();
    let all_loads = loads.len();
    let silent: Vec<String> = all
        .iter()
        .filter(|it| it.metrics.rtt.is_none())
        .filter_map(|it| it.params.load.as_ref())
        .map(|load| format!(" Under {} no request was answered.", load.label()))
        .collect();
    let bloated: Vec<&LoadedRtt> = loads.iter().filter(|it| it.is_bloat).collect();
    if all_loads == 0 {
        return format!("{} without load.{}", parts[0], silent.concat());
    }
    let times = |it: &LoadedRtt| {
        format!(
            "{} under {} ({:.1} times)",
            format::time(it.p50_ns),
            it.load.label(),
            it.times
        )
    };
    let worst = |of: &[&LoadedRtt]| -> Vec<String> {
        if of.len() <= MAX_LISTED {
            return of.iter().map(|it| times(it)).collect();
        }
        // The first load of the sweep with bufferbloat, and the worst.
        let longest = of.iter().max_by_key(|it| it.p50_ns);
        of.iter()
            .take(1)
            .chain(longest)
            .map(|it| times(it))
            .collect()
    };
    if bloated.is_empty() {
        let all: Vec<&LoadedRtt> = loads.iter().collect();
        parts.push(format!(", {}", worst(&all).join(", ")));
        parts.push(if silent.is_empty() {
            ": no bufferbloat.".to_owned()
        } else {
            ".".to_owned()
        });
    } else {
        parts.push(format!(
            " without load. Bufferbloat: {}; a queue of that length fills before any packet is dropped.",
            worst(&bloated).join(", ")
        ));
    }
    parts.extend(silent);
    parts.concat()
}

fn row(result: &Latency) -> Vec<String> {
    let none = || "–".to_owned();
    let metrics = &result.metrics;
    let flows = [&metrics.to_device, &metrics.from_device];
    let rates: Vec<String> = flows
        .into_iter()
        .flatten()
        .map(|flow| format::rate(flow.goodput_bytes_per_s))
        .collect();
    let mut row = vec![
        result.load_label(),
        if rates.is_empty() {
            none()
        } else {
            rates.join(" / ")
        },
    ];
    let Some(rtt) = &metrics.rtt else {
        row.push(metrics.failure.clone());
        row.resize_with(11, none);
        return row;
    };
    row.push(format!(
        "{} of {}",
        format::count(metrics.answered),
        format::count(metrics.sent)
    ));
    row.push(match metrics.lost_either {
        0 => format!("{} / {}", metrics.lost_to_device, metrics.lost_from_device),
        lost => format!(
            "{} / {}, {} in an unknown direction",
            metrics.lost_to_device, metrics.lost_from_device, lost
        ),
    });
    let times = [
        rtt.min_ns,
        rtt.p50_ns,
        rtt.p90_ns,
        rtt.p99_ns,
        rtt.p999_ns,
        rtt.max_ns,
        metrics.pdv_ns,
    ];
    row.extend(times.map(format::time));
    row
}

/// A logarithmic axis of times.
fn time_axis(name: &'static str) -> Axis {
    Axis::logarithmic(name, |ns| format::time(ns.round() as u64))
}

/// The cumulative distribution of round trips; of a sweep over loads, the first and the last.
fn cumulative(all: &[&Latency]) -> Option<Chart> {
    let is_drawn = |at: usize| all.len() <= 4 || at == 0 || at + 1 == all.len();
    let drawn = all.iter().enumerate().filter(|(at, _)| is_drawn(*at));
    let mut lines: Vec<Line> = drawn
        .filter_map(|(_, it)| {
            let rtt = it.metrics.rtt.as_ref()?;
            Some(Line::of(
                it.load_label(),
                step_points(&rtt.cumulative(), rtt.min_ns),
            ))
        })
        .collect();
    if let Some(floor) = all[0].limits.noise_floor.as_ref() {
        lines.push(Line::model(
            "this machine's loopback",
            step_points(&floor.cumulative(), floor.min_ns),
        ));
    }
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return None;
    }
    Some(Chart::of(
        "Cumulative distribution of round trips",
        &Curves {
            label: "Cumulative distribution of round trips".to_owned(),
            x: time_axis("round trip"),
            y: Axis::linear("share of round trips", |share| {
                format!("{:.0}%", share * 100.0)
            }),
            lines,
            ..Curves::default()
        },
    ))
}

/// The points of a cumulative distribution, from zero.
fn step_points(cumulative: &[(u64, f64)], min_ns: u64) -> Vec<(f64, f64)> {
    if cumulative.is_empty() {
        return Vec::new();
    }
    let begin = (min_ns.max(1) as f64, 0.0);
    let points = cumulative
        .iter()
        .map(|(ns, share)| ((*ns).max(1) as f64, *share));
    std::iter::once(begin).chain(points).collect()
}

/// Median and 99th percentile over the offered load, if it was swept.
fn over_load(all: &[&Latency]) -> Option<Chart> {
    let mut lines = Vec::new();
    for direction in [Direction::ToDevice, Direction::FromDevice, Direction::Both] {
        let of_direction = |it: &&&Latency| {
            let load = it.params.load;
            load.is_some_and(|load| load.direction == direction && load.offered_bytes_per_s > 0.0)
        };
        let points: Vec<&&Latency> = all.iter().filter(of_direction).collect();
        if points.len() < 2 {
            continue;
        }
        let line = |name: &str, of: fn(&linerate_results::record::Distribution) -> u64| {
            let point = |it: &&&Latency| {
                let rtt = it.metrics.rtt.as_ref()?;
                let offered = it.params.load?.offered_bytes_per_s * 8.0;
                Some((offered, of(rtt).max(1) as f64))
            };
            let mut points: Vec<(f64, f64)> = points.iter().filter_map(point).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Line::measured(format!("{name}, load {}", direction.label()), points)
        };
        lines.push(line("median", |rtt| rtt.p50_ns));
        lines.push(line("99th percentile", |rtt| rtt.p99_ns));
    }
    if lines.is_empty() {
        return None;
    }
    let idle = idle_p50(all).map(|ns| (ns.max(1) as f64, "idle median".to_owned()));
    Some(Chart::of(
        "Round trip over load",
        &Curves {
            label: "Round trip over the offered load".to_owned(),
            x: Axis::linear("offered payload", format::bits),
            y: time_axis("round trip"),
            lines,
            limits: idle.into_iter().collect(),
            ..Curves::default()
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use linerate_results::record::{
        Bucket, Distribution, Flow, LatencyLimits, LatencyMetrics, LatencyParams, Ledger, Load,
        Measurement, Transport,
    };

    fn trips(p50_ns: u64, load: Option<Load>, limits: LatencyLimits) -> Measurement {
        let rtt = Distribution {
            count: 100,
            min_ns: p50_ns / 2,
            p50_ns,
            p90_ns: p50_ns * 2,
            p99_ns: p50_ns * 3,
            p999_ns: p50_ns * 4,
            max_ns: p50_ns * 5,
            histogram: vec![
                Bucket {
                    up_to_ns: p50_ns,
                    count: 50,
                },
                Bucket {
                    up_to_ns: p50_ns * 5,
                    count: 50,
                },
            ],
        };
        Measurement::Latency(Latency {
            params: LatencyParams {
                load,
                ..LatencyParams::default()
            },
            metrics: LatencyMetrics {
                sent: 102,
                answered: 100,
                lost_to_device: 2,
                pdv_ns: rtt.pdv_ns(),
                rtt: Some(rtt),
                to_device: load.map(|_| Flow {
                    goodput_bytes_per_s: 1e6,
                    ..Flow::default()
                }),
                ..LatencyMetrics::default()
            },
            limits,
            ledger: Ledger::default(),
        })
    }

    fn under(direction: Direction, offered_bytes_per_s: f64) -> Load {
        Load {
            transport: if offered_bytes_per_s > 0.0 {
                Transport::Udp
            } else {
                Transport::Tcp
            },
            direction,
            offered_bytes_per_s,
        }
    }

    fn summarize(results: Vec<Measurement>) -> Summary {
        let run = Run {
            results,
            ..sample::run()
        };
        summaries(&run).remove(0)
    }

    fn simulated() -> LatencyLimits {
        LatencyLimits {
            is_simulated: true,
            noise_floor: None,
        }
    }

    #[test]
    fn a_long_queue_is_named_with_its_figures() {
        let summary = summarize(vec![
            trips(3_000_000, None, simulated()),
            trips(
                120_000_000,
                Some(under(Direction::ToDevice, 0.0)),
                simulated(),
            ),
            trips(
                4_000_000,
                Some(under(Direction::FromDevice, 0.0)),
                simulated(),
            ),
        ]);
        assert_eq!(
            summary.verdict,
            "The median round trip is 3 ms without load. Bufferbloat: 120 ms under TCP to the device \
             (40.0 times); a queue of that length fills before any packet is dropped."
        );
        assert!(
            summary
                .variant
                .starts_with("Times are those of the simulation"),
            "{}",
            summary.variant
        );
        assert_eq!(
            summary.table.rows[1],
            [
                "TCP to the device",
                "8 Mbit/s (1 MB/s)",
                "100 of 102",
                "2 / 0",
                "60 ms",
                "120 ms",
                "240 ms",
                "360 ms",
                "480 ms",
                "600 ms",
                "420 ms"
            ]
        );
        let legend = ["idle", "TCP to the device", "TCP from the device"];
        assert_eq!(summary.charts[0].legend, legend);
        assert_eq!(summary.charts.len(), 1, "no load was swept");
    }

    #[test]
    fn delay_of_this_machine_is_no_bufferbloat() {
        let floor = Distribution {
            p50_ns: 60_000,
            p99_ns: 900_000,
            ..Distribution::default()
        };
        let limits = || LatencyLimits {
            is_simulated: false,
            noise_floor: Some(floor.clone()),
        };
        let summary = summarize(vec![
            trips(100_000, None, limits()),
            trips(600_000, Some(under(Direction::ToDevice, 0.0)), limits()),
        ]);
        assert_eq!(
            summary.verdict,
            "The median round trip is 100 µs, 600 µs under TCP to the device (6.0 times): no bufferbloat."
        );
        assert!(
            summary.variant.contains("median 60 µs"),
            "{}",
            summary.variant
        );
    }

    #[test]
    fn a_sweep_over_loads_has_a_curve() {
        let summary = summarize(vec![
            trips(1_000_000, None, simulated()),
            trips(
                1_100_000,
                Some(under(Direction::ToDevice, 125_000.0)),
                simulated(),
            ),
            trips(
                30_000_000,
                Some(under(Direction::ToDevice, 1_250_000.0)),
                simulated(),
            ),
        ]);
        assert_eq!(
            summary.charts[1].legend,
            [
                "median, load to the device",
                "99th percentile, load to the device"
            ]
        );
        assert!(
            summary
                .verdict
                .contains("30 ms under UDP to the device at 10 Mbit/s")
        );
    }

    #[test]
    fn nothing_answered_is_no_latency() {
        let mut none = trips(1, None, simulated());
        if let Measurement::Latency(it) = &mut none {
            it.metrics.rtt = None;
            it.metrics.failure = "no answer".to_owned();
        }
        let summary = summarize(vec![none]);
        assert_eq!(summary.verdict, "No request was answered.");
        assert_eq!(summary.table.rows[0].len(), summary.table.head.len());
    }
}

//! Sweeps over TCP's window, compared with window / round-trip time.

use super::{Axis, Chart, Curves, Line, Summary, Table, in_bits};
use linerate_results::format;
use linerate_results::record::{Direction, Run, WindowSweep};

/// The window is the limit as long as goodput grows by at least this share of the window's growth.
const GROWS: f64 = 0.5;
/// From this share of the best goodput on, a window is large enough.
const NEAR_BEST: f64 = 0.95;

/// Share of the device's window in flight from which on it is the limit.
const FILLED: f64 = 0.75;

/// One summary of all windows.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let sweeps: Vec<Sweep<'_>> = [Direction::ToDevice, Direction::FromDevice]
        .into_iter()
        .map(|direction| Sweep::of(run, direction))
        .filter(|sweep| !sweep.points.is_empty())
        .collect();
    if sweeps.is_empty() {
        return Vec::new();
    }
    let verdicts: Vec<String> = sweeps.iter().map(Sweep::verdict).collect();
    vec![Summary {
        title: "TCP windows".to_owned(),
        verdict: verdicts.join(" "),
        variant: "The window is the requested size of this machine's socket buffers. Linux doubles it and uses \
                  part of it for bookkeeping, so the window on the wire may differ; the device's own \
                  window also limits the data sent to it."
            .to_owned(),
        charts: chart(&sweeps).into_iter().collect(),
        table: Table {
            head: vec!["window", "direction", "goodput", "window / RTT", "of that"],
            rows: sweeps.iter().flat_map(Sweep::rows).collect(),
        },
        ..Summary::default()
    }]
}

/// The points of one direction, by window.
struct Sweep<'a> {
    direction: Direction,
    points: Vec<&'a WindowSweep>,
}

impl<'a> Sweep<'a> {
    fn of(run: &'a Run, direction: Direction) -> Self {
        let all = run.window_sweeps();
        let mut points: Vec<&WindowSweep> =
            all.filter(|it| it.params.direction == direction).collect();
        points.sort_by_key(|it| it.params.window_bytes);
        Self { direction, points }
    }

    /// Window and goodput.
    fn measured_points(&self) -> Vec<(f64, f64)> {
        let point = |it: &&WindowSweep| {
            let goodput = it.metrics.flow.as_ref()?.goodput_bytes_per_s;
            Some((it.params.window_bytes as f64, goodput))
        };
        self.points.iter().filter_map(point).collect()
    }

    fn rtt_ns(&self) -> Option<u64> {
        let known = self.points.iter().filter_map(|it| it.metrics.rtt_ns);
        known.filter(|rtt| *rtt > 0).min()
    }

    /// The device's window and the round trip, if that window is the limit at the best goodput: as much is in flight as
    /// it holds.
    fn device_limit(&self, best: f64) -> Option<(f64, u64)> {
        if self.direction != Direction::ToDevice {
            return None;
        }
        let at_best = |it: &&&WindowSweep| {
            let flow = it.metrics.flow.as_ref();
            flow.is_some_and(|flow| flow.goodput_bytes_per_s >= best * NEAR_BEST)
        };
        let largest = self.points.iter().rfind(at_best)?;
        let window = largest.metrics.device_window_bytes? as f64;
        let loaded = largest.metrics.loaded_rtt_ns;
        let rtt = loaded.or_else(|| self.rtt_ns())?;
        let goodput = largest.metrics.flow.as_ref()?.goodput_bytes_per_s;
        let share = goodput * rtt as f64 / 1e9 / window;
        // Its last octets may be less than a segment; averages differ by the start of the transfer.
        (FILLED..=1.0 / FILLED)
            .contains(&share)
            .then_some((window, rtt))
    }

    /// The largest window up to which each step increased goodput.
    fn grows_to(points: &[(f64, f64)]) -> Option<(f64, f64)> {
        let grows = |pair: &&[(f64, f64)]| {
            let (window, goodput) = (pair[1].0 / pair[0].0 - 1.0, pair[1].1 / pair[0].1 - 1.0);
            goodput >= window * GROWS
        };
        let steps = points.windows(2).take_while(grows).count();
        (steps > 0).then(|| points[steps])
    }

    fn verdict(&self) -> String {
        let direction = self.direction.label();
        let points = self.measured_points();
        let best = points.iter().map(|it| it.1).fold(0.0, f64::max);
        let Some(enough) = points
            .iter()
            .find(|it| best > 0.0 && it.1 >= best * NEAR_BEST)
        else {
            return format!("TCP {direction}: no result.");
        };
        let size = |window: f64| format::bytes(window as u64);
        let limit = match Self::grows_to(&points) {
            Some(to) => format!(
                "limited by the window up to {}, at {}",
                size(to.0),
                format::rate(to.1)
            ),
            None => "not limited by any window tried".to_owned(),
        };
        if let Some((window, rtt)) = self.device_limit(best) {
            return format!(
                "TCP {direction}: {limit}; the device's own window is the limit: {} at a round trip of {} permit {}, and \
                 {} were reached. A larger buffer of this machine changes nothing: enlarge the device's receive window.",
                size(window),
                format::time(rtt),
                format::rate(window * 1e9 / rtt as f64),
                format::rate(best)
            );
        }
        let trip = match self.rtt_ns() {
            Some(rtt) => format!(
                ", which needs {} at a round trip of {}",
                size(best * rtt as f64 / 1e9),
                format::time(rtt)
            ),
            None => ". The round trip is unknown: specify a --probe".to_owned(),
        };
        format!(
            "TCP {direction}: {limit}; from {} on, at least {} of the best goodput of {}{trip}.",
            size(enough.0),
            format::percent(NEAR_BEST),
            format::rate(best)
        )
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let none = || "–".to_owned();
        let row = |result: &&WindowSweep| {
            let params = &result.params;
            let goodput = result
                .metrics
                .flow
                .as_ref()
                .map(|it| it.goodput_bytes_per_s);
            let allowed = result
                .metrics
                .rtt_ns
                .filter(|rtt| *rtt > 0)
                .map(|rtt| params.window_bytes as f64 * 1e9 / rtt as f64);
            let failure = || result.metrics.failure.clone();
            vec![
                format::bytes(params.window_bytes),
                self.direction.label().to_owned(),
                goodput.map_or_else(failure, format::rate),
                allowed.map_or_else(none, format::rate),
                match (goodput, allowed) {
                    (Some(goodput), Some(allowed)) => format::percent(goodput / allowed),
                    _ => none(),
                },
            ]
        };
        self.points.iter().map(row).collect()
    }
}

fn chart(sweeps: &[Sweep<'_>]) -> Option<Chart> {
    let line = |sweep: &Sweep<'_>| {
        Line::measured(
            format!("TCP {}", sweep.direction.label()),
            in_bits(sweep.measured_points()),
        )
    };
    let mut lines: Vec<Line> = sweeps.iter().map(line).collect();
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    let points = sweeps.iter().flat_map(Sweep::measured_points);
    let best = points.map(|point| point.1).fold(0.0, f64::max);
    let windows = sweeps.iter().flat_map(|sweep| &sweep.points);
    let windows: Vec<f64> = windows.map(|it| it.params.window_bytes as f64).collect();
    if let Some(rtt) = sweeps.iter().find_map(Sweep::rtt_ns) {
        // The model extends far above the measurements; it is drawn up to just above the best one.
        let top = best * 1.25 * rtt as f64 / 1e9;
        let low = windows
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min)
            .min(top);
        let high = windows.iter().copied().fold(0.0, f64::max).min(top);
        let between = crate::summary::geometric_series(low, high);
        lines.push(Line::model(
            "window / RTT",
            in_bits(
                between
                    .map(|window| (window, window * 1e9 / rtt as f64))
                    .collect(),
            ),
        ));
    }
    Some(Chart::of(
        "Goodput over window",
        &Curves {
            label: "Goodput of TCP over its window".to_owned(),
            x: Axis::octets("window", true),
            y: Axis::goodput(),
            lines,
            ..Curves::default()
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use linerate_results::record::{
        CountedAt, Flow, Ledger, Measurement, WindowSweepMetrics, WindowSweepParams,
    };

    fn summarize(points: &[(u64, u64)], rtt_ns: Option<u64>) -> Summary {
        let point = |&(window_bytes, goodput): &(u64, u64)| {
            Measurement::WindowSweep(WindowSweep {
                params: WindowSweepParams {
                    window_bytes,
                    ..WindowSweepParams::default()
                },
                metrics: WindowSweepMetrics {
                    flow: Some(Flow::stream(goodput, 1_000_000_000, CountedAt::Host)),
                    rtt_ns,
                    failure: String::new(),
                    ..WindowSweepMetrics::default()
                },
                ledger: Ledger::default(),
            })
        };
        let run = Run {
            results: points.iter().map(point).collect(),
            ..sample::run()
        };
        summaries(&run).remove(0)
    }

    const POINTS: [(u64, u64); 4] = [
        (4_000, 1_000_000),
        (8_000, 1_980_000),
        (16_000, 2_500_000),
        (32_000, 2_510_000),
    ];

    #[test]
    fn a_window_limits_until_something_else_does() {
        let summary = summarize(&POINTS, Some(4_000_000));
        assert_eq!(
            summary.verdict,
            "TCP to the device: limited by the window up to 8 kB, at 15.84 Mbit/s (1.98 MB/s); from 16 kB on, at \
             least 95% of the best goodput of 20.08 Mbit/s (2.51 MB/s), which needs 10,040 B at a round trip of 4 ms."
        );
        assert_eq!(
            summary.charts[0].legend,
            ["TCP to the device", "window / RTT"]
        );
        let row = [
            "8 kB",
            "to the device",
            "15.84 Mbit/s (1.98 MB/s)",
            "16 Mbit/s (2 MB/s)",
            "99%",
        ];
        assert_eq!(summary.table.rows[1], row);
    }

    #[test]
    fn without_a_round_trip_there_is_no_model() {
        let summary = summarize(&POINTS, None);
        assert_eq!(summary.charts[0].legend, ["TCP to the device"]);
        assert!(
            summary.verdict.contains("specify a --probe"),
            "{}",
            summary.verdict
        );
    }

    #[test]
    fn the_device_s_window_is_named_as_the_device_s() {
        let mut run = Run {
            results: Vec::new(),
            ..sample::run()
        };
        for window_bytes in [4_096, 65_536, 1_048_576] {
            run.results.push(Measurement::WindowSweep(WindowSweep {
                params: WindowSweepParams {
                    window_bytes,
                    ..WindowSweepParams::default()
                },
                metrics: WindowSweepMetrics {
                    flow: Some(Flow::stream(423_000, 1_000_000_000, CountedAt::Host)),
                    rtt_ns: Some(20_000_000),
                    device_window_bytes: Some(8_688),
                    loaded_rtt_ns: Some(20_150_000),
                    failure: String::new(),
                },
                ledger: Ledger::default(),
            }));
        }
        assert_eq!(
            summaries(&run)[0].verdict,
            "TCP to the device: not limited by any window tried; the device's own window is the limit: 8,688 B at a \
             round trip of 20.15 ms permit 3.45 Mbit/s (431 kB/s), and 3.38 Mbit/s (423 kB/s) were reached. A larger \
             buffer of this machine changes nothing: enlarge the device's receive window."
        );
    }

    #[test]
    fn constant_goodput_is_not_limited_by_the_window() {
        let flat = [(4_000, 1_000_000), (8_000, 1_010_000)];
        let verdict = summarize(&flat, None).verdict;
        assert!(
            verdict.contains("not limited by any window tried"),
            "{verdict}"
        );
    }
}

//! RFC 6349: TCP with windows around the bandwidth-delay product, compared with the ideal of the path.

use super::{Axis, Chart, Curves, Line, Summary, Table};
use linerate_results::format;
use linerate_results::record::{Direction, Rfc6349, Rfc6349Step, Run};
use linerate_results::stats;

/// From this share of the ideal on, a transfer with a window of the BDP or more is as fast as it should be.
const IDEAL: f64 = 0.9;
/// Above this share, the measured bottleneck was not the bottleneck.
const BEYOND: f64 = 1.1;

/// One summary per direction.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let steps: Vec<&Rfc6349> = run.rfc6349_steps().collect();
    if steps.is_empty() {
        return Vec::new();
    }
    [Direction::ToDevice, Direction::FromDevice]
        .into_iter()
        .filter_map(|direction| Path::of(&steps, direction))
        .map(|path| path.summary())
        .collect()
}

/// The measurements of the path in one direction.
struct Path<'a> {
    direction: Direction,
    mtu: Option<&'a Rfc6349>,
    rtt_ns: Option<u64>,
    bottleneck: Option<f64>,
    streams: u64,
    transfers: Vec<&'a Rfc6349>,
    is_full: bool,
}

/// The metrics of a transfer (RFC 6349 section 4).
struct Metrics {
    goodput: f64,
    /// Goodput that its window and the path allow.
    expected: f64,
    /// Actual transfer time over the ideal one (section 4.1).
    time_ratio: f64,
    /// Octets sent without retransmissions, of all octets sent (section 4.2).
    efficiency: Option<f64>,
    /// Increase of the round-trip time during the transfer (section 4.3).
    buffer_delay: Option<f64>,
}

impl<'a> Path<'a> {
    fn of(steps: &[&'a Rfc6349], direction: Direction) -> Option<Self> {
        let of_step = |step| {
            let all = steps.iter().copied();
            all.filter(move |it| it.params.step == step)
        };
        let one_way = |it: &&Rfc6349| it.params.direction == direction;
        let transfers: Vec<&Rfc6349> = of_step(Rfc6349Step::Transfer).filter(one_way).collect();
        let bottleneck = of_step(Rfc6349Step::Bottleneck).find(one_way);
        if transfers.is_empty() && bottleneck.is_none() {
            return None;
        }
        let goodput = |it: &Rfc6349| it.metrics.flow.as_ref().map(|it| it.goodput_bytes_per_s);
        let rtt = of_step(Rfc6349Step::BaselineRtt).find_map(|it| it.metrics.rtt.as_ref());
        Some(Self {
            direction,
            mtu: of_step(Rfc6349Step::PathMtu).next(),
            rtt_ns: rtt.map(|it| it.min_ns),
            bottleneck: bottleneck.and_then(goodput),
            streams: bottleneck.map_or(1, |it| it.params.streams.max(1)),
            is_full: steps.iter().all(|it| it.params.is_full),
            transfers,
        })
    }

    fn bdp(&self) -> Option<f64> {
        Some(self.bottleneck? * self.rtt_ns? as f64 / 1e9)
    }

    fn metrics(&self, transfer: &Rfc6349) -> Option<Metrics> {
        let flow = transfer.metrics.flow.as_ref()?;
        let (bottleneck, rtt) = (self.bottleneck?, self.rtt_ns?);
        let window = transfer.metrics.window_bytes? as f64;
        let goodput = flow.goodput_bytes_per_s;
        let retransmitted = transfer.metrics.retransmitted_bytes;
        let during = transfer.metrics.rtt.as_ref();
        Some(Metrics {
            goodput,
            expected: bottleneck.min(stats::ratio(window * 1e9, rtt as f64)),
            time_ratio: stats::ratio(bottleneck, goodput),
            efficiency: retransmitted.map(|retransmitted| {
                let sent = (flow.octets + retransmitted) as f64;
                stats::ratio(flow.octets as f64, sent)
            }),
            buffer_delay: during.map(|it| {
                let base = rtt as f64;
                stats::ratio(it.p50_ns as f64 - base, base)
            }),
        })
    }

    fn summary(&self) -> Summary {
        Summary {
            title: format!("RFC 6349: TCP {}", self.direction.label()),
            verdict: self.verdict(),
            variant: self.variant(),
            charts: self.chart().into_iter().collect(),
            table: Table {
                head: vec![
                    "window",
                    "of the BDP",
                    "goodput",
                    "expected",
                    "transfer time ratio",
                    "TCP efficiency",
                    "buffer delay",
                ],
                rows: self.transfers.iter().map(|it| self.row(it)).collect(),
            },
            ..Summary::default()
        }
    }

    fn verdict(&self) -> String {
        let mtu = match self
            .mtu
            .and_then(|it| Some((it, it.metrics.path_mtu_bytes?)))
        {
            None => String::new(),
            Some((it, mtu)) if it.metrics.is_assumed => format!("MTU {mtu} B (assumed), "),
            Some((_, mtu)) => format!("path MTU {mtu} B, "),
        };
        let Some(bottleneck) = self.bottleneck else {
            return format!("TCP {}: the bottleneck is unknown.", self.direction.label());
        };
        let rate = format::rate(bottleneck);
        let (Some(rtt), Some(bdp)) = (self.rtt_ns, self.bdp()) else {
            return format!(
                "TCP {}: {mtu}bottleneck {rate}; no bandwidth-delay product without a round trip time.",
                self.direction.label()
            );
        };
        let path = format!(
            "TCP {}: {mtu}round trip {}, bottleneck {rate}, bandwidth-delay product {}",
            self.direction.label(),
            format::time(rtt),
            format::bytes(bdp.round() as u64)
        );
        let is_whole = |it: &&&Rfc6349| it.params.window_percent.is_some_and(|it| it >= 100);
        let whole = self.transfers.iter().filter(is_whole);
        let best = whole
            .filter_map(|it| self.metrics(it))
            .max_by(|one, other| one.goodput.total_cmp(&other.goodput));
        let Some(best) = best else {
            return format!("{path}; no transfer with a window of that size was measured.");
        };
        let share = stats::ratio(best.goodput, bottleneck);
        let judged = if share > BEYOND {
            "above the measured bottleneck: the path has changed, or the bottleneck was underestimated"
        } else if share >= IDEAL {
            "the rate of the path"
        } else {
            "slower than the path: the window on the wire is smaller than requested, or TCP loses time"
        };
        format!(
            "{path}. With a window of at least that size one connection reaches {}, {} of the bottleneck \
             (transfer time ratio {:.2}): {judged}.",
            format::rate(best.goodput),
            format::percent(share),
            best.time_ratio
        )
    }

    fn variant(&self) -> String {
        let length = if self.is_full {
            "The full procedure: transfers of 30 s."
        } else {
            "The short variant: transfers are shorter than the RFC's 30 s."
        };
        let efficiency = match self
            .transfers
            .iter()
            .find_map(|it| it.metrics.retransmitted_bytes)
        {
            Some(_) => "",
            None => {
                " TCP efficiency is not measured: the sender's TCP does not report retransmissions."
            }
        };
        let connections = match self.streams {
            1 => "one connection".to_owned(),
            streams => format!("{streams} connections"),
        };
        format!(
            "{length} The bottleneck is the payload rate of {connections}, so the ideal excludes \
             headers.{efficiency}"
        )
    }

    fn row(&self, transfer: &Rfc6349) -> Vec<String> {
        let none = || "–".to_owned();
        let params = &transfer.params;
        let mut row = vec![
            transfer
                .metrics
                .window_bytes
                .map_or_else(none, format::bytes),
            params
                .window_percent
                .map_or_else(none, |it| format!("{it}%")),
        ];
        let Some(metrics) = self.metrics(transfer) else {
            row.push(transfer.metrics.failure.clone());
            row.resize_with(7, none);
            return row;
        };
        row.extend([
            format::rate(metrics.goodput),
            format::bit_rate(metrics.expected),
            format!("{:.2}", metrics.time_ratio),
            metrics
                .efficiency
                .map_or_else(|| "not measured".to_owned(), format::percent),
            metrics
                .buffer_delay
                .map_or_else(|| "not measured".to_owned(), format::percent),
        ]);
        row
    }

    fn chart(&self) -> Option<Chart> {
        let (bottleneck, rtt) = (self.bottleneck?, self.rtt_ns?);
        let mut points: Vec<(f64, f64)> = self
            .transfers
            .iter()
            .filter_map(|it| {
                let flow = it.metrics.flow.as_ref()?;
                Some((
                    it.metrics.window_bytes? as f64,
                    flow.goodput_bytes_per_s * 8.0,
                ))
            })
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (low, high) = (points.first()?.0, points.last()?.0);
        if points.len() < 2 {
            return None;
        }
        let allowed = super::geometric_series(low, high).map(|window| {
            let rate = bottleneck.min(stats::ratio(window * 1e9, rtt as f64));
            (window, rate * 8.0)
        });
        Some(Chart::of(
            "Goodput over window",
            &Curves {
                label: "Goodput of TCP over its window".to_owned(),
                x: Axis::octets("window", false),
                y: Axis::linear("payload", format::bits),
                lines: vec![
                    Line::measured("one connection", points),
                    Line::model("expected", allowed.collect()),
                ],
                marks: self
                    .bdp()
                    .map(|it| (it, "BDP".to_owned()))
                    .into_iter()
                    .collect(),
                limits: vec![(bottleneck * 8.0, "bottleneck".to_owned())],
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use linerate_results::record::{
        CountedAt, Distribution, Flow, Ledger, Measurement, Rfc6349Metrics, Rfc6349Params,
    };

    fn step(params: Rfc6349Params, metrics: Rfc6349Metrics) -> Measurement {
        Measurement::Rfc6349(Rfc6349 {
            params,
            metrics,
            ledger: Ledger::default(),
        })
    }

    fn of(step: Rfc6349Step) -> Rfc6349Params {
        Rfc6349Params {
            step,
            ..Rfc6349Params::default()
        }
    }

    fn rtt(min_ns: u64, p50_ns: u64) -> Distribution {
        Distribution {
            min_ns,
            p50_ns,
            ..Distribution::default()
        }
    }

    fn path() -> Vec<Measurement> {
        let mtu = Rfc6349Metrics {
            path_mtu_bytes: Some(1_500),
            ..Rfc6349Metrics::default()
        };
        let base = Rfc6349Metrics {
            rtt: Some(rtt(4_000_000, 4_100_000)),
            ..Rfc6349Metrics::default()
        };
        let bottleneck = Rfc6349Metrics {
            flow: Some(Flow::stream(5_000_000, 4_000_000_000, CountedAt::Host)),
            ..Rfc6349Metrics::default()
        };
        vec![
            step(of(Rfc6349Step::PathMtu), mtu),
            step(of(Rfc6349Step::BaselineRtt), base),
            step(of(Rfc6349Step::Bottleneck), bottleneck),
        ]
    }

    fn transfer(percent: u64, octets: u64, again: Option<u64>) -> Measurement {
        let params = Rfc6349Params {
            window_percent: Some(percent),
            ..of(Rfc6349Step::Transfer)
        };
        let metrics = Rfc6349Metrics {
            window_bytes: Some(5_000 * percent / 100),
            flow: Some(Flow::stream(octets, 1_000_000_000, CountedAt::Host)),
            rtt: Some(rtt(4_000_000, 6_000_000)),
            retransmitted_bytes: again,
            ..Rfc6349Metrics::default()
        };
        step(params, metrics)
    }

    fn summarize(results: Vec<Measurement>) -> Summary {
        let run = Run {
            results,
            ..sample::run()
        };
        summaries(&run).remove(0)
    }

    #[test]
    fn the_metrics_are_those_of_the_rfc() {
        let mut results = path();
        results.extend([
            transfer(50, 625_000, Some(0)),
            transfer(100, 1_200_000, Some(12_000)),
        ]);
        let summary = summarize(results);
        assert_eq!(
            summary.verdict,
            "TCP to the device: path MTU 1500 B, round trip 4 ms, bottleneck 10 Mbit/s (1.25 MB/s), bandwidth-delay \
             product 5 kB. With a window of at least that size one connection reaches 9.6 Mbit/s (1.2 MB/s), 96% of the \
             bottleneck (transfer time ratio 1.04): the rate of the path."
        );
        assert_eq!(
            summary.table.rows[0],
            [
                "2.5 kB",
                "50%",
                "5 Mbit/s (625 kB/s)",
                "5 Mbit/s",
                "2.00",
                "100%",
                "50%"
            ]
        );
        let row = [
            "5 kB",
            "100%",
            "9.6 Mbit/s (1.2 MB/s)",
            "10 Mbit/s",
            "1.04",
            "99%",
            "50%",
        ];
        assert_eq!(summary.table.rows[1], row);
        assert!(summary.variant.starts_with("The short variant"));
        assert!(summary.charts[0].svg.contains(">BDP</text>"));
    }

    #[test]
    fn unmeasured_metrics_are_reported() {
        let mut results = path();
        results.push(transfer(100, 500_000, None));
        let summary = summarize(results);
        assert!(
            summary.verdict.contains("slower than the path"),
            "{}",
            summary.verdict
        );
        assert!(summary.variant.contains("TCP efficiency is not measured"));
        assert_eq!(summary.table.rows[0][5], "not measured");
        // Without a round-trip time no window can be sized.
        let mut steps = path();
        steps.remove(1);
        let verdict = summarize(steps).verdict;
        assert!(verdict.contains("without a round trip"), "{verdict}");
    }
}

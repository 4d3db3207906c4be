//! Sweeps over the send size: the fixed cost of a send.

use super::{Axis, Chart, Curves, Line, Summary, Table, in_bits};
use crate::cause::sweep;
use crate::series::cost::SendCost;
use crate::series::size::{NEAR_BEST, Sweep, sweeps};
use linerate_results::format;
use linerate_results::record::{Flow, Run, SizeSweep};

/// A cost is reported only with this many points.
const MIN_FIT_POINTS: usize = 4;

/// One summary of all sizes.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let sweeps = sweeps(run);
    if sweeps.is_empty() {
        return Vec::new();
    }
    let verdicts: Vec<String> = sweeps.iter().map(Sweep::verdict).collect();
    vec![Summary {
        title: "Send sizes".to_owned(),
        verdict: verdicts.join(" "),
        findings: sweep::of_sizes(run),
        variant: "A send is a TCP write or a datagram. The cost of a send comes from a linear fit of the time per \
                  send over its octets; it is reported only if the line fits."
            .to_owned(),
        charts: chart(&sweeps).into_iter().collect(),
        table: Table {
            head: vec![
                "payload", "protocol", "direction", "goodput", "of the best", "sends/s", "time/send", "lost",
            ],
            rows: sweeps.iter().flat_map(Sweep::rows).collect(),
        },
    }]
}

impl Sweep<'_> {
    fn cost(&self) -> Option<SendCost> {
        let points = self.send_times();
        (points.len() >= MIN_FIT_POINTS).then(|| SendCost::fit(&points))?
    }

    fn verdict(&self) -> String {
        let points = self.measured_points();
        let (Some(best), Some(first)) = (self.best_goodput(), points.first()) else {
            return format!("{}: no result.", self.label());
        };
        let good = points
            .iter()
            .find(|it| it.1 >= best * NEAR_BEST)
            .unwrap_or(first);
        let mut parts = vec![format!("{}: {} at best", self.label(), format::rate(best))];
        parts.push(if good.0 > first.0 {
            format!(
                ", {} of that from {} per send on, {} at {}",
                format::percent(NEAR_BEST),
                format::bytes(good.0 as u64),
                format::rate(first.1),
                format::bytes(first.0 as u64)
            )
        } else {
            ", about the same at every size".to_owned()
        });
        if let Some(cost) = self.cost() {
            parts.push(format!(
                "; each send costs {} plus {} per octet",
                format::time(cost.send_ns.round() as u64),
                format::time(cost.octet_ns.round() as u64)
            ));
        }
        parts.concat() + "."
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let best = self.best_goodput().unwrap_or(0.0);
        self.points.iter().map(|it| self.row(it, best)).collect()
    }

    fn row(&self, result: &SizeSweep, best: f64) -> Vec<String> {
        let none = || "–".to_owned();
        let octets = result.params.payload_bytes;
        let mut row = vec![
            format::bytes(octets),
            self.transport.label().to_owned(),
            self.direction.label().to_owned(),
        ];
        let Some(flow) = &result.metrics.flow else {
            row.extend([
                none(),
                none(),
                none(),
                none(),
                result.metrics.failure.clone(),
            ]);
            return row;
        };
        let rate = flow.goodput_bytes_per_s;
        let sends_per_s = rate / octets.max(1) as f64;
        row.extend([
            format::rate(rate),
            format::percent(linerate_results::stats::ratio(rate, best)),
            format::count(sends_per_s.round() as u64),
            if rate > 0.0 {
                format::time((1e9 / sends_per_s).round() as u64)
            } else {
                none()
            },
            lost(flow),
        ]);
        row
    }
}

fn lost(flow: &Flow) -> String {
    flow.datagrams
        .map_or_else(|| "–".to_owned(), |it| format::percent(it.loss_ratio()))
}

fn chart(sweeps: &[Sweep<'_>]) -> Option<Chart> {
    let line = |sweep: &Sweep<'_>| Line::measured(sweep.label(), in_bits(sweep.measured_points()));
    let lines: Vec<Line> = sweeps.iter().map(line).collect();
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    Some(Chart::of(
        "Goodput over send size",
        &Curves {
            label: "Goodput over send size".to_owned(),
            x: Axis::octets("octets per send", true),
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
        CountedAt, Ledger, Measurement, SizeSweepMetrics, SizeSweepParams,
    };

    fn point(payload_bytes: u64, goodput_bytes_per_s: f64) -> Measurement {
        let octets = goodput_bytes_per_s as u64;
        Measurement::SizeSweep(SizeSweep {
            params: SizeSweepParams {
                payload_bytes,
                ..SizeSweepParams::default()
            },
            metrics: SizeSweepMetrics {
                flow: Some(Flow::stream(octets, 1_000_000_000, CountedAt::Host)),
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
    fn cost_per_send_and_per_octet_is_found_from_the_curve() {
        // 100 us per send and 80 ns per octet.
        let goodput = |octets: u64| octets as f64 * 1e9 / (100_000.0 + 80.0 * octets as f64);
        let sizes = [64, 256, 1_024, 4_096, 16_384, 65_536];
        let summary = summarize(sizes.map(|it| point(it, goodput(it))).into());
        assert_eq!(
            summary.verdict,
            "TCP to the device: 98.13 Mbit/s (12.27 MB/s) at best, 95% of that from 65,536 B per send on, 4.87 Mbit/s \
             (609 kB/s) at 64 B; each send costs 100 µs plus 80 ns per octet."
        );
        assert_eq!(
            summary.table.rows[0],
            [
                "64 B",
                "TCP",
                "to the device",
                "4.87 Mbit/s (609 kB/s)",
                "5.0%",
                "9,513",
                "105 µs",
                "–"
            ]
        );
    }

    #[test]
    fn no_cost_is_reported_if_no_line_fits() {
        let rates = [(64, 1e6), (128, 1e6), (256, 1e6), (512, 9e6), (1_024, 1e6)];
        let summary = summarize(rates.map(|(size, rate)| point(size, rate)).into());
        assert!(!summary.verdict.contains("costs"), "{}", summary.verdict);
    }
}

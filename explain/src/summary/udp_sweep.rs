//! Load sweeps: the knee, saturation and collapse of the received rate.

use std::collections::BTreeMap;

use super::{Axis, Chart, Curves, Line, Summary, Table};
use crate::cause::sweep;
use crate::series::load::{
    COLLAPSE, Point, Sweep, TOLERANCE, collapse, is_plateau, knee, saturation, sizes,
};
use linerate_results::export::Figure;
use linerate_results::format;
use linerate_results::record::{Direction, Run, UdpSweep};

/// One summary per datagram size.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let sizes = sizes(run).into_iter();
    sizes.map(|size| summary(run, size)).collect()
}

/// The highest received rate at any load.
pub(super) fn figures(run: &Run) -> Vec<(String, Vec<Figure>)> {
    let mut most: BTreeMap<(u64, &str), f64> = BTreeMap::new();
    for point in run.udp_sweeps() {
        let key = (point.params.payload_bytes, point.params.direction.label());
        let received = most.entry(key).or_default();
        *received = received.max(point.metrics.received_bytes_per_s);
    }
    let figure = |((payload, direction), value): ((u64, &str), f64)| {
        let figure = Figure {
            metric: "most_received_bytes_per_s".to_owned(),
            value,
        };
        (
            format!("load sweep {direction}, {payload} octets of payload"),
            vec![figure],
        )
    };
    most.into_iter().map(figure).collect()
}

fn summary(run: &Run, payload_bytes: u64) -> Summary {
    let sweeps: Vec<Sweep<'_>> = [Direction::ToDevice, Direction::FromDevice]
        .into_iter()
        .map(|direction| Sweep::of(run, direction, payload_bytes))
        .filter(|sweep| !sweep.points.is_empty())
        .collect();
    let verdicts: Vec<String> = sweeps.iter().map(Sweep::verdict).collect();
    Summary {
        title: format!(
            "Load sweep: UDP, {} of payload",
            format::bytes(payload_bytes)
        ),
        verdict: verdicts.join(" "),
        findings: sweep::of_loads(run, payload_bytes),
        variant: format!(
            "The knee is the first load of which more than {} is lost; a collapse is a received rate below {} \
             of the highest. Rates are payload.",
            format::percent(TOLERANCE),
            format::percent(COLLAPSE)
        ),
        charts: [received(&sweeps), lost(&sweeps)]
            .into_iter()
            .flatten()
            .collect(),
        table: Table {
            head: vec![
                "offered",
                "direction",
                "sent",
                "received",
                "of offered",
                "lost",
                "lost where",
                "jitter",
            ],
            rows: sweeps.iter().flat_map(Sweep::rows).collect(),
        },
    }
}

impl Sweep<'_> {
    fn verdict(&self) -> String {
        let direction = match self.direction {
            Direction::FromDevice => "From the device",
            Direction::ToDevice | Direction::Both => "To the device",
        };
        let points = self.measured_points();
        let Some(last) = points.last() else {
            return format!("{direction}: no load was measured.");
        };
        let (rate, offered) = (format::rate, format::bit_rate);
        let missing = match self
            .points
            .iter()
            .filter(|it| Point::of(it).is_none())
            .count()
        {
            0 => String::new(),
            1 => " One load has no result.".to_owned(),
            loads => format!(" {loads} loads have no result."),
        };
        let Some((before, knee)) = knee(&points) else {
            return format!(
                "{direction}: all offered load is received, up to {}; the knee is above that.{missing}",
                offered(last.offered)
            );
        };
        let mut parts = vec![match before {
            Some(before) => format!(
                "{direction}: all is received up to {}",
                offered(before.offered)
            ),
            None if knee.arrives() => format!(
                "{direction}: all that is sent is received, {} of {} offered",
                rate(knee.received),
                offered(knee.offered)
            ),
            None => format!(
                "{direction}: loss from the first load on, {} of {} received",
                rate(knee.received),
                offered(knee.offered)
            ),
        }];
        let Some(most) = saturation(&points) else {
            return format!("{}, and nothing is received.{missing}", parts[0]);
        };
        match points.len() {
            1 => {}
            _ if is_plateau(&points, most) => {
                parts.push(format!(", saturates at {}", rate(most.received)));
            }
            _ => parts.push(format!(
                ", rises up to {} at {} offered, the highest load with a result: saturation is not shown",
                rate(most.received),
                offered(last.offered)
            )),
        }
        parts.extend(collapse_text(&points, most));
        if !knee.is_fully_sent() {
            let fastest = points.iter().map(|it| it.sent).fold(0.0, f64::max);
            let sender = match self.direction {
                Direction::FromDevice => "the device",
                Direction::ToDevice | Direction::Both => "this machine",
            };
            parts.push(format!("; {sender} sends at most {}", rate(fastest)));
        }
        format!("{}.{missing}", parts.concat())
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let none = || "–".to_owned();
        let row = |result: &&UdpSweep| {
            let direction = match self.direction {
                Direction::FromDevice => "from the device",
                Direction::ToDevice | Direction::Both => "to the device",
            };
            let mut row = vec![
                format::bit_rate(result.params.offered_bytes_per_s),
                direction.to_owned(),
            ];
            let metrics = &result.metrics;
            let counted = metrics.flow.as_ref().and_then(|it| it.datagrams);
            let (Some(point), Some(datagrams)) = (Point::of(result), counted) else {
                row.extend([
                    none(),
                    none(),
                    none(),
                    none(),
                    metrics.failure.clone(),
                    none(),
                ]);
                return row;
            };
            let place = match datagrams.lost_by_host {
                _ if datagrams.lost == 0 => none(),
                None => "unknown".to_owned(),
                Some(host) => format!(
                    "{} by this machine, {} earlier",
                    format::count(host),
                    format::count(datagrams.lost.saturating_sub(host))
                ),
            };
            row.extend([
                format::bit_rate(point.sent),
                format::rate(point.received),
                format::percent(point.received / point.offered),
                format!(
                    "{} of {} ({})",
                    format::count(datagrams.lost),
                    format::count(datagrams.sent),
                    format::percent(point.loss)
                ),
                place,
                datagrams
                    .jitter_ns
                    .map_or_else(|| "–".to_owned(), format::time),
            ]);
            row
        };
        self.points.iter().map(row).collect()
    }

    fn label(&self) -> &'static str {
        self.direction.label()
    }
}

/// The collapse of the received rate beyond `most`, as text.
fn collapse_text(points: &[Point], most: Point) -> Option<String> {
    let least = collapse(points, most)?;
    // No livelock if the sender itself sent less.
    let livelock = if least.sent > most.received {
        " (receive livelock)"
    } else {
        ""
    };
    Some(format!(
        ", collapses to {} at {} offered{livelock}",
        format::rate(least.received),
        format::bit_rate(least.offered)
    ))
}

fn offered() -> Axis {
    Axis::linear("offered payload", format::bits)
}

/// The axis of offered rates: logarithmic for a geometric sweep.
fn offered_axis(sweeps: &[Sweep<'_>]) -> Axis {
    let offers: Vec<f64> = sweeps
        .iter()
        .flat_map(|sweep| &sweep.points)
        .map(|it| it.params.offered_bytes_per_s)
        .filter(|offered| *offered > 0.0)
        .collect();
    let least = offers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = offers.iter().copied().fold(0.0, f64::max);
    Axis {
        is_logarithmic: offers.len() > 2 && most > least * 30.0,
        ..offered()
    }
}

/// A point of a chart: its axes are in bits, for round ticks.
fn bits(offered: f64, rate: f64) -> (f64, f64) {
    (offered * 8.0, rate * 8.0)
}

/// Received over offered rate, with the line on which both are equal.
fn received(sweeps: &[Sweep<'_>]) -> Option<Chart> {
    let mut lines = Vec::new();
    let mut marks = Vec::new();
    let mut ends = Vec::new();
    for sweep in sweeps {
        let points = sweep.measured_points();
        ends.extend(points.iter().map(|it| it.offered));
        if let Some((_, knee)) = knee(&points) {
            marks.push((knee.offered * 8.0, format!("knee {}", sweep.label())));
        }
        lines.push(Line::measured(
            format!("received, {}", sweep.label()),
            points
                .iter()
                .map(|it| bits(it.offered, it.received))
                .collect(),
        ));
    }
    for sweep in sweeps {
        let points = sweep.measured_points();
        if points.iter().any(|it| !it.is_fully_sent()) {
            lines.push(Line::of(
                format!("sent, {}", sweep.label()),
                points.iter().map(|it| bits(it.offered, it.sent)).collect(),
            ));
        }
    }
    if ends.len() < 2 {
        return None;
    }
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let x = offered_axis(sweeps);
    lines.push(Line::model(
        "offered",
        ends.iter().map(|it| bits(*it, *it)).collect(),
    ));
    Some(Chart::of(
        "Received over offered",
        &Curves {
            label: "Payload received over offered payload".to_owned(),
            x,
            y: Axis {
                name: "received payload",
                ..x
            },
            lines,
            marks,
            limits: Vec::new(),
        },
    ))
}

/// Loss over offered rate.
fn lost(sweeps: &[Sweep<'_>]) -> Option<Chart> {
    let lines: Vec<Line> = sweeps
        .iter()
        .map(|sweep| {
            Line::measured(
                format!("lost, {}", sweep.label()),
                sweep
                    .measured_points()
                    .iter()
                    .map(|it| (it.offered * 8.0, it.loss))
                    .collect(),
            )
        })
        .collect();
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    Some(Chart::of(
        "Lost over offered",
        &Curves {
            label: "Share of datagrams lost over offered payload".to_owned(),
            x: offered_axis(sweeps),
            y: Axis::linear("datagrams lost", format::percent),
            lines,
            ..Curves::default()
        },
    ))
}

#[cfg(test)]
mod tests;

//! RFC 2544: throughput with latency, frame loss rate, back-to-back frames with RFC 9004's buffer time.

mod extent;
mod loss;
#[cfg(test)]
mod tests;

use super::{Axis, Chart, Curves, Line, Summary, Table};
use crate::cause::sweep;
use crate::series::rfc2544::{
    Bursts, Latency, Throughput, TrialsBySize, by_counting, trials, trials_of_size,
};
use linerate_results::export::Figure;
use linerate_results::format;
use linerate_results::record::{Counting, Rfc2544Test, Run};

/// Not measured.
const NONE: &str = "–";

/// Up to three summaries per counting method.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let methods = by_counting(run);
    let of = |(counting, sizes): (&Counting, &TrialsBySize<'_>)| {
        [
            throughput(*counting, sizes),
            loss::summary(*counting, sizes),
            bursts(*counting, sizes),
        ]
    };
    methods.iter().flat_map(of).flatten().collect()
}

/// The figures, by counting method and frame size.
pub(super) fn figures(run: &Run) -> Vec<(String, Vec<Figure>)> {
    let mut all = Vec::new();
    for (counting, sizes) in &by_counting(run) {
        for (octets, tests) in sizes {
            let of = |test| tests.get(&test).map_or(&[][..], Vec::as_slice);
            let found = [
                Throughput::of(of(Rfc2544Test::Throughput))
                    .and_then(|it| it.lossless)
                    .map(|rate| ("throughput_frames_per_s", rate)),
                Latency::of(of(Rfc2544Test::Latency)).map(|it| ("latency_ns", it.mean_ns as f64)),
                Bursts::of(of(Rfc2544Test::BackToBack))
                    .map(|it| ("burst_throughput_frames", it.mean)),
            ];
            let figures = found.into_iter().flatten().map(|(metric, value)| Figure {
                metric: metric.to_owned(),
                value,
            });
            let name = format!("RFC 2544, {octets} octets, {}", counting.label());
            all.push((name, figures.collect()));
        }
    }
    all
}

fn title(what: &str, counting: Counting) -> String {
    format!("RFC 2544 {what}: {}", counting.label())
}

fn frames_per_s(rate: f64) -> String {
    format::count(rate.round() as u64)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A line of one size.
struct Row {
    octets: u64,
    throughput: Throughput,
    latency: Option<Latency>,
}

fn throughput(counting: Counting, sizes: &TrialsBySize<'_>) -> Option<Summary> {
    let rows: Vec<Row> = trials(sizes, Rfc2544Test::Throughput)
        .filter_map(|(octets, trials)| {
            let latency = trials_of_size(sizes, octets, Rfc2544Test::Latency);
            Some(Row {
                octets,
                throughput: Throughput::of(trials)?,
                latency: Latency::of(latency),
            })
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let latency = match counting {
        Counting::Datagrams => "round trip of a probe",
        Counting::Agent | Counting::Reflector => "latency",
    };
    let has_latency = rows.iter().any(|row| row.latency.is_some());
    let mut head = vec![
        "frame",
        "line rate, frames/s",
        "lossless, frames/s",
        "of line rate",
        "frame bits",
        "resolution",
    ];
    if has_latency {
        head.extend([latency, "min to max"]);
    }
    Some(Summary {
        title: title("throughput", counting),
        verdict: throughput_verdict(&rows),
        findings: sweep::of_frame_sizes(sizes),
        variant: extent::describe(counting, sizes),
        charts: vec![throughput_chart(&rows)],
        table: Table {
            head,
            rows: rows.iter().map(|row| cells(row, has_latency)).collect(),
        },
    })
}

fn cells(row: &Row, has_latency: bool) -> Vec<String> {
    let it = &row.throughput;
    let none = || NONE.to_owned();
    let bits = |rate: f64| format!("{:.2} Mbit/s", rate * row.octets as f64 * 8.0 / 1e6);
    let mut cells = vec![
        row.octets.to_string(),
        frames_per_s(it.line),
        match (it.lossless, it.unconfirmed) {
            (Some(rate), _) => frames_per_s(rate),
            (None, Some(rate)) => format!("{}, not repeated", frames_per_s(rate)),
            (None, None) => format!("none from {} on", frames_per_s(it.resolution)),
        },
        it.share().map_or_else(none, percent),
        it.lossless.map_or_else(none, bits),
        percent(it.resolution / it.line),
    ];
    if !has_latency {
        return cells;
    }
    cells.extend(match row.latency {
        None => [none(), none()],
        Some(latency) => [
            format!(
                "{} ({} ×)",
                format::time(latency.mean_ns),
                latency.repetitions
            ),
            format!(
                "{} to {}{}",
                format::time(latency.min_ns),
                format::time(latency.max_ns),
                match latency.lossy {
                    0 => String::new(),
                    lossy => format!(", frames lost in {lossy}"),
                }
            ),
        ],
    });
    cells
}

fn throughput_verdict(rows: &[Row]) -> String {
    let of = |row: &Row| {
        let octets = row.octets;
        match (row.throughput.lossless, row.throughput.share()) {
            (Some(rate), Some(share)) => format!(
                "{} frames/s of {octets} octets ({} of line rate)",
                frames_per_s(rate),
                percent(share)
            ),
            _ => match row.throughput.unconfirmed {
                Some(rate) => format!(
                    "{} frames/s of {octets} octets (one trial, not repeated)",
                    frames_per_s(rate)
                ),
                None => format!("no rate with {octets} octets"),
            },
        }
    };
    let ends = match rows {
        [only] => of(only),
        [first, .., last] => format!("{} and {}", of(first), of(last)),
        [] => String::new(),
    };
    let what = if rows.iter().all(|row| row.throughput.is_line_rate()) {
        format!("Line rate is received without loss: {ends}; no burst is too long.")
    } else {
        format!("Lossless in repeated trials: {ends}.")
    };
    let unsteady = rows.iter().filter(|row| row.throughput.lossy_below > 0);
    match unsteady.count() {
        0 => what,
        sizes => format!(
            "{what} At {sizes} of {} sizes a trial at a lower rate lost frames: loss does \
             not depend on the rate alone.",
            rows.len()
        ),
    }
}

fn throughput_chart(rows: &[Row]) -> Chart {
    let line = |name: &str, of: fn(&Throughput) -> Option<f64>| {
        Line::measured(
            name,
            rows.iter()
                .filter_map(|row| Some((row.octets as f64, of(&row.throughput)?)))
                .collect(),
        )
    };
    let curves = Curves {
        label: "Lossless frame rate over frame size".to_owned(),
        x: Axis::linear("octets per frame", |octets| format!("{octets:.0}")),
        y: Axis::linear("frames per second", |rate| {
            format::count(rate.round() as u64)
        }),
        lines: vec![
            line("lossless", |it| it.lossless),
            line("line rate", |it| Some(it.line)),
        ],
        ..Curves::default()
    };
    Chart::of("Throughput", &curves)
}

fn bursts(counting: Counting, sizes: &TrialsBySize<'_>) -> Option<Summary> {
    let rows: Vec<(u64, Bursts, Option<Throughput>)> = trials(sizes, Rfc2544Test::BackToBack)
        .filter_map(|(octets, trials)| {
            let throughput = trials_of_size(sizes, octets, Rfc2544Test::Throughput);
            Some((octets, Bursts::of(trials)?, Throughput::of(throughput)))
        })
        .collect();
    let (octets, first, _) = rows.first()?;
    let verdict = format!(
        "A burst at the minimum gap is received without loss up to {:.0} frames of {octets} \
         octets ({}){}.",
        first.mean,
        format::time(first.implied_ns() as u64),
        match rows.last() {
            Some((octets, last, _)) if rows.len() > 1 =>
                format!(", and {:.0} of {octets}", last.mean),
            _ => String::new(),
        }
    );
    let cells = |(octets, it, throughput): &(u64, Bursts, Option<Throughput>)| {
        let rate = throughput
            .as_ref()
            .and_then(|throughput| throughput.lossless);
        let limited = if it.is_limited {
            ", longest burst tried"
        } else {
            ""
        };
        vec![
            octets.to_string(),
            format!("{:.1} ({} ×){limited}", it.mean, it.repetitions),
            format!("{} to {}", format::count(it.min), format::count(it.max)),
            format!("{:.1}", it.deviation),
            format::time(it.implied_ns() as u64),
            rate.map_or_else(
                || NONE.to_owned(),
                |rate| format::time(it.corrected_ns(rate) as u64),
            ),
        ]
    };
    Some(Summary {
        title: title("back-to-back frames", counting),
        verdict,
        variant: "Only sizes with a throughput below line rate (RFC 9004). Buffer time is the duration of \
                  the burst; the corrected value excludes the frames that the device processes \
                  meanwhile: buffer time × (1 − throughput / line rate)."
            .to_owned(),
        table: Table {
            head: vec![
                "frame",
                "burst, frames",
                "min to max",
                "std. deviation",
                "buffer time",
                "corrected",
            ],
            rows: rows.iter().map(cells).collect(),
        },
        ..Summary::default()
    })
}

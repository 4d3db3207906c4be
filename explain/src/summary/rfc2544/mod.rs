//! RFC 2544: throughput with latency, frame loss rate, back-to-back frames with RFC 9004's buffer time.

mod extent;
mod loss;
#[cfg(test)]
mod tests;

use super::{Axis, Chart, Curves, Line, Summary, Table};
use crate::cause::sweep;
use crate::series::rfc2544::{Bursts, Latency, Sizes, Throughput, of_size, trials, ways};
use linerate_results::export::Figure;
use linerate_results::format;
use linerate_results::record::{Counting, Rfc2544Test, Run};

/// What was not measured.
const NONE: &str = "–";

/// Up to three summaries for each way to count.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let ways = ways(run);
    let of = |(counting, sizes): (&Counting, &Sizes<'_>)| {
        [
            throughput(*counting, sizes),
            loss::summary(*counting, sizes),
            bursts(*counting, sizes),
        ]
    };
    ways.iter().flat_map(of).flatten().collect()
}

/// What was found, by the way to count and the size of the frames.
pub(super) fn figures(run: &Run) -> Vec<(String, Vec<Figure>)> {
    let mut all = Vec::new();
    for (counting, sizes) in &ways(run) {
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
            let name = format!("RFC 2544, {octets} octets, {}", counting.words());
            all.push((name, figures.collect()));
        }
    }
    all
}

fn title(what: &str, counting: Counting) -> String {
    format!("RFC 2544 {what}: {}", counting.words())
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

fn throughput(counting: Counting, sizes: &Sizes<'_>) -> Option<Summary> {
    let rows: Vec<Row> = trials(sizes, Rfc2544Test::Throughput)
        .filter_map(|(octets, trials)| {
            let latency = of_size(sizes, octets, Rfc2544Test::Latency);
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
        "line, frames/s",
        "without loss, frames/s",
        "of the line",
        "frame bits",
        "resolution",
    ];
    if has_latency {
        head.extend([latency, "least to most"]);
    }
    Some(Summary {
        title: title("throughput", counting),
        verdict: throughput_verdict(&rows),
        findings: sweep::of_frame_sizes(sizes),
        variant: extent::words(counting, sizes),
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
        match (it.lossless, it.once) {
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
            format!("{} ({} ×)", format::time(latency.mean_ns), latency.times),
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
                "{} frames/s of {octets} octets ({} of what the line carries)",
                frames_per_s(rate),
                percent(share)
            ),
            _ => match row.throughput.once {
                Some(rate) => format!(
                    "{} frames/s of {octets} octets (once, not repeated)",
                    frames_per_s(rate)
                ),
                None => format!("no rate of {octets} octets"),
            },
        }
    };
    let ends = match rows {
        [only] => of(only),
        [first, .., last] => format!("{} and {}", of(first), of(last)),
        [] => String::new(),
    };
    let what = if rows.iter().all(|row| row.throughput.is_line_rate()) {
        format!(
            "Everything the line carries is received without loss: {ends}; no burst is too long then."
        )
    } else {
        format!("Received without loss, and when repeated, is {ends}.")
    };
    let unsteady = rows.iter().filter(|row| row.throughput.lossy_below > 0);
    match unsteady.count() {
        0 => what,
        sizes => format!(
            "{what} At {sizes} of {} sizes a trial at a lower rate than that lost frames: loss does \
             not depend on the rate alone.",
            rows.len()
        ),
    }
}

fn throughput_chart(rows: &[Row]) -> Chart {
    let line = |name: &str, of: fn(&Throughput) -> Option<f64>| Line {
        name: name.to_owned(),
        points: rows
            .iter()
            .filter_map(|row| Some((row.octets as f64, of(&row.throughput)?)))
            .collect(),
        has_dots: true,
        is_model: false,
    };
    let curves = Curves {
        label: "Frame rate without loss over frame size".to_owned(),
        x: Axis {
            name: "octets of a frame",
            format: |octets| format!("{octets:.0}"),
            is_logarithmic: false,
        },
        y: Axis {
            name: "frames a second",
            format: |rate| format::count(rate.round() as u64),
            is_logarithmic: false,
        },
        lines: vec![
            line("without loss", |it| it.lossless),
            line("the line", |it| Some(it.line)),
        ],
        ..Curves::default()
    };
    Chart::of("Throughput", &curves)
}

fn bursts(counting: Counting, sizes: &Sizes<'_>) -> Option<Summary> {
    let rows: Vec<(u64, Bursts, Option<Throughput>)> = trials(sizes, Rfc2544Test::BackToBack)
        .filter_map(|(octets, trials)| {
            let throughput = of_size(sizes, octets, Rfc2544Test::Throughput);
            Some((octets, Bursts::of(trials)?, Throughput::of(throughput)))
        })
        .collect();
    let (octets, first, _) = rows.first()?;
    let verdict = format!(
        "A burst at the smallest gap is received without loss up to {:.0} frames of {octets} \
         octets, {} long{}.",
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
            ", as long as any tried"
        } else {
            ""
        };
        vec![
            octets.to_string(),
            format!("{:.1} ({} ×){limited}", it.mean, it.times),
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
        variant: "Only sizes whose throughput is below the line's rate (RFC 9004). Buffer time is what \
                  the burst lasts; corrected, it is without the frames that the device takes out of its \
                  buffer meanwhile: buffer time × (1 − throughput / line)."
            .to_owned(),
        table: Table {
            head: vec![
                "frame",
                "burst, frames",
                "least to most",
                "deviation",
                "buffer time",
                "corrected",
            ],
            rows: rows.iter().map(cells).collect(),
        },
        ..Summary::default()
    })
}

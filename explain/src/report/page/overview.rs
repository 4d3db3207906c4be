//! The first screens of a page with downloads: what was measured, a picture, and a table with a row per run.

use serde::Serialize;

use super::{Legend, label, names};
use crate::published::{Published, ignores_sack, is_comparable};
use crate::report::comparison::Comparison;
use crate::svg::lanes::{self, Lane};
use linerate_results::format;
use linerate_results::record::{HttpGet, Ping, Run};
use linerate_results::stats;

/// Published figures within this share are met.
const MET: f64 = 0.2;

#[derive(Serialize)]
pub(super) struct Overview {
    /// What was measured, compared with what, and how certain it is.
    facts: Vec<(&'static str, String)>,
    /// The size of the picture.
    size: String,
    legend: Vec<Legend>,
    picture: String,
    /// The sizes of the table's columns.
    sizes: Vec<String>,
    rows: Vec<Row>,
}

/// A run.
#[derive(Serialize)]
struct Row {
    name: String,
    what: String,
    /// As many as sizes.
    cells: Vec<Option<Cell>>,
    loss: String,
    /// The highest loss at any size, if that is higher.
    most_loss: String,
    post: String,
    ping: String,
    cause: String,
}

/// The goodput of one size.
#[derive(Serialize)]
struct Cell {
    megabits: String,
    bytes: String,
    /// The published figure and the error; empty if none was published.
    published: String,
}

/// None without downloads.
pub(super) fn overview(run: &Run, published: &Published) -> Option<Overview> {
    let comparison = Comparison::of(run)?;
    let mut sizes: Vec<u64> = run.http_gets().map(|get| get.params.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let downloads: Vec<Vec<&HttpGet>> = names(run)
        .into_iter()
        .map(|name| run.http_gets().filter(|get| label(get) == name).collect())
        .filter(|gets: &Vec<&HttpGet>| !gets.is_empty())
        .collect();
    let lanes: Vec<Lane> = downloads
        .iter()
        .map(|gets| lane(run, published, &comparison, gets))
        .collect();
    let limit = downloads[0][0].limits.line_goodput_bytes_per_s;
    let size = format::bytes(comparison.bytes);
    Some(Overview {
        facts: vec![
            ("Measured", measured(run, &sizes)),
            ("Compared with", compared(&lanes, limit, &size)),
            ("How certain", certainty(run, published, &comparison)),
        ],
        legend: legend(&lanes, &size, sizes.len()),
        picture: lanes::lanes(
            &lanes,
            (limit, &format!("line rate {}", format::rate(limit))),
            &format!("Goodput of downloads of {size}, logarithmic scale"),
        ),
        size,
        rows: downloads
            .iter()
            .map(|gets| row(run, published, &comparison, &sizes, gets))
            .collect(),
        sizes: sizes.into_iter().map(format::bytes).collect(),
    })
}

fn measured(run: &Run, sizes: &[u64]) -> String {
    let requests = run.http_gets().map(|get| get.params.requests);
    let (fewest, most) = requests.fold((u64::MAX, 0), |(fewest, most), requests| {
        (fewest.min(requests), most.max(requests))
    });
    let each = if fewest == most {
        format!("{most} of each size")
    } else {
        format!("{fewest} to {most} of each size")
    };
    let range = match sizes {
        [] => String::new(),
        [only] => format::bytes(*only),
        [first, .., last] => format!("{} to {}", format::bytes(*first), format::bytes(*last)),
    };
    let mut builds: Vec<&str> = run
        .http_gets()
        .map(|get| get.params.setting.variant.as_str())
        .collect();
    builds.sort_unstable();
    builds.dedup();
    let p = &run.provenance;
    format!(
        "HTTP downloads of {range} over TCP, {each}, from the first SYN to the last byte; {} of the firmware; board {}, \
         {} duplex.",
        format::counted(builds.len() as u64, "build"),
        p.board,
        p.duplex
    )
}

fn compared(lanes: &[Lane], limit: f64, size: &str) -> String {
    let published = if lanes.iter().any(|lane| lane.reference.is_some()) {
        "; and each stage with what was published for the hardware (○)"
    } else {
        ""
    };
    format!(
        "The stages with each other at one size, {size}; with the line rate, {} of payload in full segments{published}.",
        format::rate(limit)
    )
}

/// The guesses of the simulation, the spread of the requests, and the errors against the published figures.
fn certainty(run: &Run, published: &Published, comparison: &Comparison<'_>) -> String {
    let p = &run.provenance;
    let mut words = vec![match (p.guesses.len(), p.timing.len()) {
        (_, 0) => "Simulated.".to_owned(),
        (0, _) => "Simulated; no entry of the timing table is a guess.".to_owned(),
        (guesses, entries) => {
            format!("Simulated; {guesses} of {entries} entries of the timing table are guesses.")
        }
    }];
    let spread = comparison.gets.iter().map(|get| spread(get));
    let spread = spread.fold(0.0, f64::max);
    if spread > 0.0 {
        words.push(format!(
            "The requests of a row differ by up to {} of their median.",
            format::percent(spread)
        ));
    }
    let errors = run.http_gets().filter_map(|get| {
        let published = published.goodput_bytes_per_s(run, get)?;
        Some((get, get.metrics.goodput_bytes_per_s_p50 / published - 1.0))
    });
    let errors: Vec<(&HttpGet, f64)> = errors.collect();
    if let Some((farthest, error)) = errors.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())) {
        let met = errors
            .iter()
            .filter(|(_, error)| error.abs() <= MET)
            .count();
        words.push(format!(
            "Of {} goodputs published for the hardware {met} are met within {}; the farthest is {:+.0}% off ({}, {}).",
            errors.len(),
            format::percent(MET),
            error * 100.0,
            label(farthest),
            format::bytes(farthest.params.bytes)
        ));
    }
    words.join(" ")
}

/// Fastest to slowest request, as a share of the median.
fn spread(get: &HttpGet) -> f64 {
    let (low, high) = range(get);
    stats::ratio(high - low, get.metrics.goodput_bytes_per_s_p50)
}

fn range(get: &HttpGet) -> (f64, f64) {
    let all = get.metrics.goodput_bytes_per_s.iter();
    let p50 = get.metrics.goodput_bytes_per_s_p50;
    all.fold((p50, p50), |(low, high), rate| {
        (low.min(*rate), high.max(*rate))
    })
}

fn lane(run: &Run, published: &Published, comparison: &Comparison<'_>, gets: &[&HttpGet]) -> Lane {
    let name = label(gets[0]);
    let compared = comparison.of_run(name);
    let goodput = |get: &HttpGet| get.metrics.goodput_bytes_per_s_p50;
    let titled = |get: &HttpGet| {
        let title = format!(
            "{name}, median of {} × {}: {}",
            get.params.requests,
            format::bytes(get.params.bytes),
            format::rate(goodput(get))
        );
        (goodput(get), title)
    };
    let others = gets
        .iter()
        .filter(|get| get.params.bytes != comparison.bytes);
    let reference = compared.and_then(|get| {
        let rate = published.goodput_bytes_per_s(run, get)?;
        Some((rate, format!("{name}, published: {}", format::rate(rate))))
    });
    Lane {
        name: name.to_owned(),
        what: what(run, published, gets[0]),
        value: compared.map_or_else(
            || format!("not measured at {}", format::bytes(comparison.bytes)),
            |get| {
                format!(
                    "{}, {}",
                    format::rate(goodput(get)),
                    format::percent(get.share_of_line_rate())
                )
            },
        ),
        rate: compared.map(titled),
        range: compared.map(range),
        others: others.map(|get| titled(get)).collect(),
        reference,
    }
}

fn legend(lanes: &[Lane], size: &str, sizes: usize) -> Vec<Legend> {
    let entry = |class: &str, name: String| Legend {
        class: format!("dot {class}"),
        name,
    };
    let mut legend = vec![entry(
        "lane-rate",
        format!("median at {size}; the bar spans its requests"),
    )];
    if sizes > 1 {
        legend.push(entry("lane-other", "median at the other sizes".to_owned()));
    }
    if lanes.iter().any(|lane| lane.reference.is_some()) {
        legend.push(entry(
            "lane-reference",
            format!("published for the hardware, {size}"),
        ));
    }
    legend
}

fn row(
    run: &Run,
    published: &Published,
    comparison: &Comparison<'_>,
    sizes: &[u64],
    gets: &[&HttpGet],
) -> Row {
    let name = label(gets[0]);
    let of_size = |bytes: &u64| gets.iter().find(|get| get.params.bytes == *bytes);
    // Without the compared size, the nearest there is.
    let shown = comparison.of_run(name).unwrap_or(gets[gets.len() - 1]);
    let loss = shown.metrics.frame_loss_rate;
    let most_loss = gets.iter().map(|get| get.metrics.frame_loss_rate);
    let most_loss = most_loss.fold(loss, f64::max);
    let post_ns = shown.metrics.isr_post_processing_ns_p50;
    let ping = run.pings().find(|ping| is_of(ping, name));
    let ping = ping.and_then(|ping| ping.metrics.rtt_ns);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    Row {
        what: what(run, published, gets[0]),
        cells: sizes
            .iter()
            .map(|bytes| of_size(bytes).map(|get| cell(run, published, get)))
            .collect(),
        loss: format::percent(loss),
        most_loss: if most_loss > loss {
            format!("up to {}", format::percent(most_loss))
        } else {
            String::new()
        },
        post: or_dash((post_ns > 0).then(|| format::time(post_ns))),
        ping: or_dash(ping.map(|rtt| format::time(rtt.p50))),
        cause: shown
            .findings
            .first()
            .map_or_else(String::new, |finding| finding.cause.to_string()),
        name: name.to_owned(),
    }
}

fn is_of(ping: &Ping, run: &str) -> bool {
    ping.params.setting.name() == run
}

/// The firmware in a few words; for a run with another treatment of SACK than the others, that.
fn what(run: &Run, published: &Published, get: &HttpGet) -> String {
    let variant = get.params.setting.variant.as_str();
    if !is_comparable(run, get) {
        let does = if ignores_sack(run, get) {
            "ignores"
        } else {
            "uses"
        };
        return format!("{variant} with a peer that {does} SACK blocks");
    }
    let step = published.steps.iter().find(|step| step.variant == variant);
    let step = step.map(|step| step.what.clone());
    let stage = || published.stage(variant).map(|stage| stage.what.clone());
    step.or_else(stage).unwrap_or_default()
}

fn cell(run: &Run, published: &Published, get: &HttpGet) -> Cell {
    let goodput = get.metrics.goodput_bytes_per_s_p50;
    Cell {
        megabits: format::megabits(goodput),
        bytes: format::byte_rate(goodput),
        published: published
            .goodput_bytes_per_s(run, get)
            .map_or_else(String::new, |rate| {
                format!(
                    "○ {} ({})",
                    format::megabits(rate),
                    format::error(goodput, rate)
                )
            }),
    }
}

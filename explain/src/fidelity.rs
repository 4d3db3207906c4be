//! Published beside predicted: how far the simulated board can be trusted.
//!
//! A row that a choice made with a published figure in view touches proves nothing; the table names
//! these choices, and only the other rows are evidence.

use std::fmt::Write;

use crate::published::{Loss, Published, Source, Stage, is_comparable};
use linerate_results::format;
use linerate_results::record::{HttpGet, Run};
use linerate_results::stats;

/// One published figure beside what the run predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Variant of the firmware that reproduces it.
    pub variant: String,
    /// What it is.
    pub figure: String,
    /// Where it was published.
    pub source: Source,
    /// Published value.
    pub published: f64,
    /// Predicted value; `None` when the run did not measure it.
    pub predicted: Option<f64>,
    /// Unit of both.
    pub unit: Unit,
    /// Names of the choices that touch it, see [`Choice`](crate::published::Choice); empty for evidence.
    pub touched_by: Vec<String>,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes per second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// A share of one; its error is a difference.
    Share,
}

impl Unit {
    fn word(self, value: f64) -> String {
        match self {
            Self::BytesPerSecond => format::rate(value),
            Self::Nanoseconds => format::time(value as u64),
            Self::Share => format::percent(value),
        }
    }

    fn error(self, predicted: f64, published: f64) -> String {
        match self {
            Self::Share => format!("{:+.1} points", (predicted - published) * 100.0),
            _ => format::error(predicted, published),
        }
    }
}

/// Every published figure that the run can be held against, in the article's order.
pub fn rows(run: &Run, published: &Published) -> Vec<Row> {
    let mut rows = Vec::new();
    for stage in &published.stages {
        for variant in &stage.variants {
            rows.extend(of_variant(stage, variant, run));
        }
    }
    rows.extend(capture(run, published));
    for row in &mut rows {
        let touching = published.choices.iter();
        let touching = touching.filter(|choice| choice.touches(&row.variant, &row.figure));
        row.touched_by = touching.map(|choice| choice.name.clone()).collect();
    }
    rows
}

fn of_variant(stage: &Stage, variant: &str, run: &Run) -> Vec<Row> {
    let gets: Vec<&HttpGet> = run
        .http_gets()
        .filter(|get| get.params.setting.variant == variant && is_comparable(run, get))
        .collect();
    let mut rows: Vec<Row> = [
        post_processing(stage, variant, &gets),
        ping(stage, variant, run),
        first_request(stage, variant, &gets),
    ]
    .into_iter()
    .flatten()
    .collect();
    for goodput in &stage.goodput {
        let get = gets.iter().find(|get| get.params.bytes == goodput.bytes);
        rows.push(Row {
            variant: variant.to_owned(),
            figure: format!("goodput of {}, median", format::bytes(goodput.bytes)),
            source: Source::Console,
            published: goodput.p50_bytes_per_s(),
            predicted: get.map(|get| device_goodput(get)),
            unit: Unit::BytesPerSecond,
            touched_by: Vec::new(),
        });
    }
    for &Loss { bytes, rate: loss } in &stage.loss {
        let get = gets.iter().find(|get| get.params.bytes == bytes);
        rows.push(Row {
            variant: variant.to_owned(),
            figure: format!("frames lost at {}", format::bytes(bytes)),
            source: stage.loss_from,
            published: loss,
            predicted: get.map(|get| get.metrics.frame_loss_rate),
            unit: Unit::Share,
            touched_by: Vec::new(),
        });
    }
    rows
}

fn post_processing(stage: &Stage, variant: &str, gets: &[&HttpGet]) -> Option<Row> {
    let largest = gets.iter().max_by_key(|get| get.params.bytes);
    Some(Row {
        variant: variant.to_owned(),
        figure: "interrupt post-processing of a full frame, median".into(),
        source: Source::Article,
        published: stage.post_processing_ns? as f64,
        predicted: largest.map(|get| get.metrics.isr_post_processing_ns_p50 as f64),
        unit: Unit::Nanoseconds,
        touched_by: Vec::new(),
    })
}

fn ping(stage: &Stage, variant: &str, run: &Run) -> Option<Row> {
    let ping = run
        .pings()
        .find(|ping| ping.params.setting.variant == variant);
    Some(Row {
        variant: variant.to_owned(),
        figure: "ping, median".into(),
        source: Source::Console,
        published: stage.ping_ns? as f64,
        predicted: ping
            .and_then(|ping| ping.metrics.rtt_ns)
            .map(|rtt| rtt.p50 as f64),
        unit: Unit::Nanoseconds,
        touched_by: Vec::new(),
    })
}

fn first_request(stage: &Stage, variant: &str, gets: &[&HttpGet]) -> Option<Row> {
    let smallest = gets.iter().min_by_key(|get| get.params.bytes);
    let first = smallest.and_then(|get| get.samples.requests.first());
    Some(Row {
        variant: variant.to_owned(),
        figure: "duration of the first request".into(),
        source: Source::Console,
        published: stage.first_request_ns? as f64,
        predicted: first.map(|request| request.device_duration_ns as f64),
        unit: Unit::Nanoseconds,
        touched_by: Vec::new(),
    })
}

/// Median by the device's clock, as the console printed it.
fn device_goodput(get: &HttpGet) -> f64 {
    stats::percentile_f64(&get.metrics.device_goodput_bytes_per_s, 50.0).unwrap_or(0.0)
}

/// The rows that only the capture of the first stage has.
fn capture(run: &Run, published: &Published) -> Vec<Row> {
    let Some(variant) = published.stages.first().and_then(|it| it.variants.first()) else {
        return Vec::new();
    };
    let first: Vec<&HttpGet> = run
        .http_gets()
        .filter(|get| get.params.setting.variant == *variant && is_comparable(run, get))
        .collect();
    let row = |figure: String, value: f64, predicted: Option<f64>, unit: Unit| Row {
        variant: variant.clone(),
        figure,
        source: Source::Capture,
        published: value,
        predicted,
        unit,
        touched_by: Vec::new(),
    };
    let acknowledged: Vec<u64> = first
        .iter()
        .map(|get| get.metrics.segment_to_ack_ns_p50)
        .filter(|ns| *ns > 0)
        .collect();
    let mut rows = vec![row(
        "lone segment to its acknowledgment, median".into(),
        published.segment_to_ack_ns as f64,
        acknowledged.last().map(|ns| *ns as f64),
        Unit::Nanoseconds,
    )];

    let delays: Vec<u64> = first
        .iter()
        .flat_map(|get| get.samples.retransmission_delays_ns.iter().copied())
        .collect();
    let published_total: u64 = published
        .retransmission_delays
        .iter()
        .map(|range| range.count)
        .sum();
    for range in &published.retransmission_delays {
        let (from_ns, to_ns) = (range.from_ms * 1_000_000, range.to_ms * 1_000_000);
        let bin = from_ns..to_ns;
        let within = delays.iter().filter(|delay| bin.contains(delay)).count();
        // Repeats within a round trip are no timer's: the published bins leave them out as well.
        let timed = delays.iter().filter(|delay| **delay >= 12_000_000).count();
        rows.push(row(
            format!(
                "retransmissions after {} to {}, of all timed ones",
                format::time(from_ns),
                format::time(to_ns)
            ),
            stats::ratio(range.count as f64, published_total as f64),
            (timed > 0).then(|| stats::ratio(within as f64, timed as f64)),
            Unit::Share,
        ));
    }
    rows
}

/// docs/fidelity.md: `run` compared with the published figures.
pub fn markdown(run: &Run, published: &Published) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(run, published, &mut out);
    out
}

fn write(run: &Run, published: &Published, out: &mut String) -> std::fmt::Result {
    let p = &run.provenance;
    writeln!(out, "# Fidelity: published beside predicted\n")?;
    writeln!(
        out,
        "Made by `linerate fidelity` from a run's record; do not edit.\n"
    )?;
    writeln!(
        out,
        "The published figures are those of the bit-banged NIC (Niccle): the article's oscilloscope \
         pictures, its console logs (by the device's clock, which reads 1.8 to 1.9% long) and a packet \
         capture taken at the peer. The predicted ones are of board {}, {} duplex, timing table {}, \
         seed {}. The last column names the choices below that were made with a published figure in view \
         and touch the row. Only rows with nothing in it are evidence.\n",
        p.board, p.duplex, p.timing_table, p.seed,
    )?;
    if p.guesses.is_empty() {
        writeln!(out, "No entry of the timing table is a guess.\n")?;
    } else {
        writeln!(
            out,
            "Guesses in the timing table: {}.\n",
            p.guesses.join(", ")
        )?;
    }
    writeln!(
        out,
        "| stage | figure | source | published | predicted | error | touched by |"
    )?;
    writeln!(out, "|---|---|---|---:|---:|---:|---|")?;
    for row in rows(run, published) {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.variant,
            row.figure,
            match row.source {
                Source::Article => "article",
                Source::Console => "console",
                Source::Capture => "capture",
            },
            row.unit.word(row.published),
            row.predicted
                .map_or_else(|| "not measured".into(), |value| row.unit.word(value)),
            row.predicted
                .map_or_else(|| "–".into(), |value| row.unit.error(value, row.published)),
            row.touched_by.join(", "),
        )?;
    }
    if !published.choices.is_empty() {
        writeln!(out, "\n## Choices made with a published figure in view\n")?;
        writeln!(out, "| name | choice | what was known |\n|---|---|---|")?;
        for choice in &published.choices {
            let (name, what, known) = (&choice.name, &choice.what, &choice.known);
            writeln!(out, "| {name} | {what} | {known} |")?;
        }
    }
    out.push_str(&published.deviations);
    write_budget(run, published, out)
}

/// Time of a full segment, part by part: with the article's MAC, with ours, and the difference.
fn write_budget(run: &Run, published: &Published, out: &mut String) -> std::fmt::Result {
    let largest = |variant: &str| {
        run.http_gets()
            .filter(|get| get.params.setting.variant == variant)
            .max_by_key(|get| get.params.bytes)
    };
    let Some(ours) = largest(&published.own_mac) else {
        return Ok(());
    };
    let segment_ns =
        |get: &HttpGet| stats::ratio(1460.0 * 1e9, get.metrics.goodput_bytes_per_s_p50);
    writeln!(out, "\n## Where a segment's time goes in the last stage\n")?;
    writeln!(
        out,
        "A segment of 1460 bytes takes {} on the wire. With our MAC (windowed, {}) there is one every {}.",
        format::time(linerate_results::line::segment_ns(1460)),
        format::bytes(ours.params.bytes),
        format::time(segment_ns(ours) as u64),
    )?;
    if let Some(rate) = published
        .stage(&published.own_mac)
        .and_then(|stage| stage.goodput_bytes_per_s(ours.params.bytes))
    {
        writeln!(
            out,
            "The original had one every {} by its own clock.",
            format::time((1460.0 * 1e9 / rate) as u64),
        )?;
    }
    let article = largest(&published.article_mac);
    if let Some(article) = article {
        writeln!(
            out,
            "With the article's alignment, check and copy in place of ours (windowed-article), the \
             simulated board has one every {}: the rows below are where the difference comes from.",
            format::time(segment_ns(article) as u64),
        )?;
    }
    writeln!(
        out,
        "\n| part | windowed-article | windowed | difference, cycles at 160 MHz |\n|---|---:|---:|---:|"
    )?;
    let article_parts = article.map(|get| (get.metrics.time_share.parts(), segment_ns(get)));
    for (index, (name, share)) in ours.metrics.time_share.parts().into_iter().enumerate() {
        let ns = share * segment_ns(ours);
        let theirs = article_parts
            .as_ref()
            .and_then(|(parts, segment)| Some(parts.get(index)?.1 * segment));
        writeln!(
            out,
            "| {name} | {} | {} | {} |",
            theirs.map_or_else(|| "–".into(), |ns| format::time(ns as u64)),
            format::time(ns as u64),
            theirs.map_or_else(
                || "–".into(),
                |theirs| format!("{:+}", ((theirs - ns) * 0.16).round() as i64)
            ),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, published};
    use linerate_results::record::Measurement;

    #[test]
    fn every_published_figure_has_its_row() {
        let mut run = sample::run();
        let all = rows(&run, &published());
        assert!(all.iter().all(|row| row.predicted.is_some()
            || row.figure.contains("1 MB")
            || row.variant == "isr-ram"));
        let touched = |variant: &str, start: &str| {
            let of = |row: &&Row| row.variant == variant && row.figure.starts_with(start);
            let row = all.iter().find(of).expect("a row");
            row.touched_by.join(" ")
        };
        assert_eq!(touched("isr-all", "interrupt"), "miss code");
        assert_eq!(
            touched("isr-all", "goodput"),
            "no-sack window host turnaround"
        );
        assert_eq!(touched("isr-all", "ping"), "turnaround");
        // Evidence.
        assert_eq!(touched("main-thread", "interrupt"), "");
        assert_eq!(touched("windowed-article", "frames lost"), "");
        // Another program than the published one.
        assert_eq!(touched("windowed-article", "interrupt"), "queue");
        assert_eq!(touched("windowed", "frames lost"), "mac");
        run.results.clear();
        let nothing = rows(&run, &published());
        assert_eq!(nothing.len(), all.len());
        assert!(nothing.iter().all(|row| row.predicted.is_none()));
    }

    #[test]
    fn downloads_from_another_peer_are_not_compared() {
        let mut run = sample::run();
        let before = rows(&run, &published());
        for bytes in [10_000, 1_000_000] {
            let mut get = sample::get("isr-all", bytes);
            get.params.setting.conditions.disregards_sack_blocks = Some(true);
            get.metrics.segment_to_ack_ns_p50 = 1;
            run.results.push(Measurement::HttpGet(get));
        }
        assert_eq!(rows(&run, &published()), before);
    }

    #[test]
    fn page() {
        insta::assert_snapshot!(markdown(&sample::run(), &published()));
    }
}

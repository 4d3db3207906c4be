//! The report of a capture as a page and as pictures. One file, no network, like the report of a run.

use std::fmt::Write as _;

use serde::Serialize;

use super::html::render;
use super::page::FindingView;
use crate::svg::trace::{self, Picture};
use crate::traffic::Report;
use crate::traffic::table::{CONNECTION_HEAD, STREAM_HEAD, row, stream_row};
use linerate_capture::model::Limit;
use linerate_capture::traffic::{ConnectionReport, TracedConnection};
use linerate_results::format;

/// Connections in the table.
const MAX_ROWS: usize = 200;

#[derive(Serialize)]
struct Page {
    title: String,
    verdict: String,
    overview: Vec<String>,
    faults: Vec<String>,
    findings: Vec<Finding>,
    pictures: Vec<Drawn>,
    tables: Vec<Table>,
    version: &'static str,
}

#[derive(Serialize)]
struct Table {
    title: &'static str,
    about: &'static str,
    head: [&'static str; 10],
    rows: Vec<[String; 10]>,
    left: u64,
}

#[derive(Serialize)]
struct Finding {
    between: String,
    #[serde(flatten)]
    finding: FindingView,
}

#[derive(Serialize)]
struct Drawn {
    title: String,
    words: String,
    legend: Vec<(&'static str, &'static str)>,
    over_time: String,
    gaps: String,
}

/// The page, with pictures of the `most` costliest connections.
pub fn capture_html(report: &Report, most: usize) -> String {
    let template = include_str!("../templates/capture.html");
    render(("capture.html", template), page(report, most))
}

/// A file name and a drawing of each of the `most` costliest connections.
pub fn capture_pictures(report: &Report, most: usize) -> Vec<(String, String)> {
    let pictures = report.pictures.iter().take(most).enumerate();
    let files = pictures.map(|(rank, pictured)| {
        let connection = &report.connections[pictured.connection];
        let name = format!("{}-packet-{}.svg", rank + 1, connection.first_packet);
        let picture = picture(pictured, connection);
        (
            name,
            trace::file(&picture, &title(connection), &describe(connection)),
        )
    });
    files.collect()
}

fn page(report: &Report, most: usize) -> Page {
    let files: Vec<&str> = report.captures.iter().map(|it| it.file.as_str()).collect();
    let faults = report.captures.iter().filter_map(|capture| {
        let fault = capture.fault.as_ref()?;
        Some(format!("{}: {fault}", capture.file))
    });
    Page {
        title: files.join(", "),
        verdict: report.verdict(),
        overview: report
            .minor_lines()
            .into_iter()
            .chain(report.overview().lines().map(str::to_owned))
            .collect(),
        faults: faults.collect(),
        findings: findings(report),
        pictures: report
            .pictures
            .iter()
            .take(most)
            .map(|pictured| drawn(pictured, &report.connections[pictured.connection]))
            .collect(),
        tables: tables(report),
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn tables(report: &Report) -> Vec<Table> {
    let beyond = |rows: usize| rows.saturating_sub(MAX_ROWS) as u64;
    let connections = Table {
        title: "Connections",
        about: "By the number of their first packet. Lost: retransmitted segments, of all segments.",
        head: CONNECTION_HEAD,
        rows: report.connections.iter().take(MAX_ROWS).map(row).collect(),
        left: beyond(report.connections.len()) + report.other_connections.connections,
    };
    let streams = report.udp_streams.iter().take(MAX_ROWS);
    let streams = Table {
        title: "UDP streams",
        about: "Of iperf, from the sequence numbers of their datagrams.",
        head: STREAM_HEAD,
        rows: streams.map(stream_row).collect(),
        left: beyond(report.udp_streams.len()) + report.other_udp_streams,
    };
    let tables = [connections, streams].into_iter();
    tables.filter(|table| !table.rows.is_empty()).collect()
}

fn findings(report: &Report) -> Vec<Finding> {
    let findings = report.findings.iter().map(|found| Finding {
        between: found.between().unwrap_or_default(),
        finding: FindingView {
            confidence: format::confidence(found.finding.confidence),
            ..FindingView::of(&found.finding)
        },
    });
    findings.collect()
}

fn drawn(pictured: &TracedConnection, connection: &ConnectionReport) -> Drawn {
    let (title, words) = (title(connection), describe(connection));
    let picture = picture(pictured, connection);
    Drawn {
        over_time: trace::draw(&picture, &format!("{title} over time: {words}")),
        gaps: trace::gaps(
            pictured.trace.gaps(),
            &format!("{title}: time between segments"),
        ),
        legend: trace::legend(&picture),
        title,
        words,
    }
}

fn picture<'a>(pictured: &'a TracedConnection, connection: &'a ConnectionReport) -> Picture<'a> {
    Picture {
        trace: &pictured.trace,
        start_ns: connection.start_ns,
        duration_ns: connection.duration_ns,
        limits: &connection.limits,
        bytes_per_s: connection.goodput_bytes_per_s,
    }
}

fn title(connection: &ConnectionReport) -> String {
    format!("{} to {}", connection.sender, connection.receiver)
}

/// A sentence about the connection.
fn describe(connection: &ConnectionReport) -> String {
    let payload = &connection.payload;
    let lost = payload.retransmitted_segments - payload.spurious_retransmissions;
    let mut words = format!(
        "{} in {}, from packet {} on: {}; {} of {} segments lost",
        format::bytes(payload.unique_bytes),
        format::time(connection.duration_ns),
        connection.first_packet,
        format::rate(connection.goodput_bytes_per_s),
        format::count(lost),
        format::count(payload.segments),
    );
    if payload.time_outs > 0 {
        let share = connection
            .time_share
            .get(Limit::Timeout.name())
            .unwrap_or(&0.0);
        let _ = write!(
            words,
            ", {}, which took {} of the time",
            format::counted(payload.time_outs, "time-out"),
            format::percent(*share)
        );
    }
    words
}

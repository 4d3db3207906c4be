//! Transfers.

use super::{Axis, Chart, Curves, Line, Summary, Table, in_bits};
use crate::cause::transfer::describe_link;
use crate::cause::{TransferAnswer, explain_transfer, sweep};
use linerate_results::format;
use linerate_results::record::{Direction, Finding, Flow, Run, Throughput, Transport};
use linerate_results::stats;

/// One summary of all transfers.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let all: Vec<&Throughput> = run.throughputs().collect();
    if all.is_empty() {
        return Vec::new();
    }
    vec![Summary {
        title: "Throughput".to_owned(),
        verdict: verdict(&all),
        findings: findings(run, &all),
        variant: notes(&all),
        charts: chart(&all).into_iter().collect(),
        table: Table {
            head: vec![
                "protocol",
                "direction",
                "offered",
                "goodput",
                "payload",
                "time",
                "lost",
                "out of order",
                "duplicates",
                "jitter",
            ],
            rows: all.iter().flat_map(|result| rows(result)).collect(),
        },
    }]
}

/// The measured directions of a result.
fn directions(result: &Throughput) -> impl Iterator<Item = (&'static str, &Flow)> {
    let metrics = &result.metrics;
    let to = metrics.to_device.as_ref().map(|flow| ("to", flow));
    let from = metrics.from_device.as_ref().map(|flow| ("from", flow));
    to.into_iter().chain(from)
}

fn verdict(all: &[&Throughput]) -> String {
    let part = |result: &&Throughput| {
        let rates: Vec<String> = directions(result)
            .map(|(direction, flow)| {
                let loss = flow
                    .datagrams
                    .filter(|it| it.lost > 0)
                    .map_or_else(String::new, |datagrams| {
                        format!(" with {} lost", format::percent(datagrams.loss_ratio()))
                    });
                format!(
                    "{}{loss} {direction} the device{}",
                    format::rate(flow.goodput_bytes_per_s),
                    share_of_line(result, flow)
                )
            })
            .collect();
        let params = &result.params;
        let both = if rates.len() > 1 {
            " simultaneously"
        } else {
            ""
        };
        format!("{} {}{both}", params.transport.label(), rates.join(" and "))
    };
    let parts: Vec<String> = all.iter().map(part).collect();
    format!("{}.", parts.join("; "))
}

/// The share of the highest rate on this machine's line, if that is known.
fn share_of_line(result: &Throughput, flow: &Flow) -> String {
    let answers = explain_transfer(result);
    let line = answers.first().and_then(|it| it.line_bytes_per_s);
    line.map_or_else(String::new, |line| {
        let share = stats::ratio(flow.goodput_bytes_per_s, line);
        format!(", {} of the line", format::percent(share))
    })
}

/// Findings about this machine, and of several transfers together; then the limit of each direction.
fn findings(run: &Run, all: &[&Throughput]) -> Vec<Finding> {
    let mut findings = sweep::of_transfers(run);
    findings.extend(
        all.iter()
            .flat_map(|it| explain_transfer(it))
            .flat_map(|it| it.findings),
    );
    findings
}

/// The line, directions whose limit is unknown, a shared medium, and the captures: a sentence each.
fn notes(all: &[&Throughput]) -> String {
    let mut notes: Vec<String> = Vec::new();
    if let Some(result) = all.iter().find(|it| it.observation.link.is_some())
        && let Some(link) = &result.observation.link
    {
        let line = explain_transfer(result)
            .first()
            .and_then(|it| it.line_bytes_per_s);
        let most = line.map_or_else(String::new, |line| {
            format!(
                "; the highest rate of {} payload on it is {}",
                result.params.transport.label(),
                format::rate(line)
            )
        });
        notes.push(format!("Link: {}{most}.", describe_link(link)));
    }
    for result in all {
        for answer in explain_transfer(result) {
            notes.extend(unknown(result, &answer));
        }
    }
    for result in all {
        if let Some(capture) = &result.observation.capture {
            let picture = match capture.picture.as_str() {
                "" => String::new(),
                picture => format!(", picture: {picture}"),
            };
            notes.push(format!(
                "Capture of {} {}: {}{picture}.",
                result.params.transport.label(),
                result.params.direction.label(),
                capture.file
            ));
        }
    }
    notes.join("\n")
}

/// What would decide, if the limit of a direction is unknown.
fn unknown(result: &Throughput, answer: &TransferAnswer) -> Option<String> {
    if answer.unknown.is_empty() {
        return None;
    }
    let both = match result.params.direction {
        Direction::Both => " (both at once)",
        _ => "",
    };
    Some(format!(
        "The limit {}{both} is unknown: {}.",
        answer.direction.label(),
        answer.unknown
    ))
}

fn rows(result: &Throughput) -> Vec<Vec<String>> {
    let params = &result.params;
    let streams = match params.streams {
        0 | 1 => String::new(),
        streams => format!(" × {streams}"),
    };
    let none = || "–".to_owned();
    let cut = |flow: &Flow| if flow.is_cut { " (cut)" } else { "" };
    directions(result)
        .map(|(direction, flow)| {
            let mut row = vec![
                format!("{}{streams}", params.transport.label()),
                format!("{direction} the device"),
                if params.offered_bytes_per_s > 0.0 {
                    format::bit_rate(params.offered_bytes_per_s)
                } else {
                    "unlimited".to_owned()
                },
                format!("{}{}", format::rate(flow.goodput_bytes_per_s), cut(flow)),
                format::bytes(flow.octets),
                format::time(flow.span_ns),
            ];
            row.extend(match &flow.datagrams {
                None => [none(), none(), none(), none()],
                Some(it) => [
                    format!(
                        "{} of {} ({})",
                        format::count(it.lost),
                        format::count(it.sent),
                        format::percent(it.loss_ratio())
                    ),
                    it.out_of_order.map_or_else(none, format::count),
                    it.duplicates.map_or_else(none, format::count),
                    it.jitter_ns.map_or_else(none, format::time),
                ],
            });
            row
        })
        .collect()
}

/// Goodput over time.
fn chart(all: &[&Throughput]) -> Option<Chart> {
    let mut lines = Vec::new();
    for result in all {
        let both = match result.params.direction {
            Direction::Both => ", both directions",
            _ => "",
        };
        for (direction, flow) in directions(result) {
            // Data written to a TCP connection fills its buffers first: this is not the rate of the link.
            if direction == "to" && result.params.transport == Transport::Tcp {
                continue;
            }
            let mut began = 0;
            let mut points = Vec::new();
            for interval in &flow.intervals {
                let span = interval.end_ns.saturating_sub(began);
                if span > 0 {
                    let rate = interval.octets as f64 * 1e9 / span as f64;
                    points.push((interval.end_ns as f64 / 1e9, rate));
                }
                began = interval.end_ns;
            }
            let protocol = result.params.transport.label();
            lines.push(Line::of(
                format!("{protocol} {direction} the device{both}"),
                in_bits(points),
            ));
        }
    }
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    let curves = Curves {
        label: "Goodput over time".to_owned(),
        x: Axis::linear("seconds", |seconds| format!("{seconds:.1}")),
        y: Axis::goodput(),
        lines,
        ..Curves::default()
    };
    Some(Chart::of("Goodput over time", &curves))
}

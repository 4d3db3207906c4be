//! The gap between each transfer and line rate.

use serde::Serialize;

use super::Legend;
use crate::svg::{colour, stack};
use linerate_results::format;
use linerate_results::record::{GapCause, GapToLineRate, Run, Setting};

/// One transfer's gap.
#[derive(Serialize)]
pub(super) struct Gap {
    name: String,
    size: String,
    goodput: String,
    shortfall: String,
    chart: String,
    rows: Vec<GapRow>,
    sum: GapRow,
    is_balanced: bool,
}

#[derive(Serialize)]
struct GapRow {
    class: String,
    cause: String,
    time: String,
    per_segment: String,
    rate: String,
    share: String,
}

/// A transfer with a known gap.
struct TransferGap<'a> {
    setting: &'a Setting,
    kind: &'static str,
    bytes: u64,
    gap: &'a GapToLineRate,
}

/// The gaps of the largest transfers of each run, and the causes that occur in them with their colours.
pub(super) fn gaps(run: &Run) -> (Vec<Gap>, Vec<Legend>) {
    let gets = run.http_gets().filter_map(|get| {
        Some(TransferGap {
            setting: &get.params.setting,
            kind: "download",
            bytes: get.params.bytes,
            gap: get.metrics.gap_to_line_rate.as_ref()?,
        })
    });
    let puts = run.http_puts().filter_map(|put| {
        Some(TransferGap {
            setting: &put.params.setting,
            kind: "upload",
            bytes: put.params.bytes,
            gap: put.metrics.gap_to_line_rate.as_ref()?,
        })
    });
    let mut largest: Vec<TransferGap<'_>> = Vec::new();
    for transfer in gets.chain(puts) {
        let same = largest.iter_mut().find(|other| {
            other.kind == transfer.kind && other.setting.name() == transfer.setting.name()
        });
        match same {
            Some(other) if other.bytes < transfer.bytes => *other = transfer,
            Some(_) => {}
            None => largest.push(transfer),
        }
    }
    let occurs = |cause: &GapCause| largest.iter().any(|transfer| transfer.gap.of(*cause) > 0);
    let causes: Vec<GapCause> = GapCause::ALL.into_iter().filter(occurs).collect();
    let legend = causes.iter().map(|cause| Legend {
        class: colour(place(*cause)),
        name: cause.to_string(),
    });
    let gaps = largest.iter().map(gap);
    (gaps.collect(), legend.collect())
}

fn gap(transfer: &TransferGap<'_>) -> Gap {
    let TransferGap { gap, bytes, .. } = *transfer;
    let rate = |ns: u64| linerate_results::stats::ratio(bytes as f64 * 1e9, ns as f64);
    let (limit, goodput) = (rate(gap.line_ns), rate(gap.total_ns));
    let beyond_ns = gap.total_ns as i64 - gap.line_ns as i64;
    let segments = (bytes as f64 / 1460.0).max(1.0);
    let row = |class: String, cause: String, ns: i64| {
        let share = linerate_results::stats::ratio(ns as f64, beyond_ns as f64);
        let signed = |text: String| if ns < 0 { format!("−{text}") } else { text };
        GapRow {
            class,
            cause,
            time: signed(format::time(ns.unsigned_abs())),
            per_segment: signed(format::time((ns.unsigned_abs() as f64 / segments) as u64)),
            rate: signed(format::rate(((limit - goodput) * share).abs())),
            share: signed(format::percent(share.abs())),
        }
    };
    let rows: Vec<GapRow> = gap
        .parts
        .iter()
        .map(|part| row(colour(place(part.cause)), part.cause.to_string(), part.ns))
        .collect();
    let shown = gap.parts.iter().filter(|part| part.ns > 0);
    let shown: Vec<_> = shown.map(|part| (part, part.cause.to_string())).collect();
    let parts: Vec<stack::Part<'_>> = shown
        .iter()
        .map(|(part, name)| stack::Part {
            class: colour(place(part.cause)),
            name,
            size: part.ns as f64,
        })
        .collect();
    let whole = parts.iter().map(|part| part.size).sum();
    let label = format!(
        "{}, {} of {}: {} short of {}",
        transfer.setting.name(),
        transfer.kind,
        format::bytes(bytes),
        format::rate((limit - goodput).max(0.0)),
        format::rate(limit),
    );
    Gap {
        name: transfer.setting.name().to_owned(),
        size: format!("{} of {}", transfer.kind, format::bytes(bytes)),
        goodput: format::rate(goodput),
        shortfall: format::rate((limit - goodput).max(0.0)),
        chart: stack::stack(&parts, whole, &label),
        rows,
        sum: row(String::new(), "sum".into(), beyond_ns),
        is_balanced: gap.missing_ns() == 0,
    }
}

/// The place of a cause among the colours, the same in all pictures: each has one of its own.
const fn place(cause: GapCause) -> usize {
    match cause {
        GapCause::Retransmission => 0,
        GapCause::Device => 1,
        GapCause::InterPacketGaps => 2,
        GapCause::AckAirtime => 3,
        GapCause::Stack => 4,
        GapCause::Program => 5,
        GapCause::HeadersAndClock => 6,
        GapCause::Copies => 7,
        GapCause::HandshakeAndSlowStart => 8,
        GapCause::Driver => 9,
        GapCause::Checksums => 10,
        GapCause::Idle => 11,
        GapCause::OtherTraffic => 12,
        GapCause::Interrupt => 13,
        GapCause::Collisions => 14,
        GapCause::PeerTurnaround => 15,
    }
}

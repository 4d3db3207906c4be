//! The gap between each transfer and line rate.

use serde::Serialize;

use super::Legend;
use crate::report::names::name;
use crate::svg::stack;
use linerate_results::format;
use linerate_results::record::{GapCause, GapToLineRate, Run, Setting};

/// One transfer's gap.
#[derive(Serialize)]
pub(super) struct Gap {
    class: String,
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
    class: &'static str,
    cause: String,
    time: String,
    per_segment: String,
    rate: String,
    share: String,
}

/// A transfer with a known gap.
struct TransferGap<'a> {
    variant: &'a str,
    setting: &'a Setting,
    kind: &'static str,
    bytes: u64,
    gap: &'a GapToLineRate,
}

/// The gaps of the largest transfers of each run.
pub(super) fn gaps(run: &Run, class: &dyn Fn(&str) -> String) -> Vec<Gap> {
    let gets = run.http_gets().filter_map(|get| {
        Some(TransferGap {
            variant: &get.params.variant,
            setting: &get.params.setting,
            kind: "download",
            bytes: get.params.bytes,
            gap: get.metrics.gap_to_line_rate.as_ref()?,
        })
    });
    let puts = run.http_puts().filter_map(|put| {
        Some(TransferGap {
            variant: &put.params.variant,
            setting: &put.params.setting,
            kind: "upload",
            bytes: put.params.bytes,
            gap: put.metrics.gap_to_line_rate.as_ref()?,
        })
    });
    let mut largest: Vec<TransferGap<'_>> = Vec::new();
    for transfer in gets.chain(puts) {
        let same = largest.iter_mut().find(|other| {
            other.kind == transfer.kind
                && name(other.variant, other.setting) == name(transfer.variant, transfer.setting)
        });
        match same {
            Some(other) if other.bytes < transfer.bytes => *other = transfer,
            Some(_) => {}
            None => largest.push(transfer),
        }
    }
    largest
        .iter()
        .map(|transfer| gap(transfer, class))
        .collect()
}

fn gap(transfer: &TransferGap<'_>, class: &dyn Fn(&str) -> String) -> Gap {
    let TransferGap { gap, bytes, .. } = *transfer;
    let rate = |ns: u64| linerate_results::stats::ratio(bytes as f64 * 1e9, ns as f64);
    let (limit, goodput) = (rate(gap.line_ns), rate(gap.total_ns));
    let beyond_ns = gap.total_ns as i64 - gap.line_ns as i64;
    let segments = (bytes as f64 / 1460.0).max(1.0);
    let row = |class: &'static str, cause: String, ns: i64| {
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
        .map(|part| row(gap_class(part.cause), part.cause.to_string(), part.ns))
        .collect();
    let parts: Vec<(String, stack::Part<'_>)> = gap
        .parts
        .iter()
        .filter(|part| part.ns > 0)
        .map(|part| {
            let part_of = stack::Part {
                class: gap_class(part.cause).into(),
                name: "",
                size: part.ns as f64,
            };
            (part.cause.to_string(), part_of)
        })
        .collect();
    let parts: Vec<stack::Part<'_>> = parts
        .iter()
        .map(|(name, part)| stack::Part {
            class: part.class.clone(),
            name,
            size: part.size,
        })
        .collect();
    let whole = parts.iter().map(|part| part.size).sum();
    let label = format!(
        "{}, {} of {}: {} short of {}",
        name(transfer.variant, transfer.setting),
        transfer.kind,
        format::bytes(bytes),
        format::rate((limit - goodput).max(0.0)),
        format::rate(limit),
    );
    let colour = name(transfer.variant, transfer.setting);
    Gap {
        class: class(colour),
        name: colour.to_owned(),
        size: format!("{} of {}", transfer.kind, format::bytes(bytes)),
        goodput: exact(goodput),
        shortfall: exact(limit - goodput),
        chart: stack::stack(&parts, whole, &label),
        rows,
        sum: row("", "sum".into(), beyond_ns),
        is_balanced: gap.missing_ns() == 0,
    }
}

/// Bytes per second without rounding, so that the sum can be checked.
fn exact(rate: f64) -> String {
    format!("{} B/s", format::count(rate.max(0.0).round() as u64))
}

/// The causes that occur in `gaps`, for a legend.
pub(super) fn gap_legend(run: &Run) -> Vec<Legend> {
    let gets = run
        .http_gets()
        .filter_map(|get| get.metrics.gap_to_line_rate.as_ref());
    let puts = run
        .http_puts()
        .filter_map(|put| put.metrics.gap_to_line_rate.as_ref());
    let all: Vec<&GapToLineRate> = gets.chain(puts).collect();
    let occurs = |cause: &GapCause| all.iter().any(|gap| gap.of(*cause) > 0);
    GapCause::ALL
        .into_iter()
        .filter(occurs)
        .map(|cause| Legend {
            class: gap_class(cause).into(),
            name: cause.to_string(),
        })
        .collect()
}

const fn gap_class(cause: GapCause) -> &'static str {
    match cause {
        GapCause::HandshakeAndSlowStart => "g-start",
        GapCause::AckAirtime => "t-tx",
        GapCause::InterPacketGaps => "t-rx",
        GapCause::HeadersAndClock => "g-headers",
        GapCause::PeerTurnaround => "t-peer",
        GapCause::Device => "t-device",
        GapCause::Interrupt => "g-interrupt",
        GapCause::Copies => "g-copies",
        GapCause::Checksums => "g-checksums",
        GapCause::Stack => "g-stack",
        GapCause::Driver => "g-driver",
        GapCause::Program => "g-program",
        GapCause::Idle => "g-idle",
        GapCause::Retransmission => "t-timer",
        GapCause::Collisions => "t-repeat",
        GapCause::OtherTraffic => "l-wire",
    }
}

//! Sequence numbers over time: sent, acknowledged, advertised window.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{ALONG, Panel, Picture, part, path, steps};
use linerate_capture::tcp::{Mark, MarkKind, Trace};
use linerate_results::format;

const HEIGHT: f64 = 300.0;
/// Minimum height of a segment.
const MIN_HEIGHT: f64 = 2.5;
/// A window that extends beyond the sent data by more than 1/8 of it is cut off.
const BEYOND: u64 = 8;

/// The class and the name of each kind.
const fn style(kind: MarkKind) -> (&'static str, &'static str) {
    match kind {
        MarkKind::Rto => ("k-time-out", "retransmitted after a time-out"),
        MarkKind::TailLossProbe => ("k-probe", "tail loss probe"),
        MarkKind::Fast => ("k-fast", "fast retransmit"),
        MarkKind::Recovery => ("k-recovery", "retransmitted during recovery"),
        MarkKind::Spurious => ("k-spurious", "spurious retransmission"),
        MarkKind::OutOfOrder => ("k-overtaken", "out of order"),
        MarkKind::ZeroWindow => ("k-closed", "zero window"),
    }
}

/// The legend of the marks and curves of `trace`: class and name.
pub fn legend(trace: &Trace) -> Vec<(&'static str, &'static str)> {
    let kinds: BTreeSet<MarkKind> = trace.marks().iter().map(|mark| mark.kind).collect();
    let mut legend = vec![
        ("k-sent", "sent"),
        ("k-acked", "acknowledged"),
        ("k-window", "advertised window"),
    ];
    legend.extend(kinds.iter().map(|kind| style(*kind)));
    if kinds.contains(&MarkKind::Rto) {
        legend.push(("k-stall", "waiting for a time-out"));
    }
    legend
}

/// The periods without progress until a timer expired, over the full height of the picture.
pub(super) fn stalls(picture: &Picture<'_>) -> String {
    let marks = picture.trace.marks().iter();
    let mut data = String::new();
    for mark in marks.filter(|mark| mark.kind == MarkKind::Rto) {
        let (from, to) = (picture.x(mark.since_ns), picture.x(mark.at_ns));
        if to > from {
            let _ = write!(data, "M{from} 0H{to}V1000H{from}z");
        }
    }
    path("k-stall", "waiting for a time-out", &data)
}

/// The panel.
pub(super) fn panel(picture: &Picture<'_>) -> Panel {
    let columns = picture.trace.columns();
    let sent = columns.iter().filter_map(|column| column.new_range);
    let acked = columns.iter().map(|column| column.acked);
    let most = sent.map(|(_, high)| high).chain(acked).max().unwrap_or(0);
    let edges = columns
        .iter()
        .filter_map(|column| Some(column.acked + u64::from(column.window?)));
    let top = most
        .max(edges.max().unwrap_or(0).min(most + most / BEYOND))
        .max(1);
    let y = |place: u64| HEIGHT - part(place, top) * HEIGHT;

    let mut curves = String::new();
    let windows = columns.iter().filter_map(|column| {
        let edge = column.acked + u64::from(column.window?);
        // Above the top: drawn outside the picture.
        let height = if edge > top { -9.0 } else { y(edge) };
        Some((picture.column_x(column.index), height))
    });
    curves += &path("k-window", "end of the advertised window", &steps(windows));
    let acked = columns
        .iter()
        .filter(|column| column.window.is_some())
        .map(|column| (picture.column_x(column.index), y(column.acked)));
    curves += &path("k-acked", "acknowledged", &steps(acked));
    let mut data = String::new();
    for column in columns {
        if let Some((low, high)) = column.new_range {
            let (bottom, top) = (y(low), y(high).min(y(low) - MIN_HEIGHT));
            let _ = write!(
                data,
                "M{} {bottom:.1}V{top:.1}",
                picture.column_x(column.index)
            );
        }
    }
    curves += &path("k-sent", "sent", &data);
    for kind in MarkKind::ALL.into_iter().rev() {
        let of_kind = || {
            picture
                .trace
                .marks()
                .iter()
                .filter(move |mark| mark.kind == kind)
        };
        let data: String = of_kind().map(|mark| dot(picture, mark, y)).collect();
        let (class, name) = style(kind);
        let title = format!(
            "{name}: {} times",
            format::count(of_kind().map(|mark| mark.count).sum())
        );
        curves += &path(class, &title, &data);
        if kind == MarkKind::Spurious {
            curves += &path("k-hole", &title, &data);
        }
    }
    Panel {
        name: "relative sequence number",
        figures: String::new(),
        curves,
        height: HEIGHT,
        top,
        format_value: format::bytes,
    }
}

/// A mark as path data: a stroke of zero length, or a vertical one.
fn dot(picture: &Picture<'_>, mark: &Mark, y: impl Fn(u64) -> f64) -> String {
    let (x, y) = (
        picture.x(mark.at_ns).min(ALONG),
        y(mark.low.midpoint(mark.high)),
    );
    match mark.kind {
        MarkKind::OutOfOrder => format!("M{x} {:.1}v10", y - 5.0),
        _ => format!("M{x} {y:.1}h0"),
    }
}

//! The tables of connections and streams as text.

use std::fmt::Write as _;

use linerate_capture::traffic::{ConnectionReport, EndRole, UdpStreamReport};
use linerate_results::format;

/// Rows of a table before the rest is summed up.
const MAX_ROWS: usize = 40;
/// Columns of the table of connections.
pub(crate) const CONNECTION_HEAD: [&str; 10] = [
    "packet",
    "sender",
    "receiver",
    "payload",
    "time",
    "rate",
    "lost",
    "time-outs",
    "RTT",
    "main limit",
];
/// Columns of the table of UDP streams.
pub(crate) const STREAM_HEAD: [&str; 10] = [
    "packet",
    "sender",
    "receiver",
    "payload",
    "time",
    "rate",
    "lost",
    "reordered",
    "jitter",
    "tool",
];

/// A row for each of the first items, and the number of further ones.
pub(super) fn table<T>(
    text: &mut String,
    head: [&str; 10],
    items: &[T],
    row: impl Fn(&T) -> [String; 10],
    (others, what): (u64, &str),
) {
    if items.is_empty() {
        return;
    }
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(items.iter().take(MAX_ROWS).map(row));
    let mut widths = [0; 10];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    text.push('\n');
    for row in &rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Names are left-aligned, figures right-aligned.
            if matches!(at, 1 | 2 | 9) {
                let _ = write!(line, "{cell:<width$}  ");
            } else {
                let _ = write!(line, "{cell:>width$}  ");
            }
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let left = items.len().saturating_sub(MAX_ROWS) as u64 + others;
    if left > 0 {
        let left = format::count(left);
        let _ = writeln!(text, "and {left} more {what} (listed by --json)");
    }
}

/// The row of a UDP stream.
pub(crate) fn stream_row(stream: &UdpStreamReport) -> [String; 10] {
    [
        stream.first_packet.to_string(),
        stream.sender.clone(),
        stream.receiver.clone(),
        format::bytes(stream.payload_bytes),
        format::time(stream.duration_ns),
        format::rate(stream.bytes_per_s),
        format!("{}/{}", stream.lost_datagrams, stream.sent_datagrams),
        stream.out_of_order.to_string(),
        stream.jitter_ns.map_or_else(String::new, format::time),
        stream.tool.name().to_owned(),
    ]
}

/// The row of a connection.
pub(crate) fn row(connection: &ConnectionReport) -> [String; 10] {
    let payload = &connection.payload;
    let rtt = match connection.captured_near {
        // There, acknowledgments follow their data at once, whatever the path takes.
        Some(EndRole::Receiver) => connection.handshake_rtt_ns,
        _ => payload.rtt_ns.map(|rtt| rtt.p50),
    };
    let rtt = rtt.map_or_else(String::new, format::time);
    // Without payload there is no rate; without its acknowledgments it is unknown.
    let has_rate = payload.unique_bytes > 0 && connection.back.packets > 0;
    let rate = has_rate.then(|| format::rate(connection.goodput_bytes_per_s));
    let most = connection
        .time_share
        .iter()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or_else(String::new, |(limit, share)| {
            format!("{} {}", limit_label(limit), format::percent(*share))
        });
    let lost = payload.retransmitted_segments - payload.spurious_retransmissions;
    [
        connection.first_packet.to_string(),
        connection.sender.clone(),
        connection.receiver.clone(),
        format::bytes(payload.unique_bytes),
        format::time(connection.duration_ns),
        rate.unwrap_or_default(),
        format!("{lost}/{}", payload.segments),
        payload.time_outs.to_string(),
        rtt,
        most,
    ]
}

/// A limit in the table.
fn limit_label(limit: &str) -> String {
    match limit {
        // Of a capture that begins late, too.
        "handshake" => "before the first payload".to_owned(),
        "tail" => "after the last payload".to_owned(),
        limit => limit.replace('_', " "),
    }
}

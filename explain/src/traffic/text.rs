//! What is told of a capture, for people.

use std::fmt::Write as _;

use super::Report;
use linerate_capture::traffic::{ConnectionReport, DirectionReport, EndRole, UdpStreamReport};
use linerate_results::format;
use linerate_results::record::Cause;

/// Connections that are told one by one before the rest is summed up.
const MOST_ROWS: usize = 40;
/// What is told of each connection.
pub(crate) const HEAD: [&str; 10] = [
    "packet",
    "sender",
    "receiver",
    "payload",
    "time",
    "rate",
    "lost",
    "time-outs",
    "RTT",
    "most of the time",
];
/// What is told of each UDP stream.
pub(crate) const STREAM_HEAD: [&str; 10] = [
    "packet", "sender", "receiver", "payload", "time", "rate", "lost", "late", "jitter", "UDP of",
];

impl Report {
    /// Sentences and a table.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.verdict());
        for (rank, found) in self.findings.iter().enumerate() {
            let finding = &found.finding;
            let between = match (&found.sender, &found.receiver) {
                (Some(sender), Some(receiver)) => format!("{sender} to {receiver}: "),
                _ => String::new(),
            };
            let _ = writeln!(
                text,
                "\n{}. {between}{} ({} sure)",
                rank + 1,
                finding.cause,
                format::percent(finding.confidence)
            );
            let _ = writeln!(text, "   {}", finding.summary);
            let _ = writeln!(text, "   {}", finding.advice);
        }
        // Results may be explained without a capture.
        if self.captures.is_empty() {
            return text;
        }
        let _ = write!(text, "\n{}", self.seen());
        self.connection_table(&mut text);
        self.stream_table(&mut text);
        for capture in &self.captures {
            if let Some(fault) = &capture.fault {
                let _ = writeln!(text, "\n{}: {fault}", capture.file);
            }
        }
        text
    }

    /// What it all comes down to.
    pub fn verdict(&self) -> String {
        match self.findings.first() {
            Some(found) if found.finding.cause == Cause::AtLineRate => {
                let share = format::percent(found.share_of_time);
                format!("The path itself is the limit for {share} of the time.")
            }
            Some(found) if found.share_of_time > 0.0 => format!(
                "{} of the time went to one cause: {}.",
                format::percent(found.share_of_time),
                found.finding.cause
            ),
            Some(found) => format!("One thing stands out: {}.", found.finding.cause),
            None if self.captures.is_empty() => {
                "Nothing is wrong that these results show.".to_owned()
            }
            None if self.connections.is_empty() && self.udp_streams.is_empty() => {
                "There is no TCP connection and no UDP stream of iperf in it: nothing to explain."
                    .to_owned()
            }
            None => "Nothing is wrong that a capture shows.".to_owned(),
        }
    }

    /// How much there was of what.
    pub fn seen(&self) -> String {
        let packets = &self.packets;
        let kinds = [
            (packets.tcp, "TCP"),
            (packets.udp, "UDP"),
            (packets.other_ip, "other IP"),
            (packets.fragments, "fragments"),
            (packets.arp, "ARP"),
            (packets.pauses, "pause"),
            (packets.other, "other"),
        ];
        let kinds: Vec<String> = kinds
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{} {kind}", format::count(count)))
            .collect();
        let mut text = format!(
            "{} packets in {}: {}\n",
            format::count(packets.packets),
            format::time(self.duration_ns),
            kinds.join(", ")
        );
        if packets.unknown_links > 0 {
            let _ = writeln!(
                text,
                "{} packets came over links that linerate does not look into",
                format::count(packets.unknown_links)
            );
        }
        self.captured(&mut text);
        text
    }

    /// What the place of capture does to what is seen.
    fn captured(&self, text: &mut String) {
        let near = |near| {
            let connections = self.connections.iter();
            let near = connections.filter(|connection| connection.captured_near == Some(near));
            near.count()
        };
        let (sender, receiver) = (near(EndRole::Sender), near(EndRole::Receiver));
        let place = match (sender, receiver) {
            (0, 0) => None,
            (_, 0) => Some("the sender of the payload"),
            (0, _) => Some("the receiver of the payload: what its sender waited for is inferred"),
            _ => Some("the sender of some payload and the receiver of other"),
        };
        if let Some(place) = place {
            let _ = writeln!(text, "captured near {place}");
        }
        let sum = |of: fn(&DirectionReport) -> u64| -> u64 {
            let connections = self.connections.iter();
            connections.map(|connection| of(&connection.payload)).sum()
        };
        if self.packets.dropped > 0 {
            let _ = writeln!(
                text,
                "{} packets were dropped while capturing: some of what seems lost may be these",
                format::count(self.packets.dropped)
            );
        }
        let large = sum(|way| way.super_segments);
        if large > 0 {
            let _ = writeln!(
                text,
                "{} segments are larger than the receiver takes: an adapter cuts them up or has put them together \
                 (TSO, GRO), so frames and their gaps are not seen",
                format::count(large)
            );
        }
        let unseen = sum(|way| way.unseen_bytes);
        if unseen > 0 {
            let _ = writeln!(
                text,
                "{} of payload were acknowledged and not captured; they do not count as lost",
                format::bytes(unseen)
            );
        }
    }

    fn connection_table(&self, text: &mut String) {
        let left = self.other_connections.connections;
        table(text, HEAD, &self.connections, row, (left, "connections"));
    }

    fn stream_table(&self, text: &mut String) {
        let left = self.other_udp_streams;
        table(
            text,
            STREAM_HEAD,
            &self.udp_streams,
            stream_row,
            (left, "UDP streams"),
        );
    }
}

/// A row for each of the first, and how many there are besides.
fn table<T>(
    text: &mut String,
    head: [&str; 10],
    told: &[T],
    row: impl Fn(&T) -> [String; 10],
    (others, what): (u64, &str),
) {
    if told.is_empty() {
        return;
    }
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(told.iter().take(MOST_ROWS).map(row));
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
            // Names to the left, figures to the right.
            if matches!(at, 1 | 2 | 9) {
                let _ = write!(line, "{cell:<width$}  ");
            } else {
                let _ = write!(line, "{cell:>width$}  ");
            }
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let left = told.len().saturating_sub(MOST_ROWS) as u64 + others;
    if left > 0 {
        let left = format::count(left);
        let _ = writeln!(text, "and {left} {what} more (--json has them)");
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
    let rtt = payload
        .rtt_ns
        .map_or_else(String::new, |rtt| format::time(rtt.p50));
    let most = connection
        .time_share
        .iter()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or_else(String::new, |(limit, share)| {
            format!("{} {}", limit.replace('_', " "), format::percent(*share))
        });
    let lost = payload.retransmitted_segments - payload.spurious_retransmissions;
    [
        connection.first_packet.to_string(),
        connection.sender.clone(),
        connection.receiver.clone(),
        format::bytes(payload.unique_bytes),
        format::time(connection.duration_ns),
        format::rate(connection.goodput_bytes_per_s),
        format!("{lost}/{}", payload.segments),
        payload.time_outs.to_string(),
        rtt,
        most,
    ]
}

//! The report of a capture as text.

use std::fmt::Write as _;

use super::Report;
use super::table::{CONNECTION_HEAD, STREAM_HEAD, row, stream_row, table};
use crate::cause::MIN_SHARE;
use linerate_capture::model::Limit;
use linerate_capture::traffic::{ConnectionReport, DirectionReport, EndRole};
use linerate_results::format;
use linerate_results::record::Cause;

/// A wait for this share of the time is stated although no cause explains it, if a person notices it (ITU-T G.1010: 400 ms).
const MOST_OF_TIME: f64 = 0.5;
const NOTICED_NS: f64 = 4e8;

impl Report {
    /// Sentences and a table.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.verdict());
        for (rank, found) in self.findings.iter().enumerate() {
            let finding = &found.finding;
            let between = found
                .between()
                .map_or(String::new(), |it| format!("{it}: "));
            let instead = match found.alternative_to {
                Some(cause) => format!("instead of {cause}, "),
                None => String::new(),
            };
            let _ = writeln!(
                text,
                "\n{}. {between}{instead}{} (confidence {})",
                rank + 1,
                finding.cause,
                format::confidence(finding.confidence)
            );
            let _ = writeln!(text, "   {}", finding.summary);
            let _ = writeln!(text, "   {}", finding.advice);
        }
        // Results can be explained without a capture.
        if self.captures.is_empty() {
            return text;
        }
        for line in self.minor_lines() {
            let _ = write!(text, "\n{line}");
        }
        if !self.minor_findings.is_empty() {
            text.push('\n');
        }
        let _ = write!(text, "\n{}", self.overview());
        self.connection_table(&mut text);
        self.stream_table(&mut text);
        for capture in &self.captures {
            if let Some(fault) = &capture.fault {
                let _ = writeln!(text, "\n{}: {fault}", capture.file);
            }
        }
        text
    }

    /// What takes too little of the time to be the reason, a line each.
    pub(crate) fn minor_lines(&self) -> Vec<String> {
        let reasons = self.minor_findings.iter();
        let reasons = reasons.filter(|it| it.alternative_to.is_none());
        let lines = reasons.map(|found| {
            let between = found
                .between()
                .map_or(String::new(), |it| format!("{it}: "));
            format!(
                "Beside that, {} of the time: {between}{}. {}",
                format::percent(found.share_of_time),
                found.finding.cause,
                found.finding.summary
            )
        });
        lines.collect()
    }

    /// The main finding, in one sentence.
    pub fn verdict(&self) -> String {
        match self.findings.first() {
            Some(found) if found.finding.cause == Cause::AtLineRate => {
                let share = format::percent(found.share_of_time);
                format!("The path itself is the limit for {share} of the time.")
            }
            Some(found) if found.finding.confidence < format::LIKELY => format!(
                "No single cause is certain; one of several possible causes: {}.",
                found.finding.cause
            ),
            // A refusal takes no time: what passed before a reset was no wait for it.
            Some(found) if found.share_of_time > 0.0 && found.finding.cause != Cause::Refused => format!(
                "One cause accounts for {} of the time: {}.",
                format::percent(found.share_of_time),
                found.finding.cause
            ),
            Some(found) => format!("Main finding: {}.", found.finding.cause),
            None if self.captures.is_empty() => "These results show no problem.".to_owned(),
            None if self.connections.is_empty() && self.udp_streams.is_empty() => {
                self.reason_for_nothing()
            }
            None if self.is_mostly_one_sided() => {
                "The capture has only one direction of its connections: it cannot show why they are slow."
                    .to_owned()
            }
            None => match self.unnamed_wait() {
                Some(wait) => format!("No cause is named: {wait}."),
                None if self.minor_findings.is_empty() => "The capture shows no problem.".to_owned(),
                None => format!(
                    "The capture shows no problem that takes {:.0}% of the time.",
                    MIN_SHARE * 100.0
                ),
            },
        }
    }

    /// What the largest transfer waits for most of the time, without a cause that explains it.
    fn unnamed_wait(&self) -> Option<String> {
        let connections = self.connections.iter();
        let largest = connections.max_by_key(|it| it.payload.unique_bytes)?;
        let shares = largest.time_share.iter();
        let (limit, share) = shares.max_by(|a, b| a.1.total_cmp(b.1))?;
        let limit = Limit::ALL.into_iter().find(|it| it.name() == *limit)?;
        let wait = wait(limit, &largest.sender, &largest.receiver)?;
        let wait_ns = largest.duration_ns as f64 * share;
        // It has a name, and is a small part of what all connections take.
        let is_named = self.minor_findings.iter().any(|it| {
            it.connection_packet() == Some(largest.first_packet)
                && it.share_of_time * self.duration_ns as f64 >= MOST_OF_TIME * wait_ns
        });
        (wait_ns >= NOTICED_NS && *share >= MOST_OF_TIME && !is_named)
            .then(|| format!("for {} of the time {wait}", format::percent(*share)))
    }

    /// The reason why a capture has neither connections nor streams.
    fn reason_for_nothing(&self) -> String {
        let packets = &self.packets;
        if packets.packets == 0 {
            "The capture has no packets.".to_owned()
        } else if packets.unknown_links == packets.packets {
            "linerate does not decode the link type of this capture: capture Ethernet, or Linux cooked (-i any)."
                .to_owned()
        } else if packets.tcp > 0 {
            "The TCP packets of this capture are cut before the end of their headers: capture 128 octets of each or \
             more (tcpdump -s 128)."
                .to_owned()
        } else {
            "The capture has no TCP connection and no UDP stream of iperf: nothing to explain."
                .to_owned()
        }
    }

    /// True if half of the packets or more belong to connections of which only one direction was captured.
    fn is_mostly_one_sided(&self) -> bool {
        let packets = |it: &ConnectionReport| it.payload.packets + it.back.packets;
        let one_sided = self.connections.iter().filter(|it| is_one_sided(it));
        let one_sided: u64 = one_sided.map(packets).sum();
        one_sided > 0 && one_sided * 2 >= self.connections.iter().map(packets).sum()
    }

    /// Packet counts by kind, and the limits of the capture.
    pub fn overview(&self) -> String {
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
                "{} packets are from link types that linerate does not decode",
                format::count(packets.unknown_links)
            );
        }
        self.capture_notes(&mut text);
        text
    }

    /// Effects of the place of capture.
    fn capture_notes(&self, text: &mut String) {
        let near = |near| {
            let connections = self.connections.iter();
            let near = connections.filter(|connection| connection.captured_near == Some(near));
            near.count()
        };
        let (sender, receiver) = (near(EndRole::Sender), near(EndRole::Receiver));
        let place = match (sender, receiver) {
            (0, 0) => None,
            (_, 0) => Some("the sender of the payload"),
            (0, _) => {
                Some("the receiver of the payload: the reasons for the sender's waits are inferred")
            }
            _ => Some("the sender of some payload and the receiver of the rest"),
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
                "{} packets were dropped while capturing: some apparent losses may be such drops",
                format::count(self.packets.dropped)
            );
        }
        if self.packets.captured_again > 0 {
            let _ = writeln!(
                text,
                "captured at several points of their path (a router, bridge or mirror port): {}, which do not count",
                match self.packets.captured_again {
                    1 => "1 copy".to_owned(),
                    many => format!("{} copies", format::count(many)),
                }
            );
        }
        if self.packets.clock_steps > 0 {
            let _ = writeln!(
                text,
                "the clock was set back {} while capturing: the time lost there is unknown",
                format::times(self.packets.clock_steps)
            );
        }
        let one_sided = self.connections.iter().filter(|it| is_one_sided(it));
        let one_sided = one_sided.count() as u64;
        if one_sided > 0 {
            let _ = writeln!(
                text,
                "{} captured in one direction only: round trips, windows and losses are unknown, and no cause is \
                 stated",
                match one_sided {
                    1 => "1 connection was".to_owned(),
                    many => format!("{} connections were", format::count(many)),
                }
            );
        }
        let large = sum(|direction| direction.super_segments);
        if large > 0 {
            let _ = writeln!(
                text,
                "{} the MSS: an adapter splits or merges them (TSO, GRO), so frames and their gaps are not visible",
                match large {
                    1 => "1 segment exceeds".to_owned(),
                    many => format!("{} segments exceed", format::count(many)),
                }
            );
        }
        let packets = self
            .connections
            .iter()
            .filter_map(|it| it.explained_packets);
        if let Some(explained) = packets.max() {
            let _ = writeln!(
                text,
                "the causes and limits of longer connections are those of their first {} packets",
                format::count(explained)
            );
        }
        let unseen = sum(|direction| direction.unseen_bytes);
        if unseen > 0 {
            let _ = writeln!(
                text,
                "{} of payload were acknowledged but not captured; they do not count as lost",
                format::bytes(unseen)
            );
        }
    }

    fn connection_table(&self, text: &mut String) {
        let left = self.other_connections.connections;
        table(
            text,
            CONNECTION_HEAD,
            &self.connections,
            row,
            (left, "connections"),
        );
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

/// What a sender waits for; `None` where it need not be slow.
fn wait(limit: Limit, sender: &str, receiver: &str) -> Option<String> {
    Some(match limit {
        Limit::SenderIdle => format!("{sender} could send, and does not"),
        Limit::Timeout => format!("{sender} seems to wait for its retransmission timer"),
        Limit::FastRecovery => format!("{sender} repairs losses"),
        Limit::LateAck => format!("{sender} waits for late acknowledgments of {receiver}"),
        Limit::ReceiveWindow | Limit::ClosedWindow => {
            format!("{sender} waits for the window of {receiver}")
        }
        Limit::InFlight => format!("{sender} waits for acknowledgments of what is in flight"),
        Limit::Handshake | Limit::PathRate | Limit::SlowStart | Limit::Tail => return None,
    })
}

/// Fewer packets without an answer may be all that passed.
const MIN_ONE_SIDED: u64 = 3;

/// True if the packets of one end are not in the capture, although they must have come: the other end goes on.
fn is_one_sided(connection: &ConnectionReport) -> bool {
    let (payload, back) = (&connection.payload, &connection.back);
    let sent = match (payload.packets, back.packets) {
        (_, 0) => payload,
        (0, _) => back,
        _ => return false,
    };
    sent.packets >= MIN_ONE_SIDED
        && sent.resets == 0
        && sent.retransmitted_segments * 2 < sent.packets
}

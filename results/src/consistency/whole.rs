//! Findings beside each other and beside the figures of their connections.

use std::collections::BTreeMap;

use super::{Contradiction, Explanation, StatedConnection, StatedFinding};
use crate::record::Cause;

/// Rounding of sums of shares.
const ROUNDING: f64 = 1e-6;
/// The average of a busy time may exceed the fastest rate of a part of it by this much, and a connection has more time
/// than that of its payload.
const RATE_TOLERANCE: f64 = 0.03;
/// Windows change, and the round trip with them.
const WINDOW_TOLERANCE: f64 = 0.15;
/// MSS of Ethernet (RFC 6691).
const ETHERNET_MSS: f64 = 1_460.0;
/// Rounding of a rate on the wire: no line passes more than its rate.
const LINE_TOLERANCE: f64 = 0.001;
/// A path that is full for a share of the time passes this part of its rate times the share as payload at least; the rest
/// are retransmissions, and the wait of a short transfer for its last acknowledgment.
const MIN_FILLED: f64 = 0.5;
/// Bursts of which the second segment is lost this often are lost first at the second.
const MIN_SECOND_LOST: u64 = 3;
/// Advice that puts more in flight.
const MORE_IN_FLIGHT: [&str; 5] = [
    "nlarge the receive buffer",
    "nlarge the send buffer",
    "in flight hide the delay",
    "Send without waiting",
    "a receive buffer of the rate",
];

/// The contradictions between findings, and between findings and connections.
pub(super) fn check(explanation: &Explanation) -> Vec<Contradiction> {
    let mut found = Vec::new();
    for connection in &explanation.connections {
        let sum: f64 = connection.time_share.values().sum();
        if !connection.time_share.is_empty() && (sum - 1.0).abs() > ROUNDING {
            found.push(Contradiction {
                cause: None,
                text: format!("{}: the time by limit adds up to {sum}", connection.sender),
            });
        }
    }
    found.extend(sums(explanation));
    found.extend(openings(explanation));
    found.extend(pairs(explanation));
    for it in &explanation.findings {
        if let Some(connection) = explanation.connection_of(it) {
            let texts = rates(it, connection)
                .into_iter()
                .chain(harmful(it, connection));
            found.extend(texts.map(|text| Contradiction::of(it.finding.cause, text)));
        }
    }
    found
}

/// The shares of one connection's time add up to 1 at most. The limit of a healthy transfer is no part of the sum, and
/// neither are findings about other times than those of its payload, and alternatives.
fn sums(explanation: &Explanation) -> Vec<Contradiction> {
    let mut sums: BTreeMap<(&str, &str), (f64, Vec<String>, Cause)> = BTreeMap::new();
    for it in &explanation.findings {
        let (Some(sender), Some(receiver)) = (&it.sender, &it.receiver) else {
            continue;
        };
        let is_other_time = matches!(
            it.finding.cause,
            Cause::PathRate
                | Cause::AtLineRate
                | Cause::NameResolution
                | Cause::SlowHandshake
                | Cause::NoAnswer
                | Cause::Refused
        );
        if is_other_time || it.alternative_to.is_some() {
            continue;
        }
        let sum = sums
            .entry((sender, receiver))
            .or_insert((0.0, Vec::new(), it.finding.cause));
        sum.0 += it.share_of_time;
        sum.1
            .push(format!("{} {:.3}", it.finding.cause, it.share_of_time));
    }
    let above = sums.into_values().filter(|(sum, ..)| *sum > 1.0 + ROUNDING);
    above
        .map(|(sum, parts, cause)| {
            Contradiction::of(
                cause,
                format!("shares add up to {sum:.3}: {}", parts.join(", ")),
            )
        })
        .collect()
}

/// Shares of the time beside those of the opening are those of another time, and say of which.
fn openings(explanation: &Explanation) -> Vec<Contradiction> {
    let is_of = |it: &StatedFinding, other: &StatedFinding| {
        it.sender == other.sender && it.receiver == other.receiver
    };
    let mut found = Vec::new();
    for opening in &explanation.findings {
        if opening.finding.cause != Cause::SlowHandshake {
            continue;
        }
        for it in &explanation.findings {
            let sum = opening.share_of_time + it.share_of_time;
            let is_limit = matches!(it.finding.cause, Cause::PathRate | Cause::AtLineRate);
            let names_time = it.finding.evidence.contains_key("active_ns");
            if is_limit && is_of(it, opening) && sum > 1.0 + ROUNDING && !names_time {
                found.push(Contradiction::of(
                    it.finding.cause,
                    format!(
                        "{sum:.2} of the time with the opening: {}",
                        it.finding.summary
                    ),
                ));
            }
        }
    }
    found
}

/// Statements and advice about one connection that exclude each other.
const EXCLUSIVE: [(&str, &str); 9] = [
    (
        "never has more than one segment in flight",
        "paces its segments",
    ),
    (
        "grants less than a segment more at a time",
        "paces its segments",
    ),
    ("hardly ever has more than", "paces its segments"),
    ("nothing queues on the path", "in a queue"),
    ("nothing waits in a queue before", "ms in a queue before it"),
    ("nothing is lost", "segments were lost"),
    ("nlarge the receive buffer", "or the receiver's window"),
    ("nlarge the receive buffer", "advertise a smaller window"),
    ("nlarge the send buffer", "or the receiver's window"),
];

/// Findings about the same connection that state or advise the opposite.
fn pairs(explanation: &Explanation) -> Vec<Contradiction> {
    let packet = |it: &StatedFinding| it.finding.evidence.get("connection_packet").copied();
    let states = |it: &StatedFinding, words: &str| {
        it.finding.summary.contains(words) || it.finding.advice.contains(words)
    };
    let mut found = Vec::new();
    for one in &explanation.findings {
        for other in &explanation.findings {
            let is_same = packet(one).is_some()
                && packet(one) == packet(other)
                && one.sender == other.sender
                && one.finding.cause != other.finding.cause;
            if !is_same {
                continue;
            }
            let numbers = |texts: Option<String>| {
                texts.map(|text| Contradiction::of(one.finding.cause, text))
            };
            found.extend(numbers(counts(one, other)));
            let both = EXCLUSIVE
                .iter()
                .find(|(left, right)| states(one, left) && states(other, right));
            if let Some((left, right)) = both {
                found.push(Contradiction::of(
                    one.finding.cause,
                    format!("`{left}` beside `{right}` of {}", other.finding.cause),
                ));
            }
        }
    }
    found
}

/// Figures of two findings about one connection that exclude each other.
fn counts(one: &StatedFinding, other: &StatedFinding) -> Option<String> {
    let figure = |it: &StatedFinding, name: &str| it.finding.evidence.get(name).copied();
    if let (Some(copies), Some(lost), Some(all)) = (
        figure(one, "duplicates"),
        figure(other, "lost_segments"),
        figure(other, "segments"),
    ) && copies + lost > all
    {
        return Some(format!(
            "{copies} copies and {lost} losses of {all} segments"
        ));
    }
    let is_small = one.finding.cause == Cause::SmallMss;
    let window =
        figure(other, "most_window_bytes").filter(|bytes| is_small && *bytes < ETHERNET_MSS)?;
    Some(format!(
        "an MSS of {ETHERNET_MSS} is advised for a window of {window}"
    ))
}

/// Goodput <= fastest rate <= rate of the line, and a path that is full passes what it can.
fn rates(it: &StatedFinding, connection: &StatedConnection) -> Vec<String> {
    let figure = |name: &str| it.finding.evidence.get(name).copied();
    let mut texts = Vec::new();
    let goodput = connection.goodput_bytes_per_s;
    // Rules judge the time after the opening.
    let opening = connection
        .time_share
        .get("handshake")
        .copied()
        .unwrap_or(0.0);
    let after_opening = goodput / (1.0 - opening).max(f64::EPSILON);
    if let Some(allowed) = figure("window_limit_bytes_per_s")
        .filter(|allowed| after_opening > allowed * (1.0 + WINDOW_TOLERANCE))
    {
        texts.push(format!(
            "goodput {after_opening:.0} B/s through a window that allows {allowed:.0} B/s"
        ));
    }
    // The handshake's round trip is that of the whole path, unless the finding states that it was delayed.
    let handshake_ns = connection.handshake_rtt_ns.map(|ns| ns as f64);
    let is_named = it.finding.summary.contains("from the capture point")
        || figure("handshake_rtt_ns").is_some_and(|ns| Some(ns) == handshake_ns);
    if let Some((part_ns, whole_ns)) = figure("capture_rtt_ns")
        .or(figure("rtt_ns"))
        .zip(connection.handshake_rtt_ns)
        .filter(|(part_ns, whole_ns)| !is_named && part_ns * 2.0 < *whole_ns as f64)
    {
        texts.push(format!(
            "a round trip of {part_ns:.0} ns, and {whole_ns} ns of the handshake"
        ));
    }
    let is_limit = matches!(it.finding.cause, Cause::PathRate | Cause::AtLineRate);
    let has_direction = it.sender.as_ref().zip(it.receiver.as_ref());
    let is_same = has_direction.is_some_and(|(from, to)| connection.is_between(from, to));
    let Some(fastest) = figure("fastest_bytes_per_s").filter(|_| is_limit && is_same) else {
        return texts;
    };
    if goodput > fastest * (1.0 + RATE_TOLERANCE) {
        texts.push(format!(
            "goodput {goodput:.0} B/s above the fastest rate {fastest:.0} B/s"
        ));
    }
    let wire = figure("wire_bits_per_s").unwrap_or(0.0);
    if let Some(line) =
        figure("line_bits_per_s").filter(|line| wire > line * (1.0 + LINE_TOLERANCE))
    {
        texts.push(format!("{wire:.0} bit/s on a line of {line:.0} bit/s"));
    }
    let share = figure("path_busy_share").unwrap_or(0.0);
    let is_shared = figure("connections").is_some_and(|connections| connections > 1.0);
    if !is_shared && after_opening < fastest * share * MIN_FILLED {
        texts.push(format!(
            "the path is full for {share:.3} of the time with {fastest:.0} B/s, but the goodput is {after_opening:.0} B/s"
        ));
    }
    texts
}

/// No more in flight where a receiver has room for one segment.
fn harmful(it: &StatedFinding, connection: &StatedConnection) -> Option<String> {
    let second = connection.payload.bursts.get(1)?;
    let first = connection.payload.bursts.first()?;
    let is_second_lost = second.lost >= MIN_SECOND_LOST
        && second.lost * 2 >= second.sent
        && first.lost * 4 < first.sent;
    let advice = &it.finding.advice;
    let adds = MORE_IN_FLIGHT.iter().any(|words| advice.contains(words));
    (is_second_lost && adds).then(|| {
        format!(
            "{} of {} second segments of a burst are lost, and the advice is: {advice}",
            second.lost, second.sent
        )
    })
}

//! What the sender does: its program, its system, what it dares.

use super::share;
use super::signs::Signs;
use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Octets that a segment takes on the wire beside its payload: preamble, Ethernet, IPv4, TCP with timestamps, FCS, gap.
const OVERHEAD: f64 = 90.0;

pub(super) fn idle(path: &Path, signs: &Signs) -> Option<Weighed> {
    let part = share(path, Limit::SenderApplication);
    let otherwise = signs.paced_ns.is_some()
        || signs.one_in_flight
        || signs.small
        || signs.talks
        || signs.held_back
        || signs.reordered;
    (part >= 4.0 * WORTH_NAMING && !otherwise).then(|| Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::SenderIdle,
            confidence: 0.7,
            summary: format!(
                "For {} of the time {} may send and does not: its program has nothing ready.",
                format::percent(part),
                path.sender,
            ),
            evidence: evidence([("sender_share", part)]),
            advice: "Prepare the next piece while one is under way, and write larger ones. Between requests this \
                     is as it should be."
                .into(),
        },
    })
}

pub(super) fn congestion(path: &Path, signs: &Signs) -> Option<Weighed> {
    let part = share(path, Limit::CongestionWindow) + share(path, Limit::SlowStart);
    let otherwise =
        signs.one_in_flight || signs.talks || signs.queued || signs.lossy || signs.reordered;
    (part >= 4.0 * WORTH_NAMING && !otherwise).then(|| Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::CongestionWindow,
            confidence: 0.6,
            summary: format!(
                "For {} of the time {} dares no more than it has under way, though the receiver would take it.",
                format::percent(part),
                path.sender,
            ),
            evidence: evidence([
                ("congestion_window_share", share(path, Limit::CongestionWindow)),
                ("slow_start_share", share(path, Limit::SlowStart)),
            ]),
            advice: "With losses, mend those first; without, transfer more in one connection, so that it gets \
                     beyond slow start."
                .into(),
        },
    })
}

pub(super) fn paced(path: &Path, signs: &Signs) -> Option<Weighed> {
    let gap_ns = signs.paced_ns.filter(|_| !signs.one_in_flight)?;
    let part = share(path, Limit::SenderApplication) + share(path, Limit::PathRate);
    if part < WORTH_NAMING {
        return None;
    }
    let rate = stats::ratio(path.unique_bytes as f64 * 1e9, path.time_ns as f64);
    Some(Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::HostPacing,
            confidence: 0.8,
            summary: format!(
                "{} sends one or two segments every {}, never more, though everything before is acknowledged: it is \
                 held to {}.",
                path.sender,
                format::time(gap_ns),
                format::rate(rate),
            ),
            evidence: evidence([
                ("send_gap_ns_p50", gap_ns as f64),
                ("sender_share", share(path, Limit::SenderApplication)),
                ("rate_bytes_per_s", rate),
            ]),
            advice: "Look at the sending host first: a shaper (tc qdisc), a rate given to the program (iperf3 -b), \
                     SO_MAX_PACING_RATE."
                .into(),
        },
    })
}

pub(super) fn one_in_flight(path: &Path, signs: &Signs) -> Option<Weighed> {
    if !signs.one_in_flight {
        return None;
    }
    let waiting = [
        Limit::CongestionWindow,
        Limit::SlowStart,
        Limit::ReceiverProcessing,
        Limit::SenderApplication,
    ];
    let part: f64 = waiting.map(|limit| share(path, limit)).iter().sum();
    let rtt_ns = path.rtt_ns.unwrap_or(0);
    Some(Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::OneInFlight,
            confidence: 0.9,
            summary: format!(
                "{} never has more than one segment under way, though {} would take {}: each waits {} for the \
                 acknowledgment of the one before.",
                path.sender,
                path.receiver,
                format::bytes(path.max_window.into()),
                format::time(rtt_ns),
            ),
            evidence: evidence([
                ("most_in_flight_bytes", f64::from(path.max_in_flight)),
                ("most_window_bytes", f64::from(path.max_window)),
                ("rtt_ns_p50", rtt_ns as f64),
            ]),
            advice: "Send without waiting for the acknowledgment: a send buffer of several segments, more than one \
                     transmit descriptor, no write that returns only when its data is acknowledged."
                .into(),
        },
    })
}

pub(super) fn small_writes(path: &Path, signs: &Signs) -> Option<Weighed> {
    if !signs.small {
        return None;
    }
    let mean = stats::ratio(path.unique_bytes as f64, path.segments as f64);
    let efficiency = |payload: f64| payload / (payload + OVERHEAD);
    let gain = efficiency(f64::from(path.mss)) / efficiency(mean);
    let busy = 1.0 - share(path, Limit::Tail) - share(path, Limit::Handshake);
    Some(Weighed {
        weight: busy * (1.0 - 1.0 / gain),
        finding: Finding {
            cause: Cause::SmallWrites,
            confidence: 0.9,
            summary: format!(
                "{} sends {} in {} segments, {mean:.0} octets each where {} fit, one behind the other: headers and the \
                 work for each packet take the rest.",
                path.sender,
                format::bytes(path.unique_bytes),
                format::count(path.segments),
                path.mss,
            ),
            evidence: evidence([
                ("payload_bytes_mean", mean),
                ("segments", path.segments as f64),
                ("small_behind", path.small_while_unacked as f64),
            ]),
            advice: "Collect what is written into pieces of a segment and more (a buffered writer, one write for a \
                     message), or leave that to Nagle's algorithm: without TCP_NODELAY."
                .into(),
        },
    })
}

//! Causes at the sender: its application, its operating system, its congestion window.

use super::share;
use super::symptoms::PathSymptoms;
use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_capture::tcp::Limit;
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Octets of a segment on the wire in addition to its payload: preamble, Ethernet, IPv4, TCP with timestamps, FCS, gap.
const OVERHEAD: f64 = 90.0;

pub(super) fn sender_idle(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    let part = share(path, Limit::SenderApplication);
    let otherwise = symptoms.pacing_ns.is_some()
        || symptoms.one_in_flight
        || symptoms.small_segments
        || symptoms.request_response
        || symptoms.nagle_delayed_ack
        || symptoms.reordered;
    (part >= 4.0 * MIN_SHARE && !otherwise).then(|| ScoredFinding {
        weight: part,
        finding: Finding {
            cause: Cause::SenderIdle,
            confidence: 0.7,
            summary: format!(
                "For {} of the time {} could send but has no data ready.",
                format::percent(part),
                path.sender,
            ),
            evidence: evidence([("sender_share", part)]),
            advice: "Prepare the next block while one is in flight, and write larger blocks. Idle time between \
                     requests is normal."
                .into(),
        },
    })
}

pub(super) fn congestion_window(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    let part = share(path, Limit::CongestionWindow) + share(path, Limit::SlowStart);
    let otherwise = symptoms.one_in_flight
        || symptoms.request_response
        || symptoms.queued
        || symptoms.lossy
        || symptoms.reordered;
    (part >= 4.0 * MIN_SHARE && !otherwise).then(|| ScoredFinding {
        weight: part,
        finding: Finding {
            cause: Cause::CongestionWindow,
            confidence: 0.6,
            summary: format!(
                "For {} of the time the congestion window of {} limits the data in flight, although the receiver would \
                 accept more.",
                format::percent(part),
                path.sender,
            ),
            evidence: evidence([
                ("congestion_window_share", share(path, Limit::CongestionWindow)),
                ("slow_start_share", share(path, Limit::SlowStart)),
            ]),
            advice: "If there are losses, fix them first; otherwise transfer more per connection, so that it leaves \
                     slow start."
                .into(),
        },
    })
}

pub(super) fn host_pacing(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    let gap_ns = symptoms.pacing_ns.filter(|_| !symptoms.one_in_flight)?;
    let part = share(path, Limit::SenderApplication) + share(path, Limit::PathRate);
    if part < MIN_SHARE {
        return None;
    }
    let rate = stats::ratio(path.unique_bytes as f64 * 1e9, path.time_ns as f64);
    Some(ScoredFinding {
        weight: part,
        finding: Finding {
            cause: Cause::HostPacing,
            confidence: 0.8,
            summary: format!(
                "{} sends one or two segments every {}, never more, although all previous data is acknowledged: it is \
                 paced to {}.",
                path.sender,
                format::time(gap_ns),
                format::rate(rate),
            ),
            evidence: evidence([
                ("send_gap_ns_p50", gap_ns as f64),
                ("sender_share", share(path, Limit::SenderApplication)),
                ("rate_bytes_per_s", rate),
            ]),
            advice: "Check the sending host first: a shaper (tc qdisc), a rate limit of the program (iperf3 -b), \
                     SO_MAX_PACING_RATE."
                .into(),
        },
    })
}

pub(super) fn one_in_flight(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    if !symptoms.one_in_flight {
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
    Some(ScoredFinding {
        weight: part,
        finding: Finding {
            cause: Cause::OneInFlight,
            confidence: 0.9,
            summary: format!(
                "{} never has more than one segment in flight, although {} would accept {}: each waits {} for the \
                 acknowledgment of the previous one.",
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
                     transmit descriptor, no write call that blocks until its data is acknowledged."
                .into(),
        },
    })
}

pub(super) fn small_writes(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    if !symptoms.small_segments {
        return None;
    }
    let mean = stats::ratio(path.unique_bytes as f64, path.segments as f64);
    let efficiency = |payload: f64| payload / (payload + OVERHEAD);
    let gain = efficiency(f64::from(path.mss)) / efficiency(mean);
    let busy = 1.0 - share(path, Limit::Tail) - share(path, Limit::Handshake);
    Some(ScoredFinding {
        weight: busy * (1.0 - 1.0 / gain),
        finding: Finding {
            cause: Cause::SmallWrites,
            confidence: 0.9,
            summary: format!(
                "{} sends {} in {} segments back to back, {mean:.0} octets each where {} fit: headers and per-packet \
                 work take the rest.",
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
            advice: "Collect writes into blocks of at least one segment (a buffered writer, one write per message), or \
                     leave that to Nagle's algorithm by not setting TCP_NODELAY."
                .into(),
        },
    })
}

//! Defects of the capture, or of the link as a whole.

use std::collections::BTreeMap;

use crate::cause::packets;
use crate::cause::scored::{MIN_SHARE, PathFinding, evidence};
use linerate_capture::tcp::{End, Occurrences, Segment};
use linerate_capture::traffic::{Analysis, Flow};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Broadcasts per second that keep a small device busy.
const STORM_PER_S: f64 = 200.0;

/// Fewer octets are the rest of a connection that began before the capture, or, in one place, those of a packet or two that were dropped.
const MIN_UNSEEN: u64 = 2 * 1460;
/// Acknowledgments so close to each other show one gap.
const ONE_PLACE_PACKETS: u64 = 8;
/// What lacks a smaller share of the payload still shows the time: what is missing does not count as lost.
const MIN_UNSEEN_SHARE: f64 = 0.02;
/// From this share on, what the rest shows may be the capture's own.
const DOUBTFUL_SHARE: f64 = 0.05;
/// Packets of one direction that no handshake or reset accounts for.
const MIN_ONE_SIDED: u64 = 8;

/// Payload between two hosts that was acknowledged but is not in the capture.
#[derive(Default)]
struct Unseen {
    bytes: u64,
    captured_bytes: u64,
    at: Occurrences,
}

/// Payload that was acknowledged but is not in the capture, by sender and receiver.
pub(super) fn incomplete_captures(flows: &[Flow]) -> Vec<PathFinding> {
    let mut all: BTreeMap<(String, String), Unseen> = BTreeMap::new();
    for flow in flows {
        let sender = flow.connection.data_sender();
        let [from, to] = [sender, sender.other()].map(|end| flow.ends[end as usize].0.to_string());
        let stats = flow.connection.stats(sender);
        let unseen = all.entry((from, to)).or_default();
        unseen.bytes += stats.unseen_bytes;
        unseen.captured_bytes += stats.unique_bytes;
        unseen.at = unseen.at.merged(stats.unseen_at);
    }
    let found = all
        .into_iter()
        .filter_map(|(ends, unseen)| incomplete_capture(ends, &unseen));
    found.chain(one_sided_capture(flows)).collect()
}

/// The findings with those about the capture itself first, if it lacks so much that the others are in doubt; else last, if anything else
/// is wrong.
pub(in crate::cause) fn place_incomplete(found: Vec<PathFinding>) -> Vec<PathFinding> {
    let is_of_capture = |it: &PathFinding| it.finding.cause == Cause::CaptureIncomplete;
    let (mut of_capture, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_of_capture);
    let is_healthy =
        |it: &PathFinding| matches!(it.finding.cause, Cause::PathRate | Cause::AtLineRate);
    let casts_doubt = |it: &PathFinding| {
        let share = it.finding.evidence.get("unseen_share").copied();
        share.is_none_or(|it| it >= DOUBTFUL_SHARE)
    };
    // There is nothing that what it lacks could have faked.
    if others.iter().all(is_healthy) {
        of_capture.retain(casts_doubt);
    }
    if of_capture.iter().any(casts_doubt) {
        of_capture.into_iter().chain(others).collect()
    } else {
        others.into_iter().chain(of_capture).collect()
    }
}

/// The only end of a connection whose packets were captured, if they show that the other end sends, too: most of them are new data, which
/// without an answer would only be repeated, or acknowledge what is not in the capture.
fn only_end(flow: &Flow) -> Option<End> {
    let connection = &flow.connection;
    let ends = [End::First, End::Second];
    let end = ends
        .into_iter()
        .find(|end| connection.stats(end.other()).packets == 0)?;
    let stats = connection.stats(end);
    let sends_on =
        stats.segments >= MIN_ONE_SIDED && stats.retransmitted_segments * 2 < stats.segments;
    let log = connection.log().packets();
    let mut acks = log
        .iter()
        .filter(|it| !it.has_any(Segment::SYN | Segment::RST));
    let acked = acks.clone().next().zip(acks.next_back());
    let acknowledges = acked.is_some_and(|(first, last)| {
        let octets = last.ack.wrapping_sub(first.ack);
        (MIN_UNSEEN..u64::from(u32::MAX / 2)).contains(&octets.into())
    });
    (stats.packets >= MIN_ONE_SIDED && (sends_on || acknowledges)).then_some(end)
}

/// Connections whose other direction is not in the capture, if most packets are of such connections.
fn one_sided_capture(flows: &[Flow]) -> Option<PathFinding> {
    let packets = |flow: &Flow, end: End| flow.connection.stats(end).packets;
    let all: u64 = flows
        .iter()
        .map(|flow| packets(flow, End::First) + packets(flow, End::Second))
        .sum();
    let one_sided: Vec<(&Flow, End)> = flows
        .iter()
        .filter_map(|flow| Some((flow, only_end(flow)?)))
        .collect();
    let seen: u64 = one_sided
        .iter()
        .map(|(flow, end)| packets(flow, *end))
        .sum();
    let (largest, sender) = one_sided
        .into_iter()
        .max_by_key(|(flow, end)| packets(flow, *end))?;
    let [from, to] = [sender, sender.other()].map(|end| largest.ends[end as usize].0.to_string());
    (seen * 2 >= all).then(|| PathFinding {
        alternative_to: None,
        finding: Finding {
            cause: Cause::CaptureIncomplete,
            confidence: 1.0,
            summary: format!(
                "No packet from {to} to {from} is in the capture: round trips, windows, and what was lost or acknowledged are \
                 unknown."
            ),
            evidence: evidence([("one_sided_packets", seen as f64)]),
            advice: "Capture at one of the two ends, or mirror both directions of the port.".into(),
        },
        sender: Some(from),
        receiver: Some(to),
        share_of_time: 0.0,
    })
}

fn incomplete_capture((from, to): (String, String), unseen: &Unseen) -> Option<PathFinding> {
    let all_bytes = unseen.bytes + unseen.captured_bytes;
    let share = stats::ratio(unseen.bytes as f64, all_bytes as f64);
    // Without any payload, nothing else is reported either.
    let is_one_gap = unseen.captured_bytes == 0
        || unseen.at.first > 0 && unseen.at.last - unseen.at.first <= ONE_PLACE_PACKETS;
    let is_rest = is_one_gap && unseen.bytes < MIN_UNSEEN;
    (share >= MIN_UNSEEN_SHARE && !is_rest).then(|| {
        let mut finding = PathFinding {
            alternative_to: None,
            sender: Some(from),
            receiver: Some(to),
            share_of_time: 0.0,
            finding: Finding {
                cause: Cause::CaptureIncomplete,
                confidence: 1.0,
                summary: format!(
                    "{} of payload ({}) were acknowledged but are not in the capture: the capture is incomplete, and \
                     losses reported here may be its own.",
                    format::bytes(unseen.bytes),
                    format::percent(share),
                ),
                evidence: evidence([
                    ("unseen_bytes", unseen.bytes as f64),
                    ("unseen_share", share),
                ]),
                advice: "Capture only headers (tcpdump -s 128) with a larger buffer (-B 65536), or on another machine."
                    .into(),
            },
        };
        packets::insert(&mut finding, unseen.at);
        finding
    })
}

pub(super) fn broadcast_storm(analysis: &Analysis) -> Option<PathFinding> {
    let counts = &analysis.counts;
    let per_s = stats::ratio(counts.broadcasts as f64, analysis.duration_ns as f64 / 1e9);
    let found = (per_s >= STORM_PER_S && counts.broadcasts > 1000).then(|| PathFinding {
        alternative_to: None,
        sender: None,
        receiver: None,
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::BroadcastStorm,
            confidence: 0.8,
            summary: format!(
                "{} broadcasts per second ({} of {} packets): every station must receive each of them.",
                format::count(per_s.round() as u64),
                format::count(counts.broadcasts),
                format::count(counts.packets),
            ),
            evidence: evidence([
                ("broadcasts", counts.broadcasts as f64),
                ("packets", counts.packets as f64),
                ("broadcasts_per_s", per_s),
                ("arp_packets", counts.arp as f64),
            ]),
            advice: "Find the sender (--json lists the stations); filter addresses before the receive \
                     queue."
                .into(),
        },
    });
    with_packets(found, analysis.broadcasts)
}

/// Adds the packets in which a finding can be seen.
fn with_packets(found: Option<PathFinding>, at: Occurrences) -> Option<PathFinding> {
    found.map(|mut finding| {
        packets::insert(&mut finding, at);
        finding
    })
}

/// Pauses below 5% of the time are normal flow control.
pub(super) fn pause_frames(analysis: &Analysis) -> Option<PathFinding> {
    let counts = &analysis.counts;
    let share = stats::ratio(counts.paused_ns as f64, analysis.duration_ns as f64);
    let found = (share >= MIN_SHARE).then(|| PathFinding {
        alternative_to: None,
        sender: None,
        receiver: None,
        share_of_time: share,
        finding: Finding {
            cause: Cause::Paused,
            confidence: 0.7,
            summary: format!(
                "{} pause frames stop the station at the other end of the cable for {} of the time, assuming a \
                 100 Mbit/s link.",
                format::count(counts.pauses),
                format::percent(share),
            ),
            evidence: evidence([
                ("pause_frames", counts.pauses as f64),
                ("paused_ns", counts.paused_ns as f64),
            ]),
            advice: "Find out why the receive queue of the station that sends them fills. Most adapters do not pass \
                     such frames on, so there may be more (ethtool -S)."
                .into(),
        },
    });
    with_packets(found, analysis.pauses)
}

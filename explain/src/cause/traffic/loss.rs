//! Loss: its pattern and its cost.

use std::collections::BTreeMap;

use super::symptoms::PathSymptoms;
use super::{MIN_LOSSES, share};
use crate::cause::scored::{MIN_SHARE, ScoredFinding, evidence};
use linerate_capture::tcp::{BURST_POSITIONS, FLIGHT_BINS, Limit, poisson_at_most};
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// The loss rate rises at least by this factor when the data in flight exceeds a queue.
const LOSS_RATE_FACTOR: f64 = 8.0;
/// A smaller queue is reported as loss inside bursts.
const MIN_QUEUE_SEGMENTS: usize = 3;
/// Significance level: less probable patterns are not chance.
const SIGNIFICANCE: f64 = 0.001;
/// From this share of the cost of losses on, time-outs dominate it.
const MIN_STALL_SHARE: f64 = 0.8;

pub(super) fn losses(path: &Path, symptoms: &PathSymptoms) -> Option<ScoredFinding> {
    let stalls = share(path, Limit::RtoStall);
    let recovery = share(path, Limit::LossInBursts) + share(path, Limit::RandomLoss);
    let cost = stalls + recovery;
    if symptoms.reordered || path.lost() < MIN_LOSSES || cost < MIN_SHARE / 5.0 {
        return None;
    }
    let spacing = &path.spacing;
    let (alone, close) = (spacing.isolated.rate(), spacing.back_to_back.rate());
    let in_bursts = spacing.loses_in_bursts() && spacing.chance_probability() < SIGNIFICANCE;
    let figures = evidence([
        ("lost_segments", path.lost() as f64),
        ("segments", path.segments as f64),
        ("time_outs", path.time_outs as f64),
        ("time_out_share", stalls),
        ("loss_rate_alone", alone),
        ("loss_rate_behind_others", close),
        ("longest_stall_ns", path.longest_stall_ns as f64),
        ("lost_before_capture", path.lost_before_capture as f64),
        ("first_packet", path.first_retransmit as f64),
        ("last_packet", path.last_retransmit as f64),
    ]);
    let waits = format!(
        "The sender spends {} of the time on loss recovery, {} of it waiting for its retransmission timer \
         ({} time-outs, longest stall {}).",
        format::percent(cost),
        format::percent(stats::ratio(stalls, cost)),
        format::count(path.time_outs),
        format::time(path.longest_stall_ns),
    );
    let finding = if let Some(capacity) = queue_capacity(path) {
        queue_overflow(path, capacity, &waits, figures)
    } else if in_bursts {
        let fits = (1..BURST_POSITIONS)
            .find(|at| {
                stats::ratio(
                    path.lost_by_position[*at] as f64,
                    path.sent_by_position[*at] as f64,
                ) >= 0.5
            })
            .unwrap_or(1);
        Finding {
            cause: Cause::LossInBursts,
            confidence: if spacing.excess_ratio() >= 2.0 {
                0.95
            } else {
                0.8
            },
            summary: format!(
                "{} loses segments that arrive back to back: {} of the segments right after other packets, but only \
                 {} of isolated ones. {waits}",
                path.receiver,
                format::percent(close),
                format::percent(alone),
            ),
            evidence: figures,
            advice: format!(
                "Make the receiver accept a frame while it processes the previous one: more receive buffers and a \
                 shorter receive interrupt. Until then, advertise a window no larger than its queue: here {} of {} B.",
                if fits == 1 {
                    "1 segment".to_owned()
                } else {
                    format!("{fits} segments")
                },
                format::count(u64::from(path.segment_bytes)),
            ),
        }
    } else if stalls >= MIN_STALL_SHARE * cost {
        retransmission_stalls(path, stalls, &waits, figures)
    } else {
        Finding {
            cause: Cause::RandomLoss,
            confidence: 0.7,
            summary: format!(
                "{} of {} segments were lost, regardless of their position in a burst. {waits}",
                format::count(path.lost()),
                format::count(path.segments),
            ),
            evidence: figures,
            advice: "Check the error counters of both adapters (ethtool -S), the cable and the duplex setting; at a \
                     bottleneck, check its queue."
                .into(),
        }
    };
    // Each loss shrinks the congestion window.
    let congestion = match finding.cause {
        Cause::LossInBursts => 0.0,
        _ => share(path, Limit::CongestionWindow),
    };
    Some(ScoredFinding {
        weight: cost + congestion,
        finding,
    })
}

/// Capacity in segments of a queue before the receiver, if more segments in flight are lost and fewer are not.
fn queue_capacity(path: &Path) -> Option<usize> {
    let (sent, lost) = (&path.sent_by_flight, &path.lost_by_flight);
    let sum = |of: &[u64]| of.iter().sum::<u64>();
    let all_lost = sum(lost);
    let fits = |at: &usize| {
        let (below, beyond) = (sum(&lost[..*at]), sum(&lost[*at..]));
        let expected = all_lost as f64 * stats::ratio(sum(&sent[..*at]) as f64, sum(sent) as f64);
        let rate = |lost: u64, of: &[u64]| stats::ratio(lost as f64, sum(of) as f64);
        beyond >= MIN_LOSSES
            && rate(beyond, &sent[*at..]) >= LOSS_RATE_FACTOR * rate(below, &sent[..*at])
            && poisson_at_most(below, expected) < SIGNIFICANCE
    };
    (MIN_QUEUE_SEGMENTS..FLIGHT_BINS).rev().find(fits)
}

fn queue_overflow(
    path: &Path,
    capacity: usize,
    waits: &str,
    figures: BTreeMap<String, f64>,
) -> Finding {
    let mut figures = figures;
    figures.insert("room_segments".to_owned(), capacity as f64);
    Finding {
        cause: Cause::QueueOverflow,
        confidence: 0.8,
        summary: format!(
            "With {capacity} or more segments in flight, {} of {} are lost; with fewer, almost none: a queue before {} \
             is full, but its window of {} lets {} send them. {waits}",
            format::count(path.lost_by_flight[capacity..].iter().sum()),
            format::count(path.sent_by_flight[capacity..].iter().sum()),
            path.receiver,
            format::bytes(path.max_window.into()),
            path.sender,
        ),
        evidence: figures,
        advice: format!(
            "Advertise a window no larger than the receive queue ({} here), or enlarge the queue (descriptors, \
             buffers) to the size of the window.",
            format::bytes(capacity as u64 * u64::from(path.segment_bytes)),
        ),
    }
}

fn retransmission_stalls(
    path: &Path,
    stalls: f64,
    waits: &str,
    figures: BTreeMap<String, f64>,
) -> Finding {
    Finding {
        cause: Cause::RetransmissionStalls,
        confidence: 0.9,
        summary: format!(
            "{} of {} segments were lost, and only the retransmission timer of {} recovers them: too little is in \
             flight for fast retransmit, or {} does not request it. {waits}",
            format::count(path.lost()),
            format::count(path.segments),
            path.sender,
            path.receiver,
        ),
        evidence: figures,
        advice: format!(
            "Keep at least four segments in flight (window, message size), enable selective acknowledgments at both \
             ends, and find the loss itself: a stall takes {} here.",
            format::time((stalls * path.time_ns as f64 / path.time_outs.max(1) as f64) as u64),
        ),
    }
}

//! Loss, its kinds, and what it costs.

use std::collections::BTreeMap;

use super::signs::Signs;
use super::{FEWEST_LOSSES, share};
use crate::cause::scored::{WORTH_NAMING, Weighed, evidence};
use linerate_capture::tcp::{BURST_POSITIONS, FLIGHT_BINS, Limit, poisson_at_most};
use linerate_capture::traffic::Path;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Losses are this much more frequent where more is under way than fits a queue.
const MUCH_MORE: f64 = 8.0;
/// A queue for fewer segments is none: bursts are lost in it.
const LEAST_ROOM: usize = 3;
/// What is less probable than this is no chance.
const CHANCE: f64 = 0.001;
/// From this part of the time that losses cost on, it is the timer that makes them expensive.
const STALLS_MATTER: f64 = 0.8;

pub(super) fn loss(path: &Path, signs: &Signs) -> Option<Weighed> {
    let stalls = share(path, Limit::RtoStall);
    let mending = share(path, Limit::LossInBursts) + share(path, Limit::RandomLoss);
    let cost = stalls + mending;
    if signs.reordered || path.lost() < FEWEST_LOSSES || cost < WORTH_NAMING / 5.0 {
        return None;
    }
    let spacing = &path.spacing;
    let (alone, close) = (spacing.isolated.rate(), spacing.back_to_back.rate());
    let in_bursts = spacing.loses_in_bursts() && spacing.chance_probability() < CHANCE;
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
        "For {} of the time the sender mends losses, {} of it waiting for its retransmission timer ({} time-outs, \
         the longest stall {}).",
        format::percent(cost),
        format::percent(stats::ratio(stalls, cost)),
        format::count(path.time_outs),
        format::time(path.longest_stall_ns),
    );
    let finding = if let Some(room) = room(path) {
        overflows(path, room, &waits, figures)
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
                "{} loses what follows closely: {} of the segments that come right behind other packets, but {} of \
                 those that come alone. {waits}",
                path.receiver,
                format::percent(close),
                format::percent(alone),
            ),
            evidence: figures,
            advice: format!(
                "Let the receiver take a frame while it is busy with the one before: more receive buffers and a \
                 shorter receive interrupt. Until then let it grant a window no larger than its queue: here {} of {} B.",
                if fits == 1 {
                    "1 segment".to_owned()
                } else {
                    format!("{fits} segments")
                },
                format::count(u64::from(path.segment_bytes)),
            ),
        }
    } else if stalls >= STALLS_MATTER * cost {
        stalled(path, stalls, &waits, figures)
    } else {
        Finding {
            cause: Cause::RandomLoss,
            confidence: 0.7,
            summary: format!(
                "{} of {} segments were lost, wherever they stood in a burst. {waits}",
                format::count(path.lost()),
                format::count(path.segments),
            ),
            evidence: figures,
            advice: "Look for errors that both ends' adapters count (ethtool -S), at cable and duplex; on a \
                     bottleneck at its queue."
                .into(),
        }
    };
    // What it dares to send is less for each loss.
    let less = match finding.cause {
        Cause::LossInBursts => 0.0,
        _ => share(path, Limit::CongestionWindow),
    };
    Some(Weighed {
        weight: cost + less,
        finding,
    })
}

/// How many segments fit what lies before the receiver, if more than that are lost and fewer are not.
fn room(path: &Path) -> Option<usize> {
    let (sent, lost) = (&path.sent_by_flight, &path.lost_by_flight);
    let sum = |of: &[u64]| of.iter().sum::<u64>();
    let all_lost = sum(lost);
    let fits = |at: &usize| {
        let (below, beyond) = (sum(&lost[..*at]), sum(&lost[*at..]));
        let expected = all_lost as f64 * stats::ratio(sum(&sent[..*at]) as f64, sum(sent) as f64);
        let rate = |lost: u64, of: &[u64]| stats::ratio(lost as f64, sum(of) as f64);
        beyond >= FEWEST_LOSSES
            && rate(beyond, &sent[*at..]) >= MUCH_MORE * rate(below, &sent[..*at])
            && poisson_at_most(below, expected) < CHANCE
    };
    (LEAST_ROOM..FLIGHT_BINS).rev().find(fits)
}

fn overflows(path: &Path, room: usize, waits: &str, figures: BTreeMap<String, f64>) -> Finding {
    let mut figures = figures;
    figures.insert("room_segments".to_owned(), room as f64);
    Finding {
        cause: Cause::QueueOverflow,
        confidence: 0.8,
        summary: format!(
            "With {room} segments or more under way {} of {} are lost, with fewer next to none: a queue before {} \
             takes no more, and its window of {} lets {} send them. {waits}",
            format::count(path.lost_by_flight[room..].iter().sum()),
            format::count(path.sent_by_flight[room..].iter().sum()),
            path.receiver,
            format::bytes(path.max_window.into()),
            path.sender,
        ),
        evidence: figures,
        advice: format!(
            "Grant a window no larger than the receive queue: {} here; or make that queue (descriptors, buffers) as \
             large as the window.",
            format::bytes(room as u64 * u64::from(path.segment_bytes)),
        ),
    }
}

fn stalled(path: &Path, stalls: f64, waits: &str, figures: BTreeMap<String, f64>) -> Finding {
    Finding {
        cause: Cause::RetransmissionStalls,
        confidence: 0.9,
        summary: format!(
            "{} of {} segments were lost, and nothing but the timer of {} mends that: too little is under way to \
             ask for it again, or {} does not ask. {waits}",
            format::count(path.lost()),
            format::count(path.segments),
            path.sender,
            path.receiver,
        ),
        evidence: figures,
        advice: format!(
            "Have at least four segments under way (window, size of a message), selective acknowledgments at both \
             ends, and look for the loss itself: a stall takes {} here.",
            format::time((stalls * path.time_ns as f64 / path.time_outs.max(1) as f64) as u64),
        ),
    }
}

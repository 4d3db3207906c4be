//! From what captures show to causes: what each cost of the time of the connections between two hosts.
//!
//! Each rule is a function that looks at a [`Path`] and says nothing or a weighed finding, as in the rest of
//! this module. Rules about the capture itself come first: what it missed must not be blamed on the link.

use super::{WORTH_NAMING, Weighed, evidence};
use crate::record::{Cause, Finding};
use crate::report::format;
use crate::stats;
use crate::tcp::{Limit, POSITIONS};
use crate::traffic::{Counts, Path, PathFinding};

/// Every look at a path.
const LOOKS: [fn(&Path) -> Option<Weighed>; 8] = [
    loss, overtaken, window, held_back, late, sender, congestion, path_rate,
];

/// Losses behind the first place of a burst are this much more frequent where bursts are their cause.
const BURSTS_MATTER: f64 = 3.0;
/// Fewer losses are chance.
const FEWEST_LOSSES: u64 = 3;
/// Broadcasts each second from which on a small device is busy with them.
const STORM_PER_S: f64 = 200.0;

/// Why the connections are slow, what cost the most time first. Empty if nothing stands out.
pub fn of_traffic(counts: &Counts, duration_ns: u64, paths: &[Path]) -> Vec<PathFinding> {
    let total_ns: f64 = paths.iter().map(|path| path.time_ns as f64).sum();
    let mut found = Vec::new();
    for path in paths {
        let part = stats::ratio(path.time_ns as f64, total_ns);
        for Weighed { weight, finding } in LOOKS.iter().filter_map(|look| look(path)) {
            found.push(PathFinding {
                sender: Some(path.sender.to_string()),
                receiver: Some(path.receiver.to_string()),
                share_of_time: weight * part,
                finding,
            });
        }
    }
    found.sort_by(|a, b| b.share_of_time.total_cmp(&a.share_of_time));
    let mut first: Vec<PathFinding> = paths.iter().filter_map(missed).collect();
    first.extend(storm(counts, duration_ns));
    first.extend(paused(counts));
    first.extend(found);
    first
}

/// Acknowledgments of what the capture does not have.
fn missed(path: &Path) -> Option<PathFinding> {
    let share = stats::ratio(
        path.unseen_bytes as f64,
        (path.unseen_bytes + path.unique_bytes) as f64,
    );
    (share > 0.01).then(|| PathFinding {
        sender: Some(path.sender.to_string()),
        receiver: Some(path.receiver.to_string()),
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::CaptureIncomplete,
            confidence: 1.0,
            summary: format!(
                "{} of payload ({}) were acknowledged and are not in the capture: it missed them, and what \
                 looks like loss below may be its own.",
                format::bytes(path.unseen_bytes),
                format::percent(share),
            ),
            evidence: evidence([("unseen_bytes", path.unseen_bytes as f64), ("unseen_share", share)]),
            advice: "Capture headers alone (tcpdump -s 128) with a larger buffer (-B 65536), or on another \
                     machine."
                .into(),
        },
    })
}

fn storm(counts: &Counts, duration_ns: u64) -> Option<PathFinding> {
    let per_s = stats::ratio(counts.broadcasts as f64, duration_ns as f64 / 1e9);
    (per_s >= STORM_PER_S && counts.broadcasts > 1000).then(|| PathFinding {
        sender: None,
        receiver: None,
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::BroadcastStorm,
            confidence: 0.8,
            summary: format!(
                "{} broadcasts a second ({} of {} packets): every station has to take each of them.",
                format::count(per_s as u64),
                format::count(counts.broadcasts),
                format::count(counts.packets),
            ),
            evidence: evidence([
                ("broadcasts", counts.broadcasts as f64),
                ("broadcasts_per_s", per_s),
                ("arp_packets", counts.arp as f64),
            ]),
            advice: "Find who sends them (the stations are in --json); filter addresses before the receive \
                     queue."
                .into(),
        },
    })
}

fn paused(counts: &Counts) -> Option<PathFinding> {
    (counts.pauses > 0).then(|| PathFinding {
        sender: None,
        receiver: None,
        share_of_time: 0.0,
        finding: Finding {
            cause: Cause::Paused,
            confidence: 0.7,
            summary: format!(
                "{} pause frames: a station stops the one at the other end of its cable.",
                format::count(counts.pauses),
            ),
            evidence: evidence([("pause_frames", counts.pauses as f64)]),
            advice:
                "Look at why that station's receive queue fills; most adapters keep such frames to \
                     themselves, so there may be more (ethtool -S)."
                    .into(),
        },
    })
}

fn share(path: &Path, limit: Limit) -> f64 {
    stats::ratio(path.shares[limit as usize] as f64, path.time_ns as f64)
}

fn loss(path: &Path) -> Option<Weighed> {
    let stalls = share(path, Limit::TimeOut);
    let mending = share(path, Limit::LossInBursts) + share(path, Limit::RandomLoss);
    let cost = stalls + mending;
    if path.lost() < FEWEST_LOSSES || cost < WORTH_NAMING / 5.0 {
        return None;
    }
    let rate = |places: std::ops::Range<usize>| {
        let sum = |of: &[u64; POSITIONS]| of[places.clone()].iter().sum::<u64>() as f64;
        stats::ratio(sum(&path.lost_at), sum(&path.sent_at))
    };
    let (first, behind) = (rate(0..1), rate(1..POSITIONS));
    let lost_behind: u64 = path.lost_at[1..].iter().sum();
    let in_bursts = lost_behind >= FEWEST_LOSSES && behind >= BURSTS_MATTER * first;
    let figures = evidence([
        ("lost_segments", path.lost() as f64),
        ("segments", path.segments as f64),
        ("time_outs", path.time_outs as f64),
        ("time_out_share", stalls),
        ("loss_rate_alone_or_first", first),
        ("loss_rate_behind_others", behind),
        ("longest_stall_ns", path.longest_stall_ns as f64),
        ("lost_before_capture", path.lost_before as f64),
        ("first_packet", path.first_again as f64),
        ("last_packet", path.last_again as f64),
    ]);
    let waits = format!(
        "For {} of the time the sender mends losses, {} of it waiting for its retransmission timer ({} time-outs, \
         the longest stall {}).",
        format::percent(cost),
        format::percent(stats::ratio(stalls, cost)),
        format::count(path.time_outs),
        format::time(path.longest_stall_ns),
    );
    let finding = if in_bursts {
        let fits = (1..POSITIONS)
            .find(|at| stats::ratio(path.lost_at[*at] as f64, path.sent_at[*at] as f64) >= 0.5)
            .unwrap_or(1);
        Finding {
            cause: Cause::LossInBursts,
            confidence: if behind >= 2.0 * BURSTS_MATTER * first {
                0.95
            } else {
                0.8
            },
            summary: format!(
                "{} loses what follows closely: {} of the segments that come right behind others, but {} of those \
                 that come alone or first. {waits}",
                path.receiver,
                format::percent(behind),
                format::percent(first),
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
    Some(Weighed {
        weight: cost,
        finding,
    })
}

fn overtaken(path: &Path) -> Option<Weighed> {
    let part = stats::ratio(path.out_of_order as f64, path.segments as f64);
    (path.out_of_order >= FEWEST_LOSSES && part >= 0.01).then(|| Weighed {
        weight: 0.0,
        finding: Finding {
            cause: Cause::Reordering,
            confidence: 0.8,
            summary: format!(
                "{} of {} segments arrived behind those that were sent after them.",
                format::count(path.out_of_order),
                format::count(path.segments),
            ),
            evidence: evidence([("out_of_order", path.out_of_order as f64), ("segments", path.segments as f64)]),
            advice: "Several queues or links carry one connection: keep it on one; a stack that drops what comes \
                     out of order (smoltcp, lwIP with TCP_QUEUE_OOSEQ=0) has it all sent again."
                .into(),
        },
    })
}

fn window(path: &Path) -> Option<Weighed> {
    let part = share(path, Limit::ReceiveWindow);
    if part < WORTH_NAMING {
        return None;
    }
    if path.zero_windows > 0 {
        return Some(Weighed {
            weight: part,
            finding: Finding {
                cause: Cause::ReceiverReadsSlowly,
                confidence: 0.9,
                summary: format!(
                    "For {} of the time {}'s window is full; it closed it {} times: its program does not read \
                     as fast as segments come.",
                    format::percent(part),
                    path.receiver,
                    format::count(path.zero_windows),
                ),
                evidence: evidence([("receive_window_share", part), ("zero_windows", path.zero_windows as f64)]),
                advice: "Read more often and in larger pieces, or spend less time on each piece; a larger window \
                         only delays it."
                    .into(),
            },
        });
    }
    let rtt_ns = path.rtt_ns.unwrap_or(0);
    let bound = stats::ratio(f64::from(path.most_window) * 1e9, rtt_ns as f64);
    let scale = if path.unscaled && path.most_window == u32::from(u16::MAX) {
        " No larger one can be granted without window scaling, which one end does not offer."
    } else {
        ""
    };
    Some(Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::ReceiveWindow,
            confidence: 0.9,
            summary: format!(
                "For {} of the time the sender has filled {}'s window: {} at a median round trip of {} allow {}.{scale}",
                format::percent(part),
                path.receiver,
                format::bytes(path.most_window.into()),
                format::time(rtt_ns),
                format::rate(bound),
            ),
            evidence: evidence([
                ("receive_window_share", part),
                ("most_window_bytes", f64::from(path.most_window)),
                ("rtt_ns_p50", rtt_ns as f64),
                ("window_limit_bytes_per_s", bound),
            ]),
            advice: "Enlarge the receive buffer towards the rate wanted times the round trip, and the receive \
                     queue with it: it has to hold a whole window."
                .into(),
        },
    })
}

fn held_back(path: &Path) -> Option<Weighed> {
    let part = stats::ratio(path.held_back_ns as f64, path.time_ns as f64);
    (path.held_back >= FEWEST_LOSSES && part >= WORTH_NAMING).then(|| Weighed {
        // The same time counts as the receiver's or the sender's, too: this says why.
        weight: part,
        finding: Finding {
            cause: Cause::DelayedAckWithNagle,
            confidence: 0.9,
            summary: format!(
                "{} times, {} of the time, {} held a small segment back until {} acknowledged the one before, \
                 which it does {} later on average.",
                format::count(path.held_back),
                format::percent(part),
                path.sender,
                path.receiver,
                format::time(path.held_back_ns / path.held_back),
            ),
            evidence: evidence([("held_back_acks", path.held_back as f64), ("held_back_share", part)]),
            advice: "Write whole messages at once, or set TCP_NODELAY at the sender; a receiver that acknowledges \
                     every segment helps, too."
                .into(),
        },
    })
}

fn late(path: &Path) -> Option<Weighed> {
    let part = share(path, Limit::Receiver) + share(path, Limit::AckStarvation);
    (part >= WORTH_NAMING).then(|| Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::LateAcks,
            confidence: 0.7,
            summary: format!(
                "For {} of the time the sender waits for acknowledgments that {} sends later than its fastest.",
                format::percent(part),
                path.receiver,
            ),
            evidence: evidence([
                ("late_ack_share", part),
                ("ack_starvation_share", share(path, Limit::AckStarvation)),
            ]),
            advice: "Look at how the receiver learns of frames (polling interval, interrupt moderation, sleep) and \
                     at its delayed acknowledgments."
                .into(),
        },
    })
}

fn sender(path: &Path) -> Option<Weighed> {
    let part = share(path, Limit::Sender);
    (part >= 4.0 * WORTH_NAMING).then(|| Weighed {
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

fn congestion(path: &Path) -> Option<Weighed> {
    let part = share(path, Limit::CongestionWindow) + share(path, Limit::SlowStart);
    (part >= 4.0 * WORTH_NAMING).then(|| Weighed {
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

fn path_rate(path: &Path) -> Option<Weighed> {
    let part = share(path, Limit::PathRate);
    (part >= 0.5).then(|| Weighed {
        weight: part,
        finding: Finding {
            cause: Cause::AtLineRate,
            confidence: 0.7,
            summary: format!(
                "For {} of the time segments follow each other as fast as the path takes them.",
                format::percent(part),
            ),
            evidence: evidence([("path_rate_share", part)]),
            advice: "Nothing to change at the ends: the slowest link between them is the limit."
                .into(),
        },
    })
}

//! Long queues of paths whose rate changes.

use super::{PathFinding, findings};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;
use std::collections::{BTreeSet, VecDeque};

/// An upload, captured at its sender, with up to 20 segments (30 kB) in flight over a path of `path_ns` with a queue, which each
/// segment leaves after a time that depends on the time.
fn queued(path_ns: u64, segment_ns: impl Fn(u64) -> u64) -> Vec<PathFinding> {
    const MOST: usize = 20;
    let mut upload = Script::open(End::First, path_ns, 20 * US, 60_000);
    let mut acks: VecDeque<(u64, u32)> = VecDeque::new();
    let (mut free_ns, mut now_ns, mut most) = (0, path_ns + MS, 2);
    let end_ns = now_ns + 30_000 * MS;
    while now_ns < end_ns {
        while acks.len() < most {
            upload.at(now_ns).send(1, MSS, 0);
            free_ns = now_ns.max(free_ns) + segment_ns(now_ns.max(free_ns));
            acks.push_back((free_ns + path_ns, upload.sent()));
        }
        let Some((ack_ns, acked)) = acks.pop_front() else {
            break;
        };
        now_ns = ack_ns;
        upload.at(now_ns).ack(acked);
        most = MOST.min(most + 1);
    }
    findings(upload)
}

fn bufferbloat(found: &[PathFinding]) -> Option<&PathFinding> {
    found
        .iter()
        .find(|it| it.finding.cause == Cause::Bufferbloat)
}

/// 8 ms for each segment in the first five seconds of thirty, and then a time between `least_ms` and twice that, which changes twice in a second.
fn radio_ns(now_ns: u64, least_ms: u64) -> u64 {
    let half_s = now_ns / (500 * MS);
    if half_s % 60 < 10 {
        8 * MS
    } else {
        (least_ms + half_s * 7 % 11 * least_ms / 10) * MS
    }
}

#[test]
fn a_long_queue_of_a_path_whose_rate_changes_is_named_with_the_time_that_it_takes() {
    let found = queued(50 * MS, |now_ns| radio_ns(now_ns, 25));
    let bloated = bufferbloat(&found).expect("found");
    // In a sixth of the time the queue is empty within 0.15 s.
    let share = bloated.share_of_time;
    assert!((0.8..0.86).contains(&share), "{share} {found:?}");
    // The queue of as many segments on a faster path.
    let found = queued(50 * MS, |now_ns| radio_ns(now_ns, 5));
    assert!(bufferbloat(&found).is_none(), "{found:?}");
}

#[test]
fn no_path_takes_a_second_longer_without_a_queue() {
    // What others send waits in the same queue for 0.6 s, from the handshake on.
    let found = queued(700 * MS, |now_ns| radio_ns(now_ns, 75));
    assert!(bufferbloat(&found).is_some(), "{found:?}");
    let found = queued(700 * MS, |now_ns| radio_ns(now_ns, 40));
    assert!(bufferbloat(&found).is_none(), "{found:?}");
}

/// An upload of 20 s, captured at its sender, over a path of `path_ns` with room for `room` segments, each of which takes a time that
/// depends on the time. Beside those that find no room, each segment that `is_lost` names by its number is lost. The sender has no more
/// in flight than a window that grows by a third of a segment in each round trip, and shrinks to 0.7 by a loss (RFC 9438).
fn lossy(
    path_ns: u64,
    room: u64,
    segment_ns: impl Fn(u64) -> u64,
    is_lost: impl Fn(u64) -> bool,
) -> Vec<PathFinding> {
    let mut upload = Script::open(End::First, path_ns, 20 * US, 65_000);
    let mut acks: VecDeque<(u64, u32)> = VecDeque::new();
    let (mut left_ns, mut number) = (VecDeque::new(), 0);
    let mut send = |upload: &mut Script, acks: &mut VecDeque<(u64, u32)>, now_ns: u64, seq: u32| {
        upload.at(now_ns).segment(seq, MSS);
        while left_ns.pop_front_if(|ns: &mut u64| *ns <= now_ns).is_some() {}
        number += 1;
        if (left_ns.len() as u64) < room && !is_lost(number) {
            let from_ns = left_ns.back().copied().unwrap_or(now_ns);
            let ns = from_ns + segment_ns(from_ns);
            left_ns.push_back(ns);
            acks.push_back((ns + path_ns, seq));
        }
    };
    let mut kept = BTreeSet::new();
    let (mut next, mut acked, mut reported, mut repaired) = (1, 1, 0, 1);
    let (mut now_ns, mut window) = (path_ns + MS, 10.0);
    while now_ns < 20_000 * MS {
        let in_flight = |upload: &Script| (upload.sent() - acked) / MSS - reported;
        while f64::from(in_flight(&upload)) < window && upload.sent() - acked < 63_000 {
            let seq = upload.sent();
            send(&mut upload, &mut acks, now_ns, seq);
        }
        let Some((ack_ns, seq)) = acks.pop_front() else {
            break;
        };
        now_ns = ack_ns;
        kept.insert(seq);
        while kept.remove(&next) {
            next += MSS;
        }
        upload.at(now_ns).ack(next);
        if next > acked {
            (acked, reported) = (next, 0);
            window += 0.3 / window;
            if acked < repaired {
                send(&mut upload, &mut acks, now_ns, acked);
            }
        } else {
            reported += 1;
            if reported == 3 && acked >= repaired {
                repaired = upload.sent();
                window *= 0.7;
                send(&mut upload, &mut acks, now_ns, acked);
            }
        }
    }
    findings(upload)
}

/// A time between 0.8 and 1.4 ms, which changes ten times in a second.
fn changing_ns(now_ns: u64) -> u64 {
    [900, 1_300, 1_000, 1_400, 1_100, 800, 1_200][(now_ns / (100 * MS)) as usize % 7] * US
}

fn names(found: &[PathFinding]) -> Vec<Cause> {
    found.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn a_queue_that_always_stands_is_a_full_path_although_its_rate_varies_and_it_loses_segments() {
    let found = lossy(10 * MS, 32, changing_ns, |_| false);
    assert_eq!(names(&found), [Cause::PathRate], "{found:?}");
    assert!(found[0].finding.summary.contains("varies"), "{found:?}");
    assert!(found[0].share_of_time > 0.9, "{found:?}");
}

#[test]
fn losses_are_the_fault_of_a_path_whose_queue_drains() {
    // A queue that is too short for the path.
    let short = lossy(40 * MS, 8, changing_ns, |_| false);
    assert_ne!(names(&short)[0], Cause::PathRate, "{short:?}");
    // Losses that shrink the window below what the path holds.
    let random = lossy(40 * MS, 60, changing_ns, |number| {
        number * 7_919 % 1_009 < 8
    });
    assert_ne!(names(&random)[0], Cause::PathRate, "{random:?}");
}

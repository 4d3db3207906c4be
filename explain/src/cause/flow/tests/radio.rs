//! Long queues of paths whose rate changes.

use super::{PathFinding, findings};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;
use std::collections::VecDeque;

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

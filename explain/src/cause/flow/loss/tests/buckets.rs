//! Small buckets and the links behind them.

use super::*;
use crate::cause::flow::loss::bucket::is_of_shallow;
use crate::cause::flow::loss::dispersion::Arrivals;
use linerate_capture::model::LossBucket;

/// Segments that a sender has in flight in each round trip of 10 ms: one more in each round, and half as many after a loss.
/// What `drops` names, by the time, the place and the number of segments, is repeated in the next round; the program pauses between some
/// of them for multiples of `pause_ns`. Captured at the sender; `wait_ns` is what a segment at a place waits.
fn probing(
    [rounds, pause_ns]: [u64; 2],
    least: u32,
    mut drops: impl FnMut(u64, u32, u32) -> bool,
    wait_ns: impl Fn(u32) -> u64,
) -> Option<Rule> {
    let mut upload = Script::open(End::First, 10 * MS, 10 * US, 60_000);
    let mut flight = least;
    let mut missing: Vec<u32> = Vec::new();
    let mut at_ns = 30 * MS;
    for round in 0..rounds {
        upload.at(at_ns);
        let repeated = std::mem::take(&mut missing);
        let first = upload.sent();
        let new = flight.saturating_sub(repeated.len() as u32);
        let seqs = repeated
            .into_iter()
            .chain((0..new).map(|it| first + it * MSS));
        let seqs: Vec<u32> = seqs.collect();
        for (place, seq) in seqs.iter().enumerate() {
            upload.at(at_ns + place as u64 * 30 * US).segment(*seq, MSS);
            if drops(at_ns, place as u32, seqs.len() as u32) {
                missing.push(*seq);
            }
        }
        missing.sort_unstable();
        let acked = missing.first().copied().unwrap_or(upload.sent());
        let last = seqs.len() as u32 - 1;
        upload.at(at_ns + 10 * MS + u64::from(last) * 30 * US + wait_ns(last));
        upload.ack(acked);
        if missing.is_empty() {
            flight += 1;
        } else {
            upload.duplicate_acks(3, acked, US);
            flight = (flight / 2).max(least);
        }
        at_ns += 13 * MS + round * round % 7 * pause_ns;
    }
    evaluate(upload)
}

/// A bucket of four segments that passes 2.5 of them in each round: a policer, or a queue in which they wait.
fn small_bucket(is_queue: bool) -> Option<Rule> {
    let mut level = 0.0_f64;
    let drops = move |_: u64, place: u32, _: u32| {
        if place == 0 {
            level = (level - 2.5).max(0.0);
        }
        if level + 1.0 > 4.0 {
            return true;
        }
        level += 1.0;
        false
    };
    let wait_ns = move |place: u32| {
        if is_queue {
            u64::from(place) * 2 * MS
        } else {
            0
        }
    };
    probing([600, 0], 3, drops, wait_ns)
}

#[test]
fn a_small_bucket_in_which_nothing_waits_is_that_of_a_policer() {
    let policed = small_bucket(false).expect("losses");
    assert_eq!(policed.cause, Cause::Policed, "{}", policed.summary);
    let queued = small_bucket(true);
    assert_ne!(cause(queued), Some(Cause::Policed));
}

/// A bucket of ten segments that passes one of them in each `segment_ns`, before a program that pauses; nothing is
/// seen to wait.
fn bucket_of_ten(segment_ns: u64) -> Cause {
    let (mut level, mut last_ns) = (0.0_f64, 0);
    let drops = move |at_ns: u64, place: u32, _: u32| {
        let now_ns = at_ns + u64::from(place) * 30 * US;
        level = (level - (now_ns - last_ns) as f64 / segment_ns as f64).max(0.0);
        last_ns = now_ns;
        let is_full = level + 1.0 > 10.0;
        level += if is_full { 0.0 } else { 1.0 };
        is_full
    };
    let found = probing([600, 15 * MS], 3, drops, |_| 0);
    found.expect("losses").cause
}

#[test]
fn a_bucket_that_empties_slowly_without_waits_is_that_of_a_policer() {
    assert_eq!(bucket_of_ten(3 * MS), Cause::Policed);
    // A ring that its host empties sooner than round trips show.
    assert_ne!(bucket_of_ten(40 * US), Cause::Policed, "a ring");
}

/// True if two buffers of a receiver fit so much better.
fn is_shallow(segments: f64, separation: f64, of_shallow: f64) -> bool {
    is_of_shallow(&LossBucket {
        bytes_per_s: 1e6,
        depth_bytes: segments * 1_460.0,
        separation,
        separation_of_faster: 0.9,
        separation_of_unseen: 0.5,
        separation_of_shallow: of_shallow,
        delay_share: None,
        cut_share: 0.0,
        lost: 100,
        segment_bytes: 1_460.0,
    })
}

#[test]
fn two_buffers_that_keep_their_sender_to_a_rate_are_no_policer() {
    // Of lab/course: a receiver with two buffers, policers with a bucket of 57 segments and of two.
    assert!(is_shallow(26.0, 0.955, 1.0));
    assert!(!is_shallow(57.0, 0.996, 0.698));
    assert!(!is_shallow(2.0, 0.991, 0.999));
}

#[test]
fn rare_losses_of_a_growing_window_are_not_those_of_a_deep_bucket() {
    let found = probing(
        [900, 0],
        30,
        |_, place, flight| flight > 60 && place == 50,
        |_| 0,
    )
    .expect("losses");
    assert_ne!(found.cause, Cause::Policed, "{}", found.summary);
}

/// True if a link of 1 MB/s seems to space the segments of flights, which a sender sends `sent_us` apart and which are acknowledged
/// `acked_us` apart.
fn is_spaced(sent_us: u64, acked_us: u64) -> bool {
    let mut upload = Script::open(End::First, 30 * MS, 10 * US, 60_000);
    let mut at_ns = 50 * MS;
    for _ in 0..40 {
        let first = upload.sent();
        upload.at(at_ns).send(8, MSS, sent_us * US);
        at_ns += 30 * MS;
        for at in 1..=8 {
            upload
                .at(at_ns + u64::from(at) * acked_us * US)
                .ack(first + at * MSS);
        }
        at_ns += 13 * MS;
    }
    dispersion::is_of_link(&FlowFacts::of(&upload.flow()).expect("payload"), 1e6)
}

#[test]
fn a_link_spaces_what_was_sent_closer_together() {
    assert!(is_spaced(12, 1_460));
    // Of another rate, or spaced by its sender.
    assert!(!is_spaced(12, 120));
    assert!(!is_spaced(1_460, 1_460));
}

/// How flights of eight segments arrive near the receiver each 14 ms, the first `burst` of them 120 us apart and the others `gap_us`,
/// beside a rate of a segment in 1.46 ms.
fn arrivals(sender: End, burst: u32, gap_us: u64) -> Arrivals {
    let mut script = Script::open(sender, 4 * MS, 10 * US, 60_000);
    for flight in 0..40 {
        script
            .at(10 * MS + flight * 14 * MS)
            .send(burst, MSS, 120 * US);
        script.after(gap_us * US).send(8 - burst, MSS, gap_us * US);
        script.after(20 * US).ack_all();
    }
    Arrivals::of(&FlowFacts::of(&script.flow()).expect("payload"), 1e6)
}

#[test]
fn a_policer_lets_arrive_at_once_what_was_sent_at_once() {
    assert_eq!(arrivals(End::Second, 4, 120), Arrivals::AsSent);
    assert_eq!(arrivals(End::Second, 1, 1_460), Arrivals::Spaced);
    // A shaper passes a burst at once.
    assert_eq!(arrivals(End::Second, 5, 1_460), Arrivals::Unknown);
    // At the sender, nothing shows how they arrive.
    assert_eq!(arrivals(End::First, 4, 120), Arrivals::Unknown);
}

#[test]
fn what_a_long_queue_holds_keeps_its_link_busy_behind_losses() {
    let outlasts = |segments: f64, delay: f64, timeout: f64| {
        let figures = [("bucket_segments", segments), ("delay_by_level", delay)];
        let rule = Rule {
            share: 0.3,
            cause: Cause::QueueOverflow,
            confidence: 0.65,
            summary: String::new(),
            evidence: evidence(figures),
            advice: String::new(),
            limits: &[],
            has_gain: true,
        };
        let losses = Losses {
            lost: 40,
            segments: 400,
            timeout,
            recovery: 0.2,
            reduced: 0.0,
            withheld: 0.0,
        };
        outlasts_repairs(&rule, &losses)
    };
    assert!(outlasts(90.0, 0.9, 0.05));
    assert!(!outlasts(3.0, 0.9, 0.05), "a ring");
    assert!(!outlasts(90.0, 0.0, 0.05), "nothing waits");
    assert!(!outlasts(90.0, 0.9, 0.5), "idle until the timer expires");
}

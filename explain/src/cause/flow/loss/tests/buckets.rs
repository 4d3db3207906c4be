//! Small buckets and the links behind them.

use super::*;

/// Segments that a sender has in flight in each round trip of 10 ms: one more in each round, and half as many after a loss.
/// What `drops` names, by the round, the place and the number of segments, is repeated in the next round. Captured at the
/// sender; `wait_ns` is what a segment at a place waits.
fn probing(
    rounds: u64,
    least: u32,
    mut drops: impl FnMut(u32, u32) -> bool,
    wait_ns: impl Fn(u32) -> u64,
) -> Option<Rule> {
    let mut upload = Script::open(End::First, 10 * MS, 10 * US, 60_000);
    let mut flight = least;
    let mut missing: Vec<u32> = Vec::new();
    for round in 0..rounds {
        let at_ns = 30 * MS + round * 13 * MS;
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
            if drops(place as u32, seqs.len() as u32) {
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
    }
    evaluate(upload)
}

/// A bucket of four segments that passes 2.5 of them in each round: a policer, or a queue in which they wait.
fn small_bucket(is_queue: bool) -> Option<Rule> {
    let mut level = 0.0_f64;
    let drops = move |place: u32, _: u32| {
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
    probing(600, 3, drops, wait_ns)
}

#[test]
fn a_small_bucket_in_which_nothing_waits_is_that_of_a_policer() {
    let policed = small_bucket(false).expect("losses");
    assert_eq!(policed.cause, Cause::Policed, "{}", policed.summary);
    let queued = small_bucket(true);
    assert_ne!(cause(queued), Some(Cause::Policed));
}

#[test]
fn rare_losses_of_a_growing_window_are_not_those_of_a_deep_bucket() {
    let found =
        probing(900, 30, |place, flight| flight > 60 && place == 50, |_| 0).expect("losses");
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

//! Media and paced senders on synthetic connections.

use super::has_own_interval;
use crate::cause::flow::explain_flows;
use crate::cause::synthetic::{MS, MSS, Script};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Blocks of twenty segments, captured at their sender on a path of 4 ms.
fn causes_of_blocks(interval_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, MS / 50, 60_000);
    for block in 0..100 {
        let at_ns = 10 * MS + block * interval_ns + block % 5 * 100_000;
        upload.at(at_ns).send(20, MSS, 150_000).send(1, 700, 0);
        upload.at(at_ns + 8 * MS).ack_pairs();
    }
    let (findings, _) = explain_flows(&[upload.flow()]);
    findings.iter().map(|it| it.finding.cause).collect()
}

/// Pairs of segments, each `lag_ns` after the acknowledgment of the pair before.
fn causes_of_lag(lag_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, MS / 50, 60_000);
    for pair in 0..300 {
        upload.at(10 * MS + pair * (4 * MS + lag_ns));
        upload.send(2, MSS, 10_000).after(4 * MS - 10_000).ack_all();
    }
    let (findings, _) = explain_flows(&[upload.flow()]);
    findings.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn segments_that_leave_long_after_their_acknowledgment_are_paced() {
    assert_eq!(causes_of_lag(480_000), [Cause::HostPacing]);
    assert_eq!(causes_of_lag(10_000), [Cause::SendBuffer]);
}

#[test]
fn pictures_of_one_size_at_a_standard_rate_are_no_idle_sender() {
    assert_eq!(causes_of_blocks(40 * MS), []);
    assert_eq!(causes_of_blocks(33_366_667), [], "30 / 1.001");
    assert_ne!(causes_of_blocks(43 * MS), []);
}

/// Fourteen blocks of forty segments, captured at their receiver.
fn causes_of_few_blocks(interval_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, MS / 50, 4 * MS, 60_000);
    for block in 0..14 {
        upload.at(10 * MS + block * interval_ns);
        upload
            .send(39, MSS, 400_000)
            .send(1, 700, 0)
            .after(20_000)
            .ack_pairs();
    }
    let (findings, _) = explain_flows(&[upload.flow()]);
    findings.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn few_pictures_are_no_idle_sender() {
    assert_eq!(causes_of_few_blocks(100 * MS), []);
    assert_ne!(causes_of_few_blocks(103 * MS), []);
}

/// Blocks of which the second half waits for the acknowledgments of the first, as those of both come late.
fn causes_of_late_acks(interval_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, MS / 50, 60_000);
    for block in 0..60 {
        upload.at(10 * MS + block * interval_ns);
        for _ in 0..2 {
            upload
                .send(10, MSS, 10_000)
                .after(14 * MS)
                .ack_all()
                .after(10_000);
        }
    }
    let (findings, _) = explain_flows(&[upload.flow()]);
    findings.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn pictures_that_take_their_time_are_not_acknowledged_late() {
    assert_eq!(causes_of_late_acks(40 * MS), []);
    assert_eq!(causes_of_late_acks(43 * MS)[0], Cause::LateAcks);
}

#[test]
fn an_even_interval_that_makes_up_no_round_trip_is_the_senders_own() {
    let is_own = |interval_us: u64, spread_us: u64| {
        has_own_interval(interval_us * 1_000, spread_us * 1_000, Some(7 * MS))
    };
    assert!(is_own(4_700, 100));
    assert!(!is_own(4_700, 900), "not even");
    assert!(!is_own(7_000, 100), "a flight in each round trip");
    assert!(!is_own(3_550, 100), "two in each round trip");
    assert!(!is_own(16_000, 100), "longer than a round trip");
    assert!(is_own(5_700, 100), "shorter than the shortest round trip");
    assert!(!has_own_interval(4_700_000, 0, None));
}

/// Groups of six segments each 12 ms, captured at their receiver 200 ms from the sender. Without time stamps, only the handshake shows a
/// round trip to the sender.
fn causes_of_groups() -> Vec<Cause> {
    let mut download = Script::open(End::Second, 200 * MS, MS / 50, 65_000);
    for group in 0..400 {
        download.at(400 * MS + group * 12 * MS);
        for _ in 0..3 {
            download.send(2, MSS, 50_000).after(20_000).ack_all();
        }
    }
    let (findings, _) = explain_flows(&[download.flow()]);
    findings.iter().map(|it| it.finding.cause).collect()
}

/// A link that serves its users in turns sets the same interval as a timer.
#[test]
fn groups_at_an_interval_near_the_receiver_are_no_pace_where_a_queue_would_not_show() {
    let found = causes_of_groups();
    assert!(!found.contains(&Cause::HostPacing), "{found:?}");
}

/// Bursts of ten segments, then of twenty, and of forty, captured at their sender on a path of 200 us; each is followed by `each_ns` for
/// each of its segments, or each by as long as ten take.
fn causes_of_growing_bursts(each_ns: u64, is_in_proportion: bool) -> Vec<Cause> {
    let mut upload = Script::open(End::First, MS / 5, MS / 50, 60_000);
    let mut at_ns = 10 * MS;
    for segments in [10, 20, 40].into_iter().flat_map(|it| [it; 60]) {
        upload.at(at_ns).send(segments, MSS, 1_000);
        upload.after(MS / 5).ack_all();
        let is_odd = at_ns % (2 * MS) >= MS;
        at_ns += match (is_in_proportion, is_odd) {
            (true, _) => u64::from(segments) * each_ns,
            (false, true) => 10 * each_ns,
            (false, false) => 31 * each_ns,
        };
    }
    let (findings, _) = explain_flows(&[upload.flow()]);
    findings.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn bursts_that_are_followed_by_the_time_that_their_octets_take_are_paced() {
    assert_eq!(causes_of_growing_bursts(123_000, true), [Cause::HostPacing]);
    assert_ne!(
        causes_of_growing_bursts(123_000, false),
        [Cause::HostPacing]
    );
}

//! Captures that show a part of a transfer: begun late, ended early, or made where one end's waits do not show.

use super::{causes, findings};
use crate::cause::scored::PathFinding;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// A download, captured at its receiver on a path of 20 ms.
fn download() -> Script {
    Script::open(End::Second, 20 * MS, 10 * US, 60_000)
}

/// Dice with 1,000 sides.
fn dice(number: u32) -> u64 {
    let mixed = (u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) % 1_000
}

#[test]
fn losses_by_chance_near_the_receiver_are_given_with_what_they_may_be_instead() {
    let mut download = download();
    for round in 0..150_u32 {
        let start_ns = 30 * MS + u64::from(round) * 45 * MS;
        let first = download.sent();
        let is_lost = |place: u32| place < 9 && dice(round * 12 + place) < 40;
        let missing = (0..12).find(|place| is_lost(*place));
        for place in 0..12 {
            let at_ns = start_ns + u64::from(place) * MS;
            if missing != Some(place) {
                download.at(at_ns).segment(first + place * MSS, MSS);
                let acked = missing.filter(|it| *it < place).unwrap_or(place + 1);
                download.after(20 * US).ack(first + acked * MSS);
            }
        }
        if let Some(place) = missing {
            download
                .at(start_ns + 32 * MS)
                .segment(first + place * MSS, MSS);
            download.after(20 * US).ack(first + 12 * MSS);
        }
    }
    let found = findings(download);
    let (first, second) = (&found[0], &found[1]);
    assert_eq!(first.finding.cause, Cause::RandomLoss, "{found:#?}");
    assert_eq!(second.finding.cause, Cause::LossInBursts);
    assert_eq!(
        (first.alternative_to, second.alternative_to),
        (None, Some(Cause::RandomLoss))
    );
    assert!((first.share_of_time - second.share_of_time).abs() < 1e-9);
    assert!(second.finding.confidence < first.finding.confidence);
    assert!(second.finding.advice.starts_with("To decide:"));
}

/// A receiver that grants some octets at a time, and a sender that fills each grant with a segment 20 ms later.
fn small_grants(mut download: Script, fills: bool) -> Vec<Cause> {
    for round in 0..200_u32 {
        let grant = 170 + round * 37 % 90;
        download.after(30 * US).ack_all_with(grant as u16);
        let len = if fills { grant } else { grant / 2 + round % 7 };
        let seq = download.sent();
        download.after(20 * MS).segment(seq, len);
    }
    download.after(10 * US).ack_all();
    causes(download)
}

#[test]
fn segments_that_end_where_each_grant_ends_show_a_silly_window_at_the_receiver() {
    assert_eq!(small_grants(download(), true), [Cause::SillyWindow]);
    let late = Script::late(End::Second, 60_000);
    assert_eq!(small_grants(late, true), [Cause::SillyWindow]);
    let other = small_grants(download(), false);
    assert!(!other.contains(&Cause::SillyWindow), "{other:?}");
}

#[test]
fn messages_end_where_a_window_long_ago_ended_by_chance() {
    let mut late = Script::late(End::Second, 60_000);
    for _ in 0..600 {
        late.after(30 * US).ack_all_with(250);
        let seq = late.sent();
        late.after(20 * MS).segment(seq, 1);
    }
    late.after(10 * US).ack_all();
    let found = causes(late);
    assert!(!found.contains(&Cause::SillyWindow), "{found:?}");
}

/// A segment that echoes the acknowledgment which left at `echoed_ms`, and its acknowledgment.
fn echo(download: &mut Script, now_ms: u64, echoed_ms: u64) {
    let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut stamp = |sent_ms: u64, echoed_ms: u64| {
        options[4..8].copy_from_slice(&(sent_ms as u32 + 1_000).to_be_bytes());
        options[8..].copy_from_slice(&(echoed_ms as u32 + 1_000).to_be_bytes());
        options
    };
    let data = stamp(now_ms - 10, echoed_ms);
    let numbers = [download.sent(), 1];
    download.at(now_ms * MS);
    download.packet(End::Second, Segment::ACK, numbers, MSS, &data);
    download.next[End::Second as usize] += MSS;
    let numbers = [1, download.sent()];
    let ack = stamp(now_ms, now_ms - 10);
    download.after(10 * US);
    download.packet(End::First, Segment::ACK, numbers, 0, &ack);
}

/// Segments every 6 ms that echo acknowledgments which left `echo_ms` before.
fn echoes(mut download: Script, echo_ms: u64) -> Vec<Cause> {
    for number in 0..600_u64 {
        let now_ms = 60 + number * 6;
        // Acknowledgments leave every 6 ms.
        echo(
            &mut download,
            now_ms,
            now_ms - echo_ms.min(number * 6 + 20) / 6 * 6,
        );
    }
    causes(download)
}

#[test]
fn segments_that_echo_old_acknowledgments_show_a_full_way_back() {
    assert_eq!(echoes(download(), 300), [Cause::AckPathFull]);
    assert_eq!(echoes(download(), 20), [Cause::HostPacing]);
}

#[test]
fn the_shortest_round_trip_of_a_late_capture_may_contain_a_queue() {
    let late = Script::late(End::Second, 60_000);
    assert_eq!(echoes(late, 20), [Cause::PathRate]);
}

/// Flights of four segments, each of which echoes the acknowledgment of the flight `round_ms` before.
fn echoing_flights(round_ms: u64) -> Vec<Cause> {
    let mut download = download();
    for number in 0..400_u64 {
        let now_ms = 60 + number / 4 * round_ms + number % 4;
        echo(&mut download, now_ms, now_ms - round_ms.min(now_ms));
    }
    causes(download)
}

#[test]
fn flights_that_echo_old_acknowledgments_show_a_full_way_back_without_a_queue() {
    assert_eq!(echoing_flights(100)[0], Cause::AckPathFull);
    assert!(!echoing_flights(30).contains(&Cause::AckPathFull));
}

/// Flights of eight segments every 47 ms or so, captured late at the receiver; `last` are the octets of each last one.
fn flights(last: u32) -> Vec<PathFinding> {
    let mut download = Script::late(End::Second, 60_000);
    for round in 0..100_u32 {
        let at_ns = 10 * MS + u64::from(round) * 47 * MS + dice(round) * 9 * US;
        download.at(at_ns).send(7, MSS, 120 * US);
        let seq = download.sent();
        download.after(120 * US).segment(seq, last);
        download.after(10 * US).ack_pairs();
    }
    findings(download)
}

#[test]
fn flights_of_full_segments_seem_to_fill_a_buffer_where_the_round_trip_is_unknown() {
    let found = flights(MSS);
    assert_eq!(found[0].finding.cause, Cause::SendBuffer);
    assert!(found[0].finding.evidence.contains_key("flight_bytes_p50"));
    let blocks = flights(500);
    let is_such = |it: &PathFinding| it.finding.evidence.contains_key("flight_bytes_p50");
    assert!(!blocks.iter().any(is_such), "{blocks:#?}");
}

/// Data of 40 round trips of 5 ms, captured at the sender, with silences of 400 ms between the parts.
fn silences(parts: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 5 * MS, MS / 50, 60_000);
    let mut at_ns = 10 * MS;
    for _ in 0..parts {
        for _ in 0..40 / parts {
            upload.at(at_ns).send(20, MSS, 200 * US);
            upload.after(5 * MS).ack_pairs();
            at_ns = upload.now_ns + 20 * US;
        }
        at_ns += 400 * MS;
    }
    causes(upload)
}

#[test]
fn two_long_silences_are_a_sender_without_data_and_one_is_not() {
    assert!(silences(3).contains(&Cause::SenderIdle));
    assert!(!silences(2).contains(&Cause::SenderIdle));
}

/// Flights of 10, 20 and 40 segments.
fn growth(rtt_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open_with(
        End::First,
        [rtt_ns, MS / 50],
        60_000,
        &[2, 4, 5, 0xB4, 4, 2, 3, 3, 2],
    );
    let mut at_ns = rtt_ns + MS;
    for segments in [10, 20, 40] {
        upload.at(at_ns).send(segments, MSS, 20 * US);
        at_ns += rtt_ns;
        upload.at(at_ns).ack_pairs();
        at_ns += 30 * US;
    }
    causes(upload)
}

#[test]
fn a_window_that_grows_for_longer_than_a_person_notices_limits_a_short_transfer() {
    assert_eq!(growth(110 * MS), [Cause::CongestionWindow]);
    assert_eq!(growth(70 * MS), [], "between hosts near each other");
}

/// Segments that echo acknowledgments which left 20 to 25 pairs before, captured late; the second one of each pair comes
/// `distance_ms` after the first, the next pair 8 ms after it.
fn late_pairs(distance_ms: u64) -> Vec<Cause> {
    let mut download = Script::late(End::Second, 60_000);
    for pair in 0..400_u64 {
        let echoed = pair.saturating_sub(20 + (pair / 20 % 2) * 5);
        for place in 0..2 {
            let now_ms = 60 + pair * 8 + place * distance_ms;
            echo(&mut download, now_ms, 60 + echoed * 8 + distance_ms);
        }
    }
    causes(download)
}

#[test]
fn a_queue_while_the_link_of_the_data_is_idle_is_that_of_the_way_back() {
    assert_eq!(late_pairs(1).first(), Some(&Cause::AckPathFull));
    assert!(!late_pairs(4).contains(&Cause::AckPathFull));
}

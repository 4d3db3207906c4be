//! What arrived and came again all the same: discarded, without room behind a gap, or repeated before its acknowledgment arrived.

use super::*;

/// Flights of twelve segments, captured at their receiver, which has room for `room` segments behind a gap, and repairs that take a
/// round trip for each segment. Of each fourth flight one segment is lost, or arrives and is discarded.
fn flights_behind_gap(is_lost: bool, room: u32) -> Option<Rule> {
    const SEGMENTS: u32 = 12;
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..160 {
        let first = download.sent();
        let gap = if round % 4 == 1 {
            1 + round * 7 % 5
        } else {
            SEGMENTS
        };
        for place in 0..SEGMENTS {
            if place != gap || !is_lost {
                download.at(at_ns).segment(first + place * MSS, MSS);
            }
            if place != gap {
                download
                    .after(20 * US)
                    .ack(first + gap.min(place + 1) * MSS);
            }
            at_ns += 123 * US;
        }
        at_ns += RTT_NS;
        if gap == SEGMENTS {
            continue;
        }
        download.at(at_ns).segment(first + gap * MSS, MSS);
        let kept = SEGMENTS.min(gap + 1 + room);
        download.after(20 * US).ack(first + kept * MSS);
        for place in kept..SEGMENTS {
            at_ns += RTT_NS;
            download.at(at_ns).segment(first + place * MSS, MSS);
            download.after(20 * US).ack(first + (place + 1) * MSS);
        }
        at_ns += RTT_NS;
    }
    evaluate(download)
}

#[test]
fn a_receiver_without_room_behind_a_gap_discards_nothing_else() {
    for room in [1, 3] {
        let found = flights_behind_gap(true, room).expect("losses");
        assert_ne!(found.cause, Cause::ChecksumErrors, "{}", found.summary);
    }
}

#[test]
fn a_receiver_that_discards_what_arrives_in_order_may_see_wrong_checksums() {
    let found = flights_behind_gap(false, 12).expect("losses");
    assert_eq!(found.cause, Cause::ChecksumErrors, "{}", found.summary);
    assert!(found.summary.contains("40 of 1,960"), "{}", found.summary);
    assert_ne!(
        cause(flights_behind_gap(true, 12)),
        Some(Cause::ChecksumErrors),
        "lost before"
    );
}

/// Flights of six segments, captured at their receiver, all of which the sender repeats 210 ms later. The first one was lost, so that
/// its repetition is acknowledged with all behind it; or all were acknowledged at once, and the acknowledgments are lost.
fn go_back_n(loses_acks: bool) -> Option<Rule> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for _ in 0..30 {
        let first = download.sent();
        for place in 0..6 {
            if place > 0 || loses_acks {
                download.at(at_ns + u64::from(place) * 123 * US);
                download.segment(first + place * MSS, MSS);
                let acked = if loses_acks { place + 1 } else { 0 };
                download.after(20 * US).ack(first + acked * MSS);
            }
        }
        at_ns += 210 * MS;
        for place in 0..6 {
            download.at(at_ns + u64::from(place) * 123 * US);
            download.segment(first + place * MSS, MSS);
            download.after(20 * US).ack(first + 6 * MSS);
        }
        at_ns += 2 * RTT_NS;
    }
    evaluate(download)
}

#[test]
fn what_is_repeated_before_its_acknowledgment_can_have_come_shows_no_lost_one() {
    let found = go_back_n(false).expect("losses");
    assert_ne!(found.cause, Cause::DuplexMismatch, "{}", found.summary);
    assert!(
        !found.evidence.contains_key("lost_acks"),
        "{}",
        found.summary
    );
}

#[test]
fn what_is_repeated_long_after_its_acknowledgment_shows_a_lost_one() {
    let found = go_back_n(true).expect("losses");
    assert_eq!(found.cause, Cause::DuplexMismatch, "{}", found.summary);
    assert!(
        found.summary.contains("acknowledgments for 180 of 180 new"),
        "{}",
        found.summary
    );
}

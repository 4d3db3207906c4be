//! Segments that wait for delayed acknowledgments.

use super::{causes, upload};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::nagle::delayed_ack_with_nagle;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// Requests in two writes, captured at the server, 4 ms from the client. The first part is acknowledged after `late_ms`, or, in
/// each second request, when the client's timer has repeated it.
fn asked_in_two_parts(late_ms: u64) -> Vec<Cause> {
    let mut dialogue = Script::open(End::First, 20 * US, 4 * MS, 60_000);
    for request in 0..20_u64 {
        dialogue.at((20 + request * 300) * MS);
        let first = dialogue.sent();
        dialogue.write(End::First, 16);
        if request % 2 == 1 {
            dialogue.after(212 * MS).segment(first, 16).after(10 * US);
        } else {
            dialogue.after(late_ms * MS);
        }
        dialogue.confirm(End::Second);
        dialogue.after(4 * MS).write(End::First, 194);
        dialogue.after(20 * US).write(End::Second, 140);
        dialogue.after(4 * MS).confirm(End::First);
    }
    causes(dialogue)
}

#[test]
fn a_timer_that_is_shorter_than_a_delayed_acknowledgment_is_no_loss() {
    assert_eq!(asked_in_two_parts(40), [Cause::DelayedAckWithNagle]);
    // Where all others are acknowledged at once, they were lost.
    let lost = asked_in_two_parts(0);
    assert_eq!(lost[0], Cause::RetransmissionStalls, "{lost:?}");
}

/// Writes of a segment and a part of one, captured at the sender, 5 ms from the receiver: the rest of a write follows the
/// acknowledgment of its first segment, which comes `late_ns(write)` late.
fn rests_wait(late_ns: impl Fn(u64) -> u64) -> bool {
    let mut upload = upload(20 * US, 5 * MS, 60_000);
    for write in 0..80 {
        upload.at((20 + write * 90) * MS).send(1, MSS, 0);
        upload.after(5 * MS + late_ns(write)).ack_all();
        upload
            .after(15 * US)
            .send(1, 850, 0)
            .after(5 * MS)
            .ack_all();
    }
    let flow = upload.flow();
    delayed_ack_with_nagle(&FlowFacts::of(&flow).expect("payload")).is_some()
}

#[test]
fn the_rest_of_a_write_waits_like_a_second_write() {
    assert!(rests_wait(|_| 40 * MS));
    assert!(!rests_wait(|_| 0));
}

/// Small segments captured 6 ms from their sender, as the handshake shows; each follows the acknowledgment of the one before, which
/// comes after `ack_ns(segment)`, by 4 ms.
fn follow_sooner(ack_ns: impl Fn(u64) -> u64) -> bool {
    let mut upload = Script::open(End::First, 20 * US, 6 * MS, 60_000);
    upload.at(20 * MS);
    for segment in 0..100 {
        upload
            .send(1, 300, 0)
            .after(ack_ns(segment))
            .ack_all()
            .after(4 * MS);
    }
    let flow = upload.flow();
    delayed_ack_with_nagle(&FlowFacts::of(&flow).expect("payload")).is_some()
}

#[test]
fn what_keeps_its_distance_to_late_acknowledgments_waits_for_them() {
    assert!(follow_sooner(|at| 40 * MS + at % 5 * MS));
    // By a clock, it keeps its distance to the segment before, too.
    assert!(!follow_sooner(|_| 40 * MS));
}

#[test]
fn a_stack_reacts_a_little_sooner_than_to_the_handshake() {
    let mut upload = upload(15 * US, 5 * MS, 60_000);
    upload.at(20 * MS);
    for at in 0..60 {
        upload.send(1, if at % 2 == 0 { 5 } else { 100 }, 0);
        upload
            .after(if at % 2 == 0 { 45 * MS } else { 5 * MS })
            .ack_all();
        upload.after(12 * US);
    }
    assert_eq!(causes(upload)[..1], [Cause::DelayedAckWithNagle]);
}

/// One segment in flight, captured at the receiver, whose acknowledgment comes after 249 ms.
#[test]
fn an_acknowledgment_that_is_later_than_a_timer_releases_the_next_segment() {
    let mut upload = Script::open(End::First, 20 * US, MS, 60_000);
    upload.at(20 * MS);
    for _ in 0..24 {
        let numbers = [upload.sent(), 1];
        upload.packet(End::First, Segment::ACK | Segment::PSH, numbers, 746, &[]);
        upload.next[0] += 746;
        upload.after(249 * MS).ack_all().after(MS);
    }
    let found = causes(upload);
    assert_eq!(found[..1], [Cause::OneInFlight], "{found:?}");
}

/// So many segments, captured late, the first of them acknowledged after `least_ns` and the others after 249 ms, each of which
/// releases the next one.
fn few_late(number: u32, least_ns: u64) -> Vec<Cause> {
    let mut upload = Script::late(End::First, 60_000);
    for at in 0..number {
        upload.send(1, 746, 0);
        upload
            .after(if at == 0 { least_ns } else { 249 * MS })
            .ack_all()
            .after(MS);
    }
    causes(upload)
}

#[test]
fn few_segments_that_are_acknowledged_late_one_by_one_suffice() {
    assert_eq!(few_late(11, 20 * US), [Cause::LateAcks]);
    // What follows the last one was not captured.
    assert_eq!(few_late(9, 20 * US), [Cause::LateAcks]);
    // A slow line behind the capture point delays each of them.
    assert_eq!(few_late(11, 30 * MS), []);
}

/// Messages of a program with Nagle's algorithm, captured at the sender, 15 ms from a receiver that acknowledges each one after
/// up to `late_ms` more; one in eight is lost, and repeated by the timer.
fn lossy_messages(late_ms: u64) -> Vec<Cause> {
    let mut upload = upload(20 * US, 15 * MS, 60_000);
    upload.at(20 * MS);
    for at in 0..120_u64 {
        let first = upload.sent();
        upload.send(1, 200, 0);
        if at.wrapping_mul(2_654_435_761) >> 29 & 7 == 3 {
            upload.after(200 * MS).segment(first, 200).after(15 * MS);
        } else {
            upload.after((15 + at % 3 * late_ms / 2) * MS);
        }
        upload.ack_all().after(20 * US);
    }
    causes(upload)
}

#[test]
fn losses_of_single_segments_in_flight_are_no_delayed_acknowledgments() {
    for late_ms in [12, 40] {
        let found = lossy_messages(late_ms);
        assert!(!found.contains(&Cause::DelayedAckWithNagle), "{found:?}");
        assert!(found.contains(&Cause::RetransmissionStalls), "{found:?}");
    }
}

/// Messages of two segments, of which the receiver's window has room for one, which it acknowledges after 40 ms.
#[test]
fn a_window_of_one_segment_holds_back_what_nagle_s_algorithm_would() {
    let mut upload = upload(20 * US, 5 * MS, MSS as u16);
    upload.at(20 * MS);
    for _ in 0..60 {
        upload.send(1, MSS, 0).after(45 * MS).ack_all();
        upload
            .after(20 * US)
            .send(1, 540, 0)
            .after(45 * MS)
            .ack_all()
            .after(MS);
    }
    let flow = upload.flow();
    let rule = delayed_ack_with_nagle(&FlowFacts::of(&flow).expect("payload"));
    let held = rule.map_or(0.0, |it| it.evidence["held_back_acks"]);
    assert!(held <= 60.0, "{held}");
}

/// The same, captured at the client: a timer of 250 ms that runs freely acknowledges some first parts, and comes too late for
/// others. `others` of the second parts are lost.
fn asked_from_here(others: u64) -> Vec<Cause> {
    let mut dialogue = Script::open(End::First, 4 * MS, 20 * US, 60_000);
    for request in 0..12_u64 {
        let first = dialogue.sent();
        dialogue.write(End::First, 4);
        if request % 2 == 1 {
            dialogue.after(212 * MS).segment(first, 4).after(4 * MS);
        } else {
            dialogue.after((30 + request) * MS);
        }
        dialogue.confirm(End::Second).after(10 * US);
        let second = dialogue.sent();
        dialogue.write(End::First, 243);
        if request < others {
            dialogue.after(212 * MS).segment(second, 243);
        }
        dialogue.after(4 * MS).write(End::Second, 414);
        dialogue.after(20 * US);
    }
    causes(dialogue)
}

#[test]
fn a_delayed_acknowledgment_is_no_loss_where_nothing_else_is_lost() {
    assert_eq!(asked_from_here(0), [Cause::DelayedAckWithNagle]);
    let lost = asked_from_here(8);
    assert_ne!(lost.first(), Some(&Cause::DelayedAckWithNagle), "{lost:?}");
}

/// 20 answers in two writes, captured at the server; each first part is acknowledged after `late_ms`, and a person pauses for 2 s before
/// the next request.
fn chat(late_ms: u64) -> Vec<Cause> {
    let mut chat = Script::open(End::Second, 20 * US, 60 * MS, 60_000);
    for _ in 0..20 {
        chat.after(2_000 * MS).write(End::First, 400);
        chat.after(MS).write(End::Second, 27);
        chat.after(late_ms * MS).confirm(End::First);
        chat.after(20 * US).write(End::Second, 96);
        chat.after(60 * MS).confirm(End::First);
    }
    causes(chat)
}

#[test]
fn pauses_of_a_person_do_not_hide_what_delayed_acknowledgments_cost() {
    assert_eq!(chat(250), [Cause::DelayedAckWithNagle]);
    assert_eq!(chat(100), [], "less than a second in all");
}

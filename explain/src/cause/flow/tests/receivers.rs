//! Receivers whose programs stop, read slowly, or answer nothing.

use super::windows::closings;
use super::{causes, repair, upload};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::synthetic::{MS, MSS, Script};
use linerate_capture::model::Limit;
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// Nothing arrives for three seconds, in which the first missing segment is repeated four times.
fn outage() -> Vec<Cause> {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    let mut at_ns = 20 * MS;
    for round in 0..200 {
        let first = upload.sent();
        upload.at(at_ns).send(10, MSS, MS);
        if round == 100 {
            for wait_ms in [200, 600, 1_400, 3_000] {
                upload.at(at_ns + wait_ms * MS).segment(first, MSS);
            }
            at_ns += 3_000 * MS;
        }
        at_ns += 20 * MS;
        upload.at(at_ns).ack_all();
    }
    causes(upload)
}

/// Rounds that fill a window of twenty segments. In each sixth, the first is lost; after its repair nothing is sent for
/// 300 ms.
fn repairs(closes: bool) -> Option<Cause> {
    let full = 20 * MSS as u16;
    let mut upload = upload(MS / 50, 5 * MS, full);
    let mut at_ns = 10 * MS;
    for round in 0..60_u64 {
        let first = upload.sent();
        upload.at(at_ns).send(20, MSS, 100_000);
        at_ns += 8 * MS;
        if round % 6 == 5 {
            repair(upload.at(at_ns), first);
            at_ns += 6 * MS;
            let window = if closes { 0 } else { full };
            upload.at(at_ns).ack_all_with(window);
            at_ns += 300 * MS;
        }
        upload.at(at_ns).ack_all_with(full);
    }
    causes(upload).first().copied()
}

#[test]
fn what_may_limit_the_same_time_instead_is_the_second_explanation() {
    assert_eq!(
        closings(8, 60),
        [Cause::ReceiverReadsSlowly, Cause::ReceiverStalls]
    );
    assert_eq!(
        outage(),
        [Cause::LinkInterrupted, Cause::RetransmissionStalls]
    );
}

#[test]
fn a_window_that_is_closed_after_a_repair_is_that_of_a_program_that_stops() {
    assert_eq!(repairs(true), Some(Cause::ReceiverReadsSlowly));
    assert_eq!(repairs(false), Some(Cause::SenderIdle));
}

#[test]
fn a_window_that_is_full_until_a_late_acknowledgment_is_the_limit() {
    let late = |segments: u32| {
        let mut upload = upload(MS / 50, 10 * MS, 9 * MSS as u16);
        for round in 0..100_u64 {
            let at_ns = 30 * MS + round * 40 * MS;
            upload.at(at_ns).send(segments, MSS, 10_000);
            upload.at(at_ns + 39 * MS).ack_all();
        }
        causes(upload)
    };
    assert_eq!(late(9), [Cause::ReceiveWindow]);
    assert!(!late(4).contains(&Cause::ReceiveWindow));
}

/// A request that is acknowledged, and after `patience_ns` the client's FIN.
fn question(bytes: u32, patience_ns: u64, is_answered: bool) -> Vec<Cause> {
    let mut request = upload(MS / 50, 5 * MS, 60_000);
    request.after(MS).write(End::First, bytes).after(5 * MS);
    request.confirm(End::Second);
    if is_answered {
        request.after(MS).write(End::Second, 300);
        request.after(MS).confirm(End::First);
    }
    let numbers = request.next;
    request.after(patience_ns);
    request.packet(End::First, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    causes(request)
}

#[test]
fn a_server_that_acknowledges_a_request_until_its_client_gives_up_does_not_answer() {
    assert_eq!(question(80, 6_000 * MS, false), [Cause::NoAnswer]);
    assert_eq!(question(80, 6_000 * MS, true), []);
    // A report that expects no answer, and a transfer whose end is awaited.
    assert_eq!(question(80, 100 * MS, false), []);
    assert_eq!(question(50_000, 6_000 * MS, false), []);
}

/// Requests of 80 octets, each answered after `answer_ms`, `pause_ms` apart, and one of `bytes` that is acknowledged, and followed by the
/// FIN of the end `closing` after 6 s.
fn last_question(
    requests: u64,
    [answer_ms, pause_ms]: [u64; 2],
    bytes: u32,
    closing: End,
) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 5 * MS, MS / 50, 60_000);
    for _ in 0..requests {
        dialogue.after(pause_ms * MS).write(End::First, 80);
        dialogue.after((5 + answer_ms) * MS).write(End::Second, 300);
        dialogue.after(MS / 50).confirm(End::First);
    }
    dialogue.after(pause_ms * MS).write(End::First, bytes);
    dialogue
        .after(5 * MS)
        .confirm(End::Second)
        .after(6_000 * MS);
    let [first, second] = dialogue.next;
    let numbers = if closing == End::First {
        [first, second]
    } else {
        [second, first]
    };
    dialogue.packet(closing, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    causes(dialogue)
}

#[test]
fn a_server_that_hangs_does_not_answer_the_last_request() {
    let hangs = [Cause::NoAnswer];
    assert_eq!(last_question(4, [0, 1], 80, End::First), hangs);
    assert_eq!(last_question(4, [30, 1_000], 80, End::First), hangs);
    // A farewell, and a connection that its server closes.
    assert_eq!(last_question(4, [0, 1], 31, End::First), []);
    assert_eq!(last_question(4, [0, 1], 80, End::Second), []);
}

#[test]
fn what_is_answered_now_and_then_or_seldom_asked_may_stay_unanswered() {
    // Who knows after two answers?
    assert_eq!(last_question(2, [0, 1], 80, End::First), []);
    // A pause of half the time that it waits.
    assert_eq!(last_question(4, [0, 4_000], 80, End::First), []);
    // Messages that come by themselves, and are confirmed.
    let mut pushes = Script::open(End::Second, 5 * MS, MS / 50, 60_000);
    pushes.after(MS).write(End::First, 40);
    for ms in [50, 210, 400, 170, 90, 330] {
        pushes.after(ms * MS).write(End::Second, 300);
        pushes.after(MS / 50).write(End::First, 40);
    }
    pushes.after(5 * MS).confirm(End::Second).after(6_000 * MS);
    let numbers = pushes.next;
    pushes.packet(End::First, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    assert!(!causes(pushes).contains(&Cause::NoAnswer));
}

#[test]
fn a_request_that_does_not_arrive_is_not_left_unanswered_by_its_server() {
    let mut request = upload(MS / 50, 5 * MS, 60_000);
    let start = request.sent();
    request.after(MS).segment(start, 800);
    for again in 0..5_u32 {
        request.after((200 << again) * MS).segment(start, 800);
    }
    let numbers = request.next;
    request.after(9_000 * MS);
    request.packet(End::First, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    assert!(!causes(request).contains(&Cause::NoAnswer));
}

#[test]
fn a_request_of_which_a_part_arrives_is_not_left_unanswered_by_its_server() {
    let mut request = upload(MS / 50, 5 * MS, 60_000);
    let start = request.sent();
    request.after(MS).segment(start, 80).after(5 * MS).ack_all();
    request.after(MS).segment(start + 80, 40);
    let numbers = request.next;
    request.after(6_000 * MS);
    request.packet(End::First, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    assert!(!causes(request).contains(&Cause::NoAnswer));
}

#[test]
fn an_answer_after_a_silence_repairs_nothing() {
    let mut dialogue = Script::open(End::Second, 20 * MS, MS / 50, 60_000);
    for _ in 0..10 {
        dialogue.after(300 * MS).write(End::First, 100);
        dialogue.after(100 * MS).write(End::Second, MSS);
        dialogue.after(MS / 20).confirm(End::First);
    }
    let flow = dialogue.flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    assert!(facts.model.is_near_receiver());
    assert_eq!(facts.model.time_ns(Limit::Timeout), 0);
}

/// Segments of 182 octets, one in a round trip of 4 ms, captured at the receiver, which grants much more.
fn crumbs(flags: u8) -> Vec<Cause> {
    let mut download = Script::open(End::Second, 4 * MS, MS / 50, 60_000);
    for round in 0..400 {
        let numbers = [download.sent(), 1];
        download.at(10 * MS + round * 4 * MS);
        download.packet(End::Second, Segment::ACK | flags, numbers, 182, &[]);
        download.next[End::Second as usize] += 182;
        download.after(MS / 50).ack_all();
    }
    causes(download)
}

/// The same with segments of 536 octets, from a host that announces this MSS itself.
fn segments_of_its_own_mss(mss: u16) -> Vec<Cause> {
    let mut download = Script::late(End::Second, 60_000);
    let [high, low] = mss.to_be_bytes();
    download.packet(End::First, Segment::SYN, [0, 0], 0, &[2, 4, 5, 0xB4]);
    download.after(4 * MS);
    let answer = Segment::SYN | Segment::ACK;
    download.packet(End::Second, answer, [0, 1], 0, &[2, 4, high, low]);
    download.after(MS / 50);
    download.packet(End::First, Segment::ACK, [1, 1], 0, &[]);
    for round in 0..400 {
        let numbers = [download.sent(), 1];
        download.at(10 * MS + round * 4 * MS);
        download.packet(End::Second, Segment::ACK, numbers, 536, &[]);
        download.next[End::Second as usize] += 536;
        download.after(MS / 50).ack_all();
    }
    causes(download)
}

#[test]
fn full_segments_of_a_stack_with_a_small_mss_see_no_small_window() {
    assert_eq!(segments_of_its_own_mss(1_460)[..1], [Cause::SillyWindow]);
    assert_eq!(segments_of_its_own_mss(536)[..1], [Cause::OneInFlight]);
}

#[test]
fn small_segments_that_end_no_write_are_those_of_a_small_window() {
    assert_eq!(crumbs(0)[..1], [Cause::SillyWindow]);
    assert!(!crumbs(Segment::PSH).contains(&Cause::SillyWindow));
}

/// One segment after the other, each as soon as the receiver has room for it; its program takes 600 octets each 2 ms. In two of
/// three times, the window has less room than a segment when it arrives.
#[test]
fn a_window_without_room_for_a_segment_is_no_full_link() {
    let mut upload = upload(5 * MS, MS / 50, 2_920);
    let mut at_ns = 20 * MS;
    for segment in 0..600_u32 {
        upload.at(at_ns).send(1, MSS, 0);
        let is_short = segment % 3 != 0;
        upload
            .after(1_000)
            .ack_all_with(if is_short { 1_160 } else { 1_464 });
        at_ns += 5 * MS;
        if is_short {
            upload.at(at_ns - 3 * MS).ack_all_with(1_760);
            at_ns += 2 * MS;
        }
    }
    let causes = causes(upload);
    assert!(!causes.contains(&Cause::PathRate), "{causes:?}");
}

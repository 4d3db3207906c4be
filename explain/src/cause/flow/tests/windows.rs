//! The receiver's window.

use super::*;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};

#[test]
fn without_a_small_window_a_transfer_takes_as_long_as_the_slowest_link_and_the_growing_window_need()
{
    let findings = findings(window_rounds(6));
    let first = &findings[0].finding;
    assert_eq!(first.cause, Cause::ReceiveWindow);
    // Three round trips of 19 ms in which the window doubles from 6 segments carry 42; the other 558 of 600 take 400 us each.
    let without_ns = first.evidence["time_without_ns"];
    assert!((without_ns / 280e6 - 1.0).abs() < 0.05, "{without_ns}");
}

/// A window of 16 segments that fills, is closed for `closed_ms`, and opens again; `windows` of them pass in between.
pub(super) fn closings(windows: u64, closed_ms: u64) -> Vec<Cause> {
    let full = 16 * MSS as u16;
    let mut upload = upload(MS / 50, 4 * MS, full);
    let mut at_ns = 10 * MS;
    for _ in 0..30 {
        for window in 0..windows {
            upload.at(at_ns).send(16, MSS, 10_000);
            at_ns += 6 * MS;
            let is_last = window + 1 == windows;
            upload
                .at(at_ns)
                .ack_all_with(if is_last { 0 } else { full });
        }
        at_ns += closed_ms * MS;
        upload.at(at_ns).ack_all_with(full);
    }
    causes(upload)
}

#[test]
fn a_program_that_takes_a_buffer_at_a_time_does_not_stand_still_and_one_that_stops_now_and_then_may()
 {
    let slow = closings(1, 45);
    assert_eq!(slow[0], Cause::ReceiverReadsSlowly);
    assert!(!slow.contains(&Cause::ReceiverStalls), "{slow:?}");
    let stops = [Cause::ReceiverReadsSlowly, Cause::ReceiverStalls];
    assert_eq!(closings(8, 60)[..2], stops);
}

#[test]
fn a_program_that_reads_slowly_between_its_stalls_is_slow() {
    let full = 16 * MSS as u16;
    let mut upload = upload(MS / 50, 4 * MS, full);
    let mut at_ns = 10 * MS;
    for _ in 0..12 {
        for window in 0..10 {
            upload.at(at_ns).send(16, MSS, 5 * MS / 2);
            at_ns += 100 * MS;
            let window = if window == 9 { 0 } else { full };
            upload.at(at_ns).ack_all_with(window);
        }
        at_ns += 300 * MS;
        upload.at(at_ns).ack_all_with(full);
    }
    assert_eq!(causes(upload)[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_window_far_below_what_was_granted_before_is_that_of_a_slow_reader() {
    let mut upload = upload(MS / 50, 6 * MS, 60_000);
    upload.at(10 * MS).send(20, MSS, 10_000);
    upload.at(18 * MS).ack_all_with(60_000);
    upload.at(19 * MS).send(20, MSS, 10_000);
    upload.at(28 * MS).ack_all_with(3 * MSS as u16);
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 12 * MS;
        upload.at(at_ns).send(3, MSS, 10_000);
        upload.at(at_ns + 11 * MS).ack_all_with(3 * MSS as u16);
    }
    assert_eq!(causes(upload)[0], Cause::ReceiverReadsSlowly);
}

/// An upload whose receiver grants 40 segments, then 2 and then 1, each of which the sender fills for a round trip.
fn reading_in_steps() -> Vec<Cause> {
    let mut upload = upload(MS / 50, 6 * MS, 40 * MSS as u16);
    upload.at(10 * MS);
    for _ in 0..100 {
        upload.send(40, MSS, 50_000).after(6 * MS);
        upload.ack_all_with(2 * MSS as u16).after(20_000);
        upload.send(2, MSS, 0).after(6 * MS);
        upload.ack_all_with(MSS as u16).after(20_000);
        upload.send(1, MSS, 0).after(6 * MS);
        upload.ack_all_with(40 * MSS as u16).after(20_000);
    }
    causes(upload)
}

#[test]
fn a_program_that_reads_in_steps_leaves_a_small_window_in_between() {
    assert_eq!(reading_in_steps()[0], Cause::ReceiverReadsSlowly);
    // More than a third of the largest one is no small window.
    let mut upload = upload(MS / 50, 6 * MS, 16 * MSS as u16);
    upload.at(10 * MS);
    for round in 0..300 {
        let window = [7, 4, 4][round % 3];
        upload.send(window, MSS, 50_000).after(6 * MS);
        let next = [7, 4, 4][(round + 1) % 3];
        upload.ack_all_with((next * MSS) as u16).after(20_000);
    }
    assert!(!causes(upload).contains(&Cause::ReceiverReadsSlowly));
}

#[test]
fn segments_of_half_a_window_do_not_show_the_mss() {
    let small = |window: u16| {
        let mut upload = Script::late(End::First, window);
        for round in 0..100_u64 {
            upload.at(20 * MS + round * 7 * MS);
            for _ in 0..2 {
                // No write ends with a segment.
                let numbers = [upload.sent(), 1];
                upload.packet(End::First, Segment::ACK, numbers, 450, &[]);
                upload.next[0] += 450;
                upload.after(20_000);
            }
            upload.after(6 * MS).ack_all();
        }
        causes(upload).contains(&Cause::SmallMss)
    };
    assert!(small(9_000));
    assert!(!small(900));
}

#[test]
fn a_window_is_unscaled_only_if_no_scale_was_offered() {
    let window = 44 * MSS as u16;
    let filled = |options: &[u8]| {
        let mut upload = Script::open_with(End::First, [20 * MS, MS / 50], window, options);
        for round in 0..100 {
            let at_ns = 30 * MS + round * 20 * MS;
            upload.at(at_ns).send(44, MSS, 12_000);
            upload.at(at_ns + 19 * MS).ack_all();
        }
        causes(upload)
    };
    let offered = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0];
    assert_eq!(filled(&offered), [Cause::ReceiveWindow]);
    assert_eq!(filled(&offered[..6]), [Cause::NoWindowScaling]);
}

#[test]
fn a_receiver_whose_buffer_is_full_of_unread_data_acknowledges_late_because_it_reads_late() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at(15 * MS).send(20, MSS, 10_000);
    upload.at(26 * MS).ack_all();
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 40 * MS;
        upload.at(at_ns).send(9, MSS, 10_000);
        let window = if round < 5 { 60_000 } else { 9 * MSS as u16 };
        upload.at(at_ns + 39 * MS).ack_all_with(window);
    }
    assert_eq!(causes(upload)[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_small_window_that_the_segments_behind_a_lost_one_close_is_not_read_slowly() {
    let window = 5 * MSS as u16;
    let mut upload = upload(MS / 50, 20 * MS, window);
    let mut at_ns = 30 * MS;
    for round in 0..100_u64 {
        let first = upload.sent();
        upload.at(at_ns).send(5, MSS, 12_000);
        at_ns += 20 * MS;
        if round % 8 == 0 {
            upload.at(at_ns).duplicate_acks(4, first, 0);
            upload.after(12_000).segment(first, MSS);
            at_ns += 20 * MS;
            upload.at(at_ns).ack_all_with(0);
        }
        upload.at(at_ns + 1_000).ack_all_with(window);
    }
    let causes = causes(upload);
    assert!(!causes.contains(&Cause::ReceiverReadsSlowly), "{causes:?}");
}

/// Slow start into a queue: each acknowledgment of two segments, 16 ms apart, releases three.
#[test]
fn a_window_that_only_fills_a_long_queue_is_no_limit() {
    let mut upload = upload(MS / 50, 8 * MS, 60_000);
    upload.at(10 * MS).send(10, MSS, 10_000);
    for ack in 0..300_u64 {
        upload.at(18 * MS + ack * 16 * MS);
        upload.ack(1 + (ack as u32 + 1) * 2 * MSS).after(10_000);
        if upload.sent() < 280 * MSS {
            upload.send(3, MSS, 10_000);
        } else if upload.sent() < 600 * MSS {
            upload.send(2, MSS, 10_000);
        }
    }
    let causes = causes(upload);
    assert!(causes.contains(&Cause::Bufferbloat), "{causes:?}");
    assert!(!causes.contains(&Cause::CongestionWindow), "{causes:?}");
}

/// Blocks of two segments in a capture that begins late, each of which is confirmed after 15 ms with `answer` octets, or acknowledged only,
/// and followed by the next one at once. The window is known but for its scale.
fn blocks_behind(answer: u32) -> Vec<Cause> {
    let mut upload = Script::late(End::First, 1_500);
    for _ in 0..200 {
        upload.send(2, MSS, 10_000).after(15 * MS);
        if answer > 0 {
            upload.write(End::Second, answer);
        } else {
            upload.ack_all();
        }
        upload.after(20_000);
    }
    causes(upload)
}

#[test]
fn no_window_is_guessed_where_messages_wait_for_their_confirmations() {
    assert_eq!(blocks_behind(0)[..1], [Cause::ReceiveWindow]);
    let found = blocks_behind(60);
    assert!(!found.contains(&Cause::ReceiveWindow), "{found:?}");
}

/// Captured at a receiver that grants 501 octets: a segment fills them a round trip after each acknowledgment.
#[test]
fn a_window_without_room_for_a_second_segment_is_no_rate_of_the_path() {
    let mut upload = Script::open(End::First, MS / 50, 9 * MS / 10, 501);
    for number in 0..1_000 {
        upload.after(MS / 100 * (86 + number % 5)).send(1, 501, 0);
        upload.after(MS * 17 / 100).ack_all();
    }
    let found = causes(upload);
    let is_window = |cause: &Cause| matches!(cause, Cause::SillyWindow | Cause::ReceiveWindow);
    assert!(found.first().is_some_and(is_window), "{found:?}");
}

/// A window of four segments over a round trip of 4 ms, which is closed for 1 ms now and then.
fn worked_through() -> Vec<Cause> {
    let full = 4 * MSS as u16;
    let mut upload = upload(MS / 50, 4 * MS, full);
    upload.at(40 * MS);
    for round in 0..200 {
        upload.send(4, MSS, 10_000).after(4 * MS);
        if round % 30 == 29 {
            upload.ack_all_with(0).after(MS);
        }
        upload.ack_all_with(full).after(10_000);
    }
    causes(upload)
}

#[test]
fn a_small_window_that_is_closed_now_and_then_is_a_small_window() {
    assert_eq!(worked_through()[0], Cause::ReceiveWindow);
}

/// Up to ten segments in flight, which fill a link twice, whose rate varies.
fn longer_than_the_path(window: u16) -> Vec<Cause> {
    causes(Script::behind_link(window, |number| {
        (4 + number * 7 % 24) * MS
    }))
}

#[test]
fn a_larger_window_or_buffer_would_only_lengthen_a_queue() {
    let of_window = longer_than_the_path(10 * MSS as u16);
    assert!(!of_window.contains(&Cause::ReceiveWindow), "{of_window:?}");
    let of_buffer = longer_than_the_path(60_000);
    assert!(!of_buffer.contains(&Cause::SendBuffer), "{of_buffer:?}");
}

/// An upload, captured at its sender, with 12 segments in a window that is acknowledged at a time; `is_prompt` if the first ones are
/// acknowledged one by one.
fn acknowledged_by_windows(is_prompt: bool) -> Vec<Cause> {
    let window = 12 * MSS as u16;
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, window);
    let mut at_ns = 10 * MS;
    let first = upload.sent();
    upload.at(at_ns).send(10, MSS, 10 * US);
    for number in 1..=10 {
        let acked = if is_prompt { number } else { 10 };
        let acked_ns = at_ns + 4 * MS + u64::from(number) * 10 * US;
        upload.at(acked_ns).ack(first + acked * MSS);
    }
    at_ns += 5 * MS;
    for _ in 0..100 {
        upload.at(at_ns).send(12, MSS, 10 * US);
        at_ns += 18 * MS;
        upload.at(at_ns).ack_all_with(window);
    }
    causes(upload)
}

#[test]
fn a_receiver_that_acknowledges_at_once_until_its_buffer_is_full_reads_slowly() {
    assert_eq!(acknowledged_by_windows(true)[0], Cause::ReceiverReadsSlowly);
    assert_ne!(
        acknowledged_by_windows(false)[0],
        Cause::ReceiverReadsSlowly
    );
}

/// An upload, captured at its sender on a path of 4 ms, which fills a window of 8 segments at once. Something passes one after the other,
/// each in another time, and `at_a_time` of them are acknowledged together.
fn always_full(at_a_time: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, 8 * MSS as u16);
    let mut at_ns = 20 * MS;
    upload.at(10 * MS).send(1, MSS, 0).after(4 * MS).ack_all();
    upload.at(at_ns).send(8, MSS, 10 * US);
    for number in 1..=640 {
        // It is slower and slower, and then fast again.
        at_ns += (1 + u64::from(number) % 100 / 10) * MS;
        if number % at_a_time == 0 {
            upload.at(at_ns).ack(1 + (1 + number) * MSS);
            upload.after(10 * US).send(at_a_time, MSS, 10 * US);
        }
    }
    causes(upload)
}

#[test]
fn a_window_whose_segments_always_wait_for_something_is_no_limit() {
    let one_by_one = always_full(1);
    assert!(
        !one_by_one.contains(&Cause::ReceiveWindow),
        "{one_by_one:?}"
    );
    assert_eq!(always_full(4)[0], Cause::ReceiveWindow, "a late receiver");
}

#[test]
fn a_receiver_that_acknowledges_all_of_a_window_that_changes_stretches_no_acknowledgments() {
    // Each window is answered at once, and grants what the program has read meanwhile.
    let rounds = |granted: fn(u32) -> u32, sent: fn(u32) -> u32| {
        let mut upload = upload(MS / 50, 20 * MS, 60_000);
        let mut at_ns = 30 * MS;
        for round in 0..120 {
            let window = (granted(round) * MSS) as u16;
            upload.at(at_ns).ack_all_with(window);
            upload.after(MS / 10).send(sent(round), MSS, 10_000);
            at_ns += 22 * MS;
        }
        causes(upload)
    };
    let changing = |round: u32| [12, 24, 40][round as usize % 3];
    assert!(!rounds(changing, changing).contains(&Cause::StretchAcks));
    let unfilled = rounds(|round| [22, 44][round as usize % 2], |round| 6 + round / 8);
    assert_eq!(unfilled[0], Cause::StretchAcks);
}

//! Windows that fall as data arrives.

use super::{causes, upload};
use crate::cause::synthetic::{MS, MSS};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

const FULL: u16 = 8 * MSS as u16;

/// Flights of a whole window. `unread` segments of each are acknowledged before they are read, and `opens_ms` later the window is open again.
fn falls(unread: impl Fn(u64) -> u16, opens_ms: u64) -> Vec<Cause> {
    let mut upload = upload(MS / 50, 20 * MS, FULL);
    upload.at(30 * MS);
    for round in 0..150 {
        upload.send(8, MSS, 10_000).after(20 * MS);
        upload.ack_all_with(FULL - unread(round) * MSS as u16);
        let wait_ns = if unread(round) > 0 { opens_ms * MS } else { 0 };
        upload.after(wait_ns).ack_all_with(FULL).after(10_000);
    }
    causes(upload)
}

#[test]
fn a_window_that_opens_long_after_its_data_was_acknowledged_is_read_slowly() {
    assert_eq!(falls(|_| 4, 15)[..1], [Cause::ReceiverReadsSlowly]);
    // A stack that acknowledges before its program reads: the update follows at once.
    assert_eq!(falls(|_| 4, 1), [Cause::ReceiveWindow]);
    assert_eq!(falls(|_| 0, 0), [Cause::ReceiveWindow]);
}

#[test]
fn where_a_little_waits_for_the_program_both_are_named() {
    let often = |every: u64, segments: u16| {
        falls(
            move |round| if round % every == 0 { segments } else { 0 },
            15,
        )
    };
    assert_eq!(
        often(3, 4)[..2],
        [Cause::ReceiverReadsSlowly, Cause::ReceiveWindow]
    );
    assert_eq!(
        often(6, 4)[..2],
        [Cause::ReceiveWindow, Cause::ReceiverReadsSlowly]
    );
    // A few in the whole transfer are no habit.
    assert_eq!(often(40, 8 - 1), [Cause::ReceiveWindow]);
}

/// Segments of 144 and 200 octets that fill the window, each after 230 ms in which the sender holds it back, captured at the sender;
/// `short` octets less than the window.
fn held_back(short: u32) -> Vec<Cause> {
    let mut upload = upload(MS / 50, 16 * MS, 144);
    for number in 0..40_u16 {
        let [window, next] = if number % 2 == 0 {
            [144, 200]
        } else {
            [200, 144]
        };
        upload.after(230 * MS);
        let numbers = [upload.sent(), 1];
        let len = u32::from(window) - short;
        upload.packet(End::First, Segment::ACK | Segment::PSH, numbers, len, &[]);
        upload.next[0] += len;
        upload.after(16 * MS).ack_all_with(next);
    }
    causes(upload)
}

#[test]
fn a_sender_that_holds_back_what_the_window_leaves_of_a_segment_waits_for_the_window() {
    assert_eq!(held_back(0)[..1], [Cause::SillyWindow]);
    assert!(!held_back(4).contains(&Cause::SillyWindow));
}

/// A window of a segment and a third, which each acknowledgment opens.
#[test]
fn a_window_that_is_opened_by_more_than_a_segment_is_not_silly() {
    let window = MSS as u16 + 490;
    let mut upload = upload(MS / 50, 16 * MS, window);
    upload.at(30 * MS);
    for _ in 0..150 {
        upload.send(1, MSS, 0).send(1, 490, 0).after(16 * MS);
        upload.ack_all_with(window).after(10_000);
    }
    assert_eq!(causes(upload)[..1], [Cause::ReceiveWindow]);
}

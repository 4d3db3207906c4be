//! Dialogues by UDP in which a timer runs out.

use super::capture::{Capture, End, MS};
use linerate_results::record::Cause;

const ENDS: [End; 2] = [(1, 40_000), (2, 9_000)];
const BACK: [End; 2] = [ENDS[1], ENDS[0]];

/// 60 messages, each sent 5 ms after the answer to the one before; each tenth waits for `wait_ms`, one after another, before it comes
/// again, the same or not.
fn dialogue(waits_ms: &[u64], is_same: bool) -> Vec<Cause> {
    let mut capture = Capture::default();
    let mut now_ns = 0;
    let mut number = 0_u16;
    for at in 0..60_u16 {
        let mut send = |now_ns: u64, is_new: bool| {
            number += u16::from(is_new);
            capture.udp(
                now_ns,
                ENDS,
                &[&b"message"[..], &number.to_be_bytes()].concat(),
            );
        };
        send(now_ns, true);
        if at % 10 == 5 {
            for wait_ms in waits_ms {
                now_ns += wait_ms * MS;
                send(now_ns, !is_same);
            }
        }
        now_ns += 4 * MS;
        capture.udp(now_ns, BACK, &at.to_be_bytes());
        now_ns += 5 * MS;
    }
    capture.causes()
}

#[test]
fn a_message_that_comes_again_after_a_silence_was_lost() {
    let stalls = [Cause::RetransmissionStalls];
    assert_eq!(dialogue(&[600, 700], true), stalls);
    assert_eq!(dialogue(&[1_000], true), [], "six waits");
    assert_eq!(dialogue(&[], true), []);
    assert_eq!(dialogue(&[150, 150], true), [], "1.8 s in all");
    assert_eq!(dialogue(&[600, 700], false), [], "something else");
}

#[test]
fn waits_that_double_are_those_of_a_timer_whatever_is_sent() {
    assert_eq!(
        dialogue(&[250, 500, 1_000], false),
        [Cause::RetransmissionStalls]
    );
    assert_eq!(dialogue(&[400, 800], false), [], "two may be chance");
    assert_eq!(dialogue(&[250, 700, 900], false), []);
}

#[test]
fn polls_that_are_answered_are_no_repetitions() {
    let mut capture = Capture::default();
    for second in 0..60 {
        capture.udp(second * 1_000 * MS, ENDS, b"state?");
        capture.udp(second * 1_000 * MS + MS, BACK, b"on");
    }
    assert_eq!(capture.causes(), []);
}

#[test]
fn a_connection_that_is_kept_open_at_intervals_that_double_waits_for_nothing() {
    let mut capture = Capture::default();
    let (mut now_ns, mut number) = (0, 0_u16);
    for _ in 0..6 {
        for wait_ms in [200, 200, 400, 800, 1_600] {
            now_ns += wait_ms * MS;
            number += 1;
            capture.udp(now_ns, ENDS, &number.to_be_bytes());
            capture.udp(now_ns + 30 * MS, BACK, &number.to_be_bytes());
        }
    }
    assert_eq!(capture.causes(), []);
}

#[test]
fn a_clock_whose_messages_sometimes_come_again_is_no_timer() {
    let mut capture = Capture::default();
    let mut now_ns = 0;
    for round in 0..20_u16 {
        now_ns += 5_000 * MS;
        capture.udp(now_ns, ENDS, &round.to_be_bytes());
        now_ns += 10_000 * MS;
        // Three are the same as the one before.
        let next = if round % 8 == 0 { round } else { round + 100 };
        capture.udp(now_ns, ENDS, &next.to_be_bytes());
        capture.udp(now_ns + MS, BACK, &round.to_be_bytes());
    }
    assert_eq!(capture.causes(), []);
}

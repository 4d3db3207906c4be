//! Questions and answers by UDP.

use super::capture::{Capture, End, MS, US};
use linerate_results::record::Cause;

const ENDS: [End; 2] = [(1, 47_808), (2, 47_808)];

/// 100 questions: for each, the time until it is answered and until the client asks again, in microseconds.
fn dialogue(times_us: impl Fn(u64) -> [u64; 2]) -> Vec<Cause> {
    let mut capture = Capture::default();
    let mut now_ns = 0;
    for at in 0..100 {
        let [answer_us, next_us] = times_us(at);
        capture.udp(now_ns, ENDS, b"what is the temperature?");
        now_ns += answer_us * US;
        capture.udp(now_ns, [ENDS[1], ENDS[0]], b"21");
        now_ns += next_us * US;
    }
    capture.causes()
}

#[test]
fn a_client_that_only_waits_for_answers_is_slowed_down_by_them() {
    let answers_us = |at: u64| 28_000 + at % 10 * 4_000;
    let slow = dialogue(|at| [answers_us(at), 4_600]);
    assert_eq!(slow, [Cause::ServerThinkTime]);
    assert_eq!(dialogue(|at| [answers_us(at), 40_000]), [], "polls");
    assert_eq!(dialogue(|at| [answers_us(at) / 4, 1_000]), [], "soon");
    // A clock of the client, at each 66 ms.
    assert_eq!(
        dialogue(|at| [answers_us(at), 66_000 - answers_us(at)]),
        [],
        "a clock"
    );
}

#[test]
fn a_client_that_asks_at_once_after_each_round_trip_has_one_question_in_flight() {
    let late_us = |at: u64| at * 7 % 5 * 40;
    let at_client = dialogue(|at| [78_700 + late_us(at), 100 + late_us(at + 2) / 2]);
    assert_eq!(at_client, [Cause::OneInFlight, Cause::ServerThinkTime]);
}

#[test]
fn voice_in_both_directions_is_no_dialogue() {
    // Packets of both directions each 20 ms, those of one 3 ms behind those of the other, or a little more.
    let media = |interval_us: u64| {
        let late = move |at: u64| at * 7 % 5 * 100;
        dialogue(move |at| [interval_us - 3_000 - late(at), 3_000 + late(at + 1)])
    };
    assert_eq!(media(20_000), []);
    // The other direction follows at once.
    assert_eq!(dialogue(|at| [59_790 + at % 3 * 10, 200]), []);
    assert_eq!(media(60_000), []);
}

#[test]
fn a_client_that_pauses_beside_a_late_answer_is_no_loop() {
    let pause = MS / US * 700;
    assert_eq!(dialogue(|at| [30_000 + at % 7 * 3_000, pause]), []);
}

#[test]
fn a_server_that_works_for_each_block_is_late_and_a_path_takes_as_long_for_each() {
    // 111 blocks of 481 octets, each asked for by a request with a number.
    let blocks = |answer_us: fn(u64) -> u64| {
        let ends: [End; 2] = [(1, 56_595), (2, 161)];
        let mut capture = Capture::default();
        let mut now_ns = 0;
        for at in 0..111_u64 {
            let request = [&(at as u16).to_be_bytes()[..], &[7; 76]].concat();
            capture.udp(now_ns, ends, &request);
            now_ns += answer_us(at) * US;
            let block = [&(at as u16).to_be_bytes()[..], &[7; 479]].concat();
            capture.udp(now_ns, [ends[1], ends[0]], &block);
            now_ns += 6_270 * US;
        }
        capture.causes()
    };
    assert_eq!(
        blocks(|at| 37_000 + at * 7 % 31 * 1_000),
        [Cause::ServerThinkTime]
    );
    assert_eq!(
        blocks(|at| 50_000 + at * 7 % 31 * 150),
        [Cause::OneInFlight]
    );
}

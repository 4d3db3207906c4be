//! Requests and answers.

use super::{causes, findings};
use crate::cause::synthetic::{MS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Causes of 30 requests, captured at the client, which asks 60 ms after each answer, or `ask_ms`; the server takes about `think_ns`,
/// more or less by up to `spread_ns`.
fn answers(think_ns: u64, spread_ns: u64) -> Vec<(Cause, Option<Cause>)> {
    answers_to(60, think_ns, spread_ns)
}

fn answers_to(ask_ms: u64, think_ns: u64, spread_ns: u64) -> Vec<(Cause, Option<Cause>)> {
    let mut dialogue = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    for number in 0..30_u64 {
        dialogue.after(ask_ms * MS).write(End::First, 90);
        let more_ns = number * 7 % 11 * spread_ns / 5;
        dialogue.after(think_ns - spread_ns + more_ns);
        dialogue.write(End::Second, 700);
        dialogue.after(20 * US).confirm(End::First);
    }
    let found = findings(dialogue).into_iter();
    found
        .map(|it| (it.finding.cause, it.alternative_to))
        .collect()
}

#[test]
fn answers_after_a_constant_time_may_be_those_of_a_station_that_sleeps() {
    let asleep = (Cause::WakeUpLatency, Some(Cause::ServerThinkTime));
    let constant = answers(110 * MS, 50 * US);
    // Such a stack would have acknowledged the requests before.
    assert_eq!(constant[0].0, Cause::WakeUpLatency, "{constant:?}");
    let thinks = (Cause::ServerThinkTime, Some(Cause::WakeUpLatency));
    assert!(constant.contains(&thinks), "{constant:?}");
    let sooner = answers(90 * MS, 50 * US);
    assert_eq!(sooner[0].0, Cause::ServerThinkTime, "{sooner:?}");
    assert!(sooner.contains(&asleep), "{sooner:?}");
    let varied = answers(110 * MS, 30 * MS);
    assert_eq!(varied[0].0, Cause::ServerThinkTime, "{varied:?}");
    assert!(!varied.contains(&asleep), "{varied:?}");
}

#[test]
fn a_client_that_takes_longer_than_the_server_keeps_itself_waiting() {
    assert_eq!(answers_to(190, 90 * MS, 50 * US), []);
}

/// A client that asks 200 ms after each answer of `octets`, which follows at once.
fn polls(octets: u32) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 20 * MS, 20 * US, 60_000);
    for number in 0..30_u64 {
        dialogue
            .after((195 + number * 7 % 11) * MS)
            .write(End::First, 90);
        dialogue.after(20 * MS).write(End::Second, octets);
        dialogue.after(20 * US).confirm(End::First);
    }
    causes(dialogue)
}

#[test]
fn a_client_that_polls_what_fits_into_a_segment_keeps_nobody_waiting() {
    assert_eq!(polls(1_400), []);
    assert_eq!(polls(8 * 1_460), [Cause::ClientThinkTime]);
}

/// Six answers after these times, captured at the server; the client asks at once.
fn few_answers(think_ms: [u64; 6]) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 20 * US, 17 * MS, 60_000);
    for think_ms in think_ms {
        dialogue.write(End::First, 88).after(10 * US);
        dialogue.confirm(End::Second);
        dialogue.after(think_ms * MS).write(End::Second, 314);
        dialogue.after(17 * MS);
    }
    causes(dialogue)
}

#[test]
fn a_server_that_is_asked_again_at_once_has_no_timer_of_its_own() {
    // The first answer, which no gap precedes, takes longest.
    let found = few_answers([563, 496, 486, 548, 485, 512]);
    assert_eq!(found, [Cause::ServerThinkTime]);
}

#[test]
fn late_acknowledgments_of_answers_are_no_timer_of_the_client() {
    let mut dialogue = Script::open(End::Second, 14 * MS, 20 * US, 60_000);
    for acked_ms in [135, 191, 245, 160, 222] {
        dialogue.write(End::First, 90).after(14 * MS);
        dialogue.write(End::Second, 35_200);
        // The stack delays the acknowledgment of the last octets; the program asks again after the same time.
        dialogue.after(acked_ms * MS).confirm(End::First);
        dialogue.after((413 - acked_ms) * MS);
    }
    assert_eq!(causes(dialogue)[..1], [Cause::ClientThinkTime]);
}

/// Short messages of 10 octets, each answered after these times in turn.
fn answered_after(times_ms: &[u64]) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 20 * US, 20 * US, 60_000);
    for think_ms in times_ms.iter().cycle().take(30) {
        dialogue.after(2 * MS).write(End::First, 10);
        dialogue.after(think_ms * MS).write(End::Second, 9_000);
        dialogue.after(20 * US).confirm(End::First);
    }
    causes(dialogue)
}

#[test]
fn answers_that_come_when_something_happens_are_no_work_of_the_server() {
    let works = answered_after(&[40, 70, 55]);
    assert_eq!(works[..1], [Cause::ServerThinkTime]);
    let poll = answered_after(&[8, 8, 100, 8, 9, 8, 105, 110]);
    assert_eq!(poll[..1], [Cause::ServerThinkTime], "a least time");
    let screen = answered_after(&[8, 230, 12, 24, 90, 9, 420]);
    assert!(!screen.contains(&Cause::ServerThinkTime), "{screen:?}");
}

/// So many requests, each sent as soon as the one before is answered, which takes `think_us`, or up to three times as long by chance.
fn one_by_one(requests: u64, think_us: u64, varies: bool) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 200 * US, 20 * US, 60_000);
    for number in 0..requests {
        dialogue.after(100 * US).write(End::First, 40);
        let factor = 4 + if varies { number * 7 % 9 } else { 0 };
        dialogue.after(200 * US + think_us * factor * US / 4);
        dialogue.write(End::Second, 80);
    }
    causes(dialogue)
}

#[test]
fn short_times_of_a_server_sum_up_over_many_answers() {
    assert_eq!(one_by_one(600, 3_000, false)[..1], [Cause::ServerThinkTime]);
    assert_eq!(one_by_one(600, 300, false), []);
    assert_eq!(one_by_one(100, 3_000, false), []);
    assert_eq!(one_by_one(600, 1_200, true), [], "the path varies");
}

/// A controller that reports 40 octets 0.9 s after each message of 12 octets, and once more a second later if it reports `unasked`, too.
/// Captured at the client; all is acknowledged at once.
fn reports(unasked: bool) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    for _ in 0..20 {
        dialogue.write(End::First, 12).after(4 * MS);
        dialogue.confirm(End::Second).after(896 * MS);
        dialogue.write(End::Second, 40).after(20 * US);
        dialogue.confirm(End::First).after(100 * MS);
        if unasked {
            dialogue.after(900 * MS).write(End::Second, 40);
            dialogue.after(20 * US).confirm(End::First);
            dialogue.after(100 * MS);
        }
    }
    causes(dialogue)
}

#[test]
fn a_controller_that_also_reports_unasked_answers_nobody() {
    assert_eq!(reports(true), []);
    assert_eq!(reports(false), [Cause::ServerThinkTime]);
}

/// Answers of 60 kB that begin after about a second, whose segments a line brings each 12 ms; captured at the client.
fn late_downloads(think_ms: &[u64]) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 20 * MS, 20 * US, 60_000);
    for ms in think_ms {
        dialogue.write(End::First, 300).after(20 * MS);
        dialogue.confirm(End::Second).after(ms * MS);
        for _ in 0..41 {
            dialogue.write(End::Second, 1_460).after(20 * US);
            dialogue.confirm(End::First).after(12 * MS - 20 * US);
        }
    }
    causes(dialogue)
}

#[test]
fn the_pace_of_a_line_behind_a_late_answer_is_no_timer_of_the_server() {
    let found = late_downloads(&[1_200, 700, 1_500, 900, 1_100]);
    assert!(found.contains(&Cause::ServerThinkTime), "{found:?}");
    let found = late_downloads(&[1, 2, 1, 3, 1]);
    assert!(!found.contains(&Cause::ServerThinkTime), "{found:?}");
}

/// Six answers of 80 kB, captured at the server: the client asks these times after them, or at an interval.
fn files(pauses_ms: [u64; 5], interval_ms: Option<u64>) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 20 * US, 8 * MS, 60_000);
    let mut asked_ns = 20 * MS;
    for number in 0..6_usize {
        dialogue.at(asked_ns).write(End::First, 560).after(30 * US);
        for _ in 0..10 + number * 7 % 4 {
            dialogue.write(End::Second, 8_000).after(8 * MS);
            dialogue.confirm(End::First).after(30 * US);
        }
        let pause_ns = pauses_ms.get(number).map_or(0, |ms| ms * MS);
        asked_ns = match interval_ms {
            Some(ms) => asked_ns + ms * MS,
            None => dialogue.now_ns + pause_ns,
        };
    }
    causes(dialogue)
}

#[test]
fn a_person_or_a_player_who_asks_for_files_keeps_nobody_waiting() {
    let thinks = |found: &[Cause]| found.contains(&Cause::ClientThinkTime);
    assert!(thinks(&files([700, 760, 720, 830, 690], None)));
    assert!(!thinks(&files([640, 1_210, 520, 1_150, 990], None)));
    assert!(!thinks(&files([0; 5], Some(800))));
}

/// Answers in two parts, the second 145 ms to 155 ms after the first, captured at the client, which asks again at once.
fn in_two_parts(octets: [u32; 2]) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, MS, 20 * US, 60_000);
    for number in 0..30_u64 {
        dialogue.after(20 * US).write(End::First, 90);
        dialogue.after(MS).write(End::Second, octets[0]);
        dialogue.after(20 * US).confirm(End::First);
        dialogue
            .after((145 + number * 7 % 11) * MS)
            .write(End::Second, octets[1]);
        dialogue.after(20 * US).confirm(End::First);
    }
    causes(dialogue)
}

#[test]
fn a_status_line_before_the_work_is_no_answer() {
    assert_eq!(in_two_parts([43, 645]), [Cause::ServerThinkTime]);
    let like = in_two_parts([400, 645]);
    assert!(!like.contains(&Cause::ServerThinkTime), "{like:?}");
}

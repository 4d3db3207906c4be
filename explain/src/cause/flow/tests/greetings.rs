//! Servers that speak first, and servers that are late once.

use super::{causes, findings};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// From the capture point to the server and back, and to the client and back: at the client, and at the server.
const PATHS: [[u64; 2]; 2] = [[12 * MS, 20 * US], [20 * US, 12 * MS]];

/// A connection on this path whose server sends its greeting after `late_ms`; the client sends `messages`, the first of them
/// `client_ms` after the greeting, and each is answered at once.
fn greeted(legs_ns: [u64; 2], late_ms: u64, client_ms: u64, messages: u32) -> Script {
    let mut dialogue = Script::open(End::Second, legs_ns[0], legs_ns[1], 60_000);
    dialogue.after(legs_ns[0] + late_ms * MS);
    dialogue.write(End::Second, 40).after(client_ms * MS);
    for _ in 0..messages {
        dialogue.after(legs_ns[1]).write(End::First, 16);
        dialogue.after(legs_ns[0]).write(End::Second, 34);
    }
    dialogue.after(legs_ns[1]).confirm(End::First);
    dialogue
}

#[test]
fn a_server_that_greets_late_thinks() {
    for legs_ns in PATHS {
        let found = findings(greeted(legs_ns, 5_003, 1, 6));
        assert_eq!(found.len(), 1, "{found:?}");
        let finding = &found[0].finding;
        assert_eq!(finding.cause, Cause::ServerThinkTime, "{found:?}");
        assert!(finding.summary.contains("greeting 5 s"), "{finding:?}");
        assert!(
            finding.advice.contains("look up the name"),
            "{}",
            finding.advice
        );
        let late_ns = finding.evidence["greeting_ns"];
        assert!((4.98e9..5.02e9).contains(&late_ns), "{late_ns}");
    }
}

#[test]
fn a_server_that_greets_at_once_does_not() {
    for legs_ns in PATHS {
        for late_ms in [0, 20, 350] {
            assert_eq!(causes(greeted(legs_ns, late_ms, 1, 6)), [], "{late_ms} ms");
        }
    }
}

#[test]
fn a_first_message_after_minutes_is_no_greeting() {
    assert_eq!(
        causes(greeted(PATHS[0], 40_000, 1, 6))[..1],
        [Cause::ServerThinkTime]
    );
    assert_eq!(causes(greeted(PATHS[0], 90_000, 1, 6)), []);
}

#[test]
fn a_server_that_pushes_greets_nobody() {
    // A client that only listens.
    let mut listening = Script::open(End::Second, 12 * MS, 20 * US, 60_000);
    for ms in [3_000, 4_100, 900, 7_300, 2_200, 5_000] {
        listening.after(ms * MS).write(End::Second, 40);
        listening.after(20 * US).confirm(End::First);
    }
    assert_eq!(causes(listening), []);
    // News that the client confirms once.
    assert_eq!(causes(greeted(PATHS[0], 5_003, 1, 0)), []);
    let mut confirmed = Script::open(End::Second, 12 * MS, 20 * US, 60_000);
    confirmed.after(5_003 * MS).write(End::Second, 40);
    confirmed.after(20 * MS).write(End::Second, 40);
    confirmed.after(MS).write(End::First, 16);
    confirmed.after(12 * MS).confirm(End::Second);
    assert_eq!(causes(confirmed), []);
    // A person who reads it first.
    assert_eq!(causes(greeted(PATHS[0], 5_003, 4_000, 6)), []);
}

#[test]
fn where_answers_are_lost_a_greeting_may_have_been_lost_too() {
    let found = |repeats: bool| {
        let mut dialogue = greeted(PATHS[0], 3_000, 1, 6);
        if repeats {
            let [first, second] = dialogue.next;
            let flags = Segment::ACK | Segment::PSH;
            dialogue
                .after(20 * MS)
                .packet(End::Second, flags, [second - 34, first], 34, &[]);
        }
        causes(dialogue)
    };
    assert_eq!(found(false), [Cause::ServerThinkTime]);
    assert!(!found(true).contains(&Cause::ServerThinkTime));
}

#[test]
fn a_server_that_is_asked_first_sends_no_greeting() {
    // Each of the three questions is answered when there is news.
    let mut polls = Script::open(End::Second, 12 * MS, 20 * US, 60_000);
    for ms in [9_000, 3_000, 4_000] {
        polls.write(End::First, 60).after(12 * MS);
        polls.confirm(End::Second).after(ms * MS);
        polls.write(End::Second, 90).after(20 * US);
    }
    assert_eq!(causes(polls), []);
}

#[test]
fn a_greeting_after_two_seconds_is_a_small_part_of_a_long_session() {
    let session = |pause_ms: u64| {
        let mut session = greeted(PATHS[0], 2_000, 1, 6);
        for _ in 0..6 {
            session.after(pause_ms * MS).write(End::First, 16);
            session.after(12 * MS).write(End::Second, 34);
        }
        causes(session)
    };
    assert_eq!(session(100), [Cause::ServerThinkTime]);
    assert_eq!(session(900), []);
}

/// A transfer that begins this long after the connection is open, on this path, and the first segments of which come `gap_ns` apart; then
/// one segment in 20 is lost.
fn download(legs_ns: [u64; 2], late_ms: u64, gap_ns: u64) -> Script {
    let mut download = Script::open(End::Second, legs_ns[0], legs_ns[1], 60_000);
    download.after(late_ms * MS + legs_ns[0]).send(1, MSS, 0);
    download.after(gap_ns).send(9, MSS, MS);
    download.after(legs_ns[1]).ack_all();
    for _ in 0..30 {
        let lost = download.after(legs_ns[0] + MS).sent();
        if legs_ns[0] > MS {
            // At the client, it is missing.
            download.next[1] += MSS;
        } else {
            download.segment(lost, MSS);
        }
        download.send(19, MSS, MS).duplicate_acks(3, lost, 10_000);
        download.after(legs_ns[0]).segment(lost, MSS);
        download.after(legs_ns[1]).ack_all();
    }
    download
}

#[test]
fn a_server_that_sends_a_file_to_whoever_connects_may_be_late_too() {
    for legs_ns in PATHS {
        let found = findings(download(legs_ns, 5_000, MS));
        let first = &found[0].finding;
        assert_eq!(first.cause, Cause::ServerThinkTime, "{found:?}");
        assert!(first.summary.contains("first octet 5 s"), "{first:?}");
        assert!(!causes(download(legs_ns, 300, MS)).contains(&Cause::ServerThinkTime));
    }
}

#[test]
fn a_file_whose_first_segment_is_repeated_alone_was_lost_before() {
    let [at_client, at_server] = PATHS;
    assert!(!causes(download(at_client, 5_000, 24 * MS)).contains(&Cause::ServerThinkTime));
    // There it is seen to leave.
    assert!(causes(download(at_server, 5_000, 24 * MS)).contains(&Cause::ServerThinkTime));
}

/// A log-in over 12 ms, captured at the client: the server greets at once, and answers each message at once but those of `late`, which
/// it answers after these times, in milliseconds, with `octets`.
fn log_in(messages: usize, late: &[(usize, u64)], octets: u32) -> Script {
    let mut dialogue = Script::open(End::Second, 12 * MS, 20 * US, 60_000);
    dialogue.after(12 * MS).write(End::Second, 40);
    for at in 0..messages {
        dialogue.after(MS).write(End::First, 16).after(12 * MS);
        let late = late.iter().find(|(place, _)| *place == at);
        if let Some((_, ms)) = late {
            dialogue.confirm(End::Second).after(ms * MS);
        }
        let octets = if late.is_some() { octets } else { 34 };
        dialogue.write(End::Second, octets);
    }
    dialogue.after(20 * US).confirm(End::First);
    dialogue
}

#[test]
fn one_answer_in_a_busy_log_in_may_wait_for_names() {
    for place in [1, 6] {
        let found = findings(log_in(12, &[(place, 10_100)], 34));
        assert_eq!(found.len(), 1, "{found:?}");
        let finding = &found[0].finding;
        assert_eq!(finding.cause, Cause::ServerThinkTime, "{found:?}");
        assert!(
            finding.advice.contains("look up the name"),
            "{}",
            finding.advice
        );
    }
    // The last message is answered when there is news.
    assert_eq!(causes(log_in(12, &[(11, 10_100)], 34)), []);
    assert_eq!(causes(log_in(12, &[(6, 70_000)], 34)), []);
}

#[test]
fn several_answers_after_more_than_ten_seconds_are_those_of_events() {
    // A page of 9,000 octets, when it is ready.
    assert_eq!(
        causes(log_in(12, &[(3, 11_000)], 9_000)),
        [Cause::ServerThinkTime]
    );
    assert_eq!(causes(log_in(12, &[(3, 11_000), (7, 14_000)], 9_000)), []);
}

#[test]
fn one_longer_pause_of_the_client_hides_no_server_that_waits_for_names() {
    let found = |pause_ms: u64| {
        let mut dialogue = log_in(6, &[(3, 5_050)], 34);
        dialogue.after(pause_ms * MS);
        for _ in 0..6 {
            dialogue.write(End::First, 16).after(12 * MS);
            dialogue.write(End::Second, 34).after(MS);
        }
        causes(dialogue)
    };
    assert_eq!(found(900), [Cause::ServerThinkTime]);
    // Whoever pauses as long is a person, or waits for events, too.
    assert_eq!(found(3_500), []);
}

#[test]
fn an_answer_after_20_seconds_that_nothing_follows_may_be_the_end_of_an_idle_connection() {
    assert_eq!(causes(log_in(3, &[(2, 20_000)], 34)), []);
    // Where the dialogue goes on, it waited for that, and so it did for fewer seconds.
    assert_eq!(
        causes(log_in(6, &[(2, 20_000)], 34)),
        [Cause::ServerThinkTime]
    );
    assert_eq!(
        causes(log_in(3, &[(2, 8_000)], 34)),
        [Cause::ServerThinkTime]
    );
}

//! Answers that come when something happens, and those that take work.

use super::findings;
use crate::cause::flow::explain_flows;
use crate::cause::synthetic::{MS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Times from a few milliseconds to half a second, as those of a screen that changes.
const ANY_MS: [u64; 7] = [8, 230, 12, 24, 90, 9, 420];
/// Times of slow work of one kind.
const WORK_MS: [u64; 7] = [50, 500, 180, 320, 75, 260, 410];

/// The confidence that the server thinks, if that is a finding: 30 requests of `asked` octets, one at a time, are answered with
/// `answered` octets after these times in turn. Captured at the client.
fn thinks(asked: u32, answered: u32, times_ms: &[u64]) -> Option<f64> {
    let mut dialogue = Script::open(End::Second, 20 * US, 20 * US, 60_000);
    for think_ms in times_ms.iter().cycle().take(30) {
        dialogue.after(2 * MS).write(End::First, asked);
        dialogue.after(20 * US).confirm(End::Second);
        dialogue.after(think_ms * MS).write(End::Second, answered);
        dialogue.after(20 * US).confirm(End::First);
    }
    let found = findings(dialogue);
    let mut found = found.iter().map(|it| &it.finding);
    let server = found.find(|it| it.cause == Cause::ServerThinkTime);
    server.map(|it| it.confidence)
}

#[test]
fn short_messages_at_any_time_are_events_whatever_asks_for_them() {
    for asked in [10, 100, 400] {
        assert_eq!(thinks(asked, 300, &ANY_MS), None, "{asked} octets");
    }
}

#[test]
fn slow_work_of_one_kind_is_no_event() {
    for asked in [10, 100, 400] {
        let found = thinks(asked, 300, &WORK_MS);
        assert!(found.is_some(), "{asked} octets");
    }
}

#[test]
fn large_answers_at_any_time_are_work_with_less_confidence() {
    let any = thinks(100, 9_000, &ANY_MS).expect("found");
    let work = thinks(100, 9_000, &WORK_MS).expect("found");
    assert!(any < work, "{any} {work}");
}

#[test]
fn short_messages_that_usually_come_after_more_than_a_second_are_events() {
    let late_ms = [1_100, 1_900, 1_300, 2_400, 1_600, 1_200, 2_100];
    assert_eq!(thinks(12, 1_400, &late_ms), None);
    // A page that takes as long is work, and so are short answers within a second.
    assert!(thinks(12, 9_000, &late_ms).is_some());
    let sooner_ms = late_ms.map(|ms| ms / 3);
    assert!(thinks(12, 1_400, &sooner_ms).is_some());
}

#[test]
fn answers_after_more_than_a_second_show_that_the_others_are_events_too() {
    let sooner_ms = [57, 182, 290, 60, 428];
    assert!(thinks(100, 300, &sooner_ms).is_some());
    let with_later_ms = [57, 1_500, 182, 290, 2_000, 60, 428, 2_600];
    assert_eq!(thinks(100, 300, &with_later_ms), None);
}

#[test]
fn answers_after_any_time_and_usually_after_more_than_a_second_are_events_whatever_was_sent_before()
{
    let any_ms = [170, 5_600, 1_100, 2_300, 130, 4_200, 1_300];
    assert_eq!(thinks(3_600, 900, &any_ms), None);
    let work_ms = [1_000, 5_600, 1_800, 2_300, 1_300, 4_200, 1_600];
    assert!(thinks(3_600, 900, &work_ms).is_some());
}

#[test]
fn an_event_is_no_work_because_short_answers_are_late_too() {
    // A channel that is kept open, with an event after `last_ms`.
    let keeps = |last_ms: u64| {
        let mut channel = Script::open(End::Second, 20 * US, 20 * US, 60_000);
        for (pause_ms, think_ms) in [(9_000, 25), (9_000, 27), (3_000, last_ms), (500, 25)] {
            channel.after(pause_ms * MS).write(End::First, 54);
            channel.after(20 * US).confirm(End::Second);
            channel.after(think_ms * MS).write(End::Second, 1_463);
            channel.after(20 * US).confirm(End::First);
        }
        let found = findings(channel);
        let mut found = found.iter().map(|it| it.finding.cause);
        found.any(|it| it == Cause::ServerThinkTime)
    };
    assert!(!keeps(6_000));
    assert!(keeps(900), "a second is no long wait for an event");
}

/// True if the server thinks: 20 requests of one connection, `pause_ms` after the answer before, are answered with a page after
/// `think_ms`.
fn thinks_between(pause_ms: u64, think_ms: u64) -> bool {
    let mut dialogue = Script::open(End::Second, 20 * US, 20 * US, 60_000);
    for number in 0..20 {
        // No clock.
        let pause_ms = pause_ms + number * number % 7 * pause_ms / 20;
        dialogue.after(pause_ms * MS).write(End::First, 400);
        dialogue.after(20 * US).confirm(End::Second);
        dialogue
            .after((think_ms + number % 5) * MS)
            .write(End::Second, 9_000);
        dialogue.after(20 * US).confirm(End::First);
    }
    let found = findings(dialogue);
    let mut found = found.iter().map(|it| it.finding.cause);
    found.any(|it| it == Cause::ServerThinkTime)
}

#[test]
fn short_answers_count_only_where_somebody_awaits_them_in_one_go() {
    assert!(thinks_between(20, 150), "a program asks again at once");
    assert!(!thinks_between(2_000, 150), "a person reads");
    assert!(thinks_between(2_000, 700), "each of them is noticed");
}

#[test]
fn an_industrial_protocol_shows_by_its_port_who_serves() {
    let serves = |port: u16| {
        let mut polls = Script::late(End::Second, 60_000);
        for number in 0..30_u64 {
            polls.after((650 + number * number % 11 * 20) * MS);
            polls.write(End::First, 90).after(20 * US);
            polls.confirm(End::Second).after(4 * MS);
            polls.write(End::Second, 90).after(20 * US);
            polls.confirm(End::First);
        }
        let mut flow = polls.flow();
        flow.ends[0].1 = 1_800;
        flow.ends[1].1 = port;
        let (found, _) = explain_flows(&[flow]);
        found
            .iter()
            .any(|it| it.finding.cause == Cause::ServerThinkTime)
    };
    assert!(!serves(44_818), "EtherNet/IP");
    assert!(serves(50_000), "a client's port");
}

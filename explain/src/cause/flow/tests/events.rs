//! Answers that come when something happens, and those that take work.

use super::findings;
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

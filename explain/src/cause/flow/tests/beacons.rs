//! Stations that answer late at the ticks of a clock.

use super::findings;
use crate::cause::synthetic::{MS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::{Cause, Finding};

/// A time that looks like chance, the same in each run.
fn chance(number: u64, below: u64) -> u64 {
    (number.wrapping_mul(2_654_435_761) >> 7) % below
}

/// Period of the clock.
const TICK_NS: u64 = 227 * MS;

/// Requests over 4 ms, captured at the client, `pause_ns` apart; those that are late are answered at the time that `answered_ns` gives for
/// that at which they reach the server, and the others at once. `acknowledges` if the server's stack does not wait for the answer.
fn dialogue(
    requests: u64,
    acknowledges: bool,
    pause_ns: impl Fn(u64) -> u64,
    is_late: impl Fn(u64) -> bool,
    answered_ns: impl Fn(u64, u64) -> u64,
) -> Vec<Finding> {
    let mut dialogue = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    let mut asked_ns = 0;
    for number in 0..requests {
        asked_ns += pause_ns(number);
        asked_ns = asked_ns.max(dialogue.now_ns + MS);
        dialogue.at(asked_ns).write(End::First, 90);
        let received_ns = asked_ns + 2 * MS;
        let sent_ns = if is_late(number) {
            answered_ns(number, received_ns)
        } else {
            received_ns
        };
        if acknowledges {
            dialogue.at(received_ns + 2 * MS).confirm(End::Second);
        }
        dialogue.at(sent_ns + 2 * MS).write(End::Second, 300);
    }
    let found = findings(dialogue).into_iter();
    found.map(|it| it.finding).collect()
}

/// From 100 to 400 ms, as by chance.
fn any_pause_ns(number: u64) -> u64 {
    100 * MS + chance(number, 300) * MS
}

/// The next tick.
fn tick_ns(received_ns: u64) -> u64 {
    received_ns.next_multiple_of(TICK_NS)
}

/// The finding about a station that sleeps.
fn asleep(found: &[Finding]) -> Option<&Finding> {
    found.iter().find(|it| it.cause == Cause::WakeUpLatency)
}

/// Requests at any time, of which so many, one in three, wait for the next tick.
fn radio(late: u64) -> Vec<Finding> {
    dialogue(
        late * 3,
        false,
        any_pause_ns,
        |number| number % 3 == 1,
        |_, received_ns| tick_ns(received_ns),
    )
}

#[test]
fn late_answers_at_the_ticks_of_a_clock_are_those_of_a_station_that_sleeps() {
    let found = radio(14);
    let finding = asleep(&found).expect("found");
    let period_ms = finding.evidence["period_ns"] / 1e6;
    assert!((226.0..228.0).contains(&period_ms), "{finding:?}");
    assert!(finding.summary.contains("227 ms"), "{}", finding.summary);
    assert!(finding.evidence["late_answers"] >= 12.0, "{finding:?}");
}

#[test]
fn answers_that_are_late_by_chance_follow_no_clock() {
    let found = dialogue(
        42,
        false,
        any_pause_ns,
        |number| number % 3 == 1,
        |number, received_ns| received_ns + 20 * MS + chance(number + 99, 200) * MS,
    );
    assert_eq!(asleep(&found), None, "{found:?}");
}

#[test]
fn answers_that_take_as_long_follow_the_clock_of_whoever_asks() {
    // The server has each third answer ready.
    let found = dialogue(
        60,
        false,
        |_| 300 * MS,
        |number| number % 3 != 0,
        |_, received_ns| received_ns + 50 * MS,
    );
    assert_eq!(asleep(&found), None, "{found:?}");
}

#[test]
fn few_late_answers_may_be_at_the_ticks_of_a_clock_by_chance() {
    assert_eq!(asleep(&radio(6)), None);
    assert!(asleep(&radio(8)).is_some());
}

#[test]
fn a_program_that_answers_at_ticks_does_not_sleep_if_its_stack_is_awake() {
    let found = dialogue(
        42,
        true,
        any_pause_ns,
        |number| number % 3 == 1,
        |_, received_ns| tick_ns(received_ns),
    );
    assert_eq!(asleep(&found), None, "{found:?}");
}

#[test]
fn a_station_that_wakes_up_answers_at_the_next_tick() {
    let found = dialogue(
        42,
        false,
        any_pause_ns,
        |number| number % 3 == 1,
        |number, received_ns| tick_ns(received_ns) + number % 2 * 3 * TICK_NS,
    );
    assert_eq!(asleep(&found), None, "{found:?}");
}

#[test]
fn rare_late_answers_cost_little() {
    // Two of sixteen, 7% of the time.
    let found = dialogue(
        400,
        false,
        any_pause_ns,
        |number| (1..3).contains(&(number % 16)),
        |_, received_ns| tick_ns(received_ns),
    );
    assert_eq!(asleep(&found), None, "{found:?}");
}

/// Messages of a server at the ticks of its clock, each of which it sends, or only those behind a request, which come each 66 ms.
fn updates(sends_all: bool) -> Vec<Finding> {
    let mut dialogue = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    let (mut asked_ns, mut is_asked) = (100 * MS, false);
    for tick in 2..180_u64 {
        let tick_ns = tick * 50 * MS;
        while asked_ns < tick_ns {
            dialogue.at(asked_ns).write(End::First, 40);
            is_asked = true;
            asked_ns += 66 * MS;
        }
        if is_asked || sends_all {
            dialogue.at(tick_ns).write(End::Second, 140);
        }
        is_asked = false;
    }
    let found = findings(dialogue).into_iter();
    found.map(|it| it.finding).collect()
}

#[test]
fn a_server_that_sends_at_each_tick_of_its_clock_does_not_sleep() {
    assert!(asleep(&updates(false)).is_some());
    assert!(asleep(&updates(true)).is_none());
}

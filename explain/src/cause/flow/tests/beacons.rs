//! Stations that answer late at the ticks of a clock.

use super::findings;
use crate::cause::flow::beacons::at_beacons;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::synthetic::{MS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::{Cause, Finding};

/// A time that looks like chance, the same in each run.
fn chance(number: u64, below: u64) -> u64 {
    (number.wrapping_mul(2_654_435_761) >> 7) % below
}

/// Period of the clock.
const TICK_NS: u64 = 227 * MS;

/// The usual interval of beacons.
const BEACON_NS: u64 = 102_400 * US;

/// Requests over 4 ms, captured at the client, `pause_ns` apart; those that are late are answered at the time that `answered_ns` gives for
/// that at which they reach the server, and the others at once. `acknowledges` if the server's stack does not wait for the answer.
fn dialogue(
    requests: u64,
    acknowledges: bool,
    pause_ns: impl Fn(u64) -> u64,
    is_late: impl Fn(u64) -> bool,
    answered_ns: impl Fn(u64, u64) -> u64,
) -> Vec<Finding> {
    let found = findings(script(
        requests,
        acknowledges,
        pause_ns,
        is_late,
        answered_ns,
    ));
    found.into_iter().map(|it| it.finding).collect()
}

fn script(
    requests: u64,
    acknowledges: bool,
    pause_ns: impl Fn(u64) -> u64,
    is_late: impl Fn(u64) -> bool,
    answered_ns: impl Fn(u64, u64) -> u64,
) -> Script {
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
    dialogue
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

/// Requests from 60 to 100 ms after each answer, captured at the client; answered at the time that `answered_ns` gives for that at which
/// they reach the server.
fn soon_after_each(answered_ns: impl Fn(u64, u64) -> u64) -> Vec<Finding> {
    let mut dialogue = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    for number in 0..30 {
        dialogue
            .after((60 + chance(number, 40)) * MS)
            .write(End::First, 90);
        let sent_ns = answered_ns(number, dialogue.now_ns + 2 * MS);
        dialogue.at(sent_ns + 2 * MS).write(End::Second, 300);
    }
    let found = findings(dialogue);
    found.into_iter().map(|it| it.finding).collect()
}

#[test]
fn answers_at_ticks_to_requests_soon_after_the_one_before_are_those_of_a_station_that_sleeps() {
    let found = soon_after_each(|_, received_ns| tick_ns(received_ns));
    assert_eq!(found[0].cause, Cause::WakeUpLatency, "{found:?}");
    let found =
        soon_after_each(|number, received_ns| received_ns + (100 + chance(number + 99, 40)) * MS);
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

/// Requests of which each third is answered at the next tick, but some of them 80 ms later.
fn disturbed(is_exception: impl Fn(u64) -> bool) -> Vec<Finding> {
    dialogue(
        42,
        false,
        any_pause_ns,
        |number| number % 3 == 1,
        |number, received_ns| tick_ns(received_ns) + u64::from(is_exception(number)) * 80 * MS,
    )
}

#[test]
fn one_late_answer_in_eight_may_miss_the_ticks() {
    for exception in [1, 19, 40] {
        let found = disturbed(|number| number == exception);
        let period_ms = asleep(&found).expect("found").evidence["period_ns"] / 1e6;
        assert!(
            (226.0..228.0).contains(&period_ms),
            "{exception}: {found:?}"
        );
    }
    assert_eq!(
        asleep(&disturbed(|number| [4, 19, 40].contains(&number))),
        None
    );
}

#[test]
fn multiples_of_a_period_are_not_the_period() {
    // Each time an even number of ticks later, and later than half of two by less than one.
    let found = dialogue(
        42,
        false,
        |number| 2 * TICK_NS + chance(number, 100) * MS,
        |number| number % 3 == 1,
        |_, received_ns| tick_ns(received_ns),
    );
    let period_ms = asleep(&found).expect("found").evidence["period_ns"] / 1e6;
    assert!((226.0..228.0).contains(&period_ms), "{found:?}");
}

#[test]
fn rare_late_answers_cost_little() {
    // Sixteen of so many, each of which is asked soon after the one before.
    let is_found = |requests: u64| {
        let part = requests / 16;
        let script = script(
            requests,
            false,
            |number| (1 + chance(number * number, 9)) * MS,
            |number| number % part == chance(number / part + 1, part),
            |_, received_ns| received_ns.next_multiple_of(BEACON_NS),
        );
        at_beacons(&FlowFacts::of(&script.flow()).expect("payload")).is_some()
    };
    assert!(
        !is_found(2_400),
        "9% of the time in which answers are awaited"
    );
    assert!(is_found(480));
}

#[test]
fn nobody_waits_between_requests() {
    // 7% of all the time, and most of that in which answers are awaited.
    let found = dialogue(
        60,
        false,
        any_pause_ns,
        |number| number % 3 == 1,
        |_, received_ns| received_ns.next_multiple_of(BEACON_NS),
    );
    assert!(asleep(&found).is_some(), "{found:?}");
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

#[test]
fn the_pauses_of_its_client_make_no_sleeping_station_faster() {
    let seldom = |number| 1_100 * MS + chance(number, 1_900) * MS;
    let found = findings(script(40, false, seldom, |_| true, |_, ns| tick_ns(ns)));
    let asleep = found
        .iter()
        .find(|it| it.finding.cause == Cause::WakeUpLatency);
    assert!(asleep.is_some_and(|it| it.share_of_time > 0.5), "{found:?}");
}

//! The self-test notices a change of its link, names it, keeps its budget, and neither loses nor delays user data.

#![forbid(unsafe_code)]

mod bench;
mod changes;

use bench::{Bench, MAX_DELAY_US, OCTETS_PER_S, PERIOD_NS, Peer, UART, WAIT_BOUND_US, config};
use std::ops::Range;

use changes::{Change, EACH, LABELS, Label, Scenario, scenario};
use linerate_link::self_test::{BASELINE_PERIODS, Cause, Notice, SelfTestConfig};

fn label(cause: Option<&Cause>) -> Label {
    match cause {
        None => Label::Nothing,
        Some(Cause::InterruptLoad(_)) => Label::InterruptLoad,
        Some(Cause::BaudError(_)) => Label::BaudError,
        Some(Cause::AddedLatency) => Label::AddedLatency,
        Some(Cause::ErrorRate(_)) => Label::ErrorRate,
        Some(Cause::NoAnswer | Cause::Slower(_)) => panic!("{cause:?}: not among the labels"),
    }
}

/// Outcome of a scenario.
struct Outcome {
    scenario: Scenario,
    causes: Vec<Cause>,
    /// Periods before the change in which something was named.
    false_alarms: usize,
    longest_wait_us: u64,
    lost_or_wrong: u64,
}

impl Outcome {
    fn is_named(&self) -> bool {
        let first = self.causes.first();
        let is_known = !matches!(first, Some(Cause::NoAnswer | Cause::Slower(_)));
        is_known && label(first) == self.scenario.label
    }

    fn is_bound_met(&self) -> bool {
        self.longest_wait_us <= WAIT_BOUND_US && self.lost_or_wrong == 0
    }
}

/// Numbers of the scenarios that were run after the rules were complete, and changed no rule.
const LATER: Range<u64> = EACH..3 * EACH;

/// Runs a scenario: the baseline, a period without a change, one in which it comes, and one that is judged.
fn outcome(scenario: Scenario) -> Outcome {
    let peer = if scenario.is_mutual {
        Peer::SelfTest
    } else {
        Peer::Responder
    };
    let mut bench = Bench::new(scenario, &peer, config());
    let begin = (u64::from(BASELINE_PERIODS) + 1) * PERIOD_NS;
    let mut periods = bench.run(begin + PERIOD_NS / 1000 * scenario.at_permille);
    let false_alarms = periods.iter().filter(|causes| !causes.is_empty()).count();
    bench.change();
    // By the clock of the end, whose error may make a period longer.
    let judged = usize::from(BASELINE_PERIODS) + 2;
    while periods.len() <= judged {
        let until = bench.now_ns + PERIOD_NS / 100;
        periods.extend(bench.run(until));
        assert!(bench.now_ns < begin + 3 * PERIOD_NS, "no reports");
    }
    let outcome = Outcome {
        scenario,
        causes: periods
            .get(usize::from(BASELINE_PERIODS) + 2)
            .cloned()
            .unwrap_or_default(),
        false_alarms,
        longest_wait_us: bench.longest_wait_us,
        lost_or_wrong: bench.missing() + bench.wrong,
    };
    println!(
        "{:?}: named {:?}, {} us of {} us, {} lost or wrong, {} false alarms",
        scenario.change,
        outcome.causes,
        outcome.longest_wait_us,
        WAIT_BOUND_US,
        outcome.lost_or_wrong,
        outcome.false_alarms,
    );
    outcome
}

/// The quick tier runs one change of each label, the long one and `cargo xtask links` all. Those of `LATER` are counted
/// apart.
#[test]
fn changes_are_named_within_a_period_and_the_user_does_not_notice_the_test() {
    let is_long = std::env::var_os("LINERATE_LONG").is_some();
    if is_long {
        count("", 0..EACH);
        count("later_", LATER);
    } else {
        count("", 0..1);
    }
}

/// Runs the scenarios with these numbers of each label.
fn count(prefix: &str, numbers: Range<u64>) {
    let scenarios = LABELS.map(|label| numbers.clone().map(move |number| scenario(label, number)));
    let outcomes: Vec<Outcome> = scenarios.into_iter().flatten().map(outcome).collect();
    let (unchanged, changed): (Vec<&Outcome>, Vec<&Outcome>) = outcomes
        .iter()
        .partition(|it| it.scenario.label == Label::Nothing);
    let named = changed.iter().filter(|it| it.is_named()).count();
    let bound_met = outcomes.iter().filter(|it| it.is_bound_met()).count();
    let false_alarms: usize = outcomes.iter().map(|it| it.false_alarms).sum();
    let unchanged_named = unchanged.iter().filter(|it| !it.causes.is_empty()).count();
    let longest_us = outcomes.iter().map(|it| it.longest_wait_us).max();
    println!(
        "counts: {{\"self_test_{prefix}changes\": {}, \"self_test_{prefix}named\": {named}, \"self_test_{prefix}bound_met\": {bound_met}, \
         \"self_test_{prefix}links\": {}, \"self_test_{prefix}false_alarms\": {}, \"self_test_{prefix}longest_wait_us\": {}, \
         \"self_test_{prefix}wait_bound_us\": {}}}",
        changed.len(),
        outcomes.len(),
        false_alarms + unchanged_named,
        longest_us.unwrap_or_default(),
        WAIT_BOUND_US,
    );
    assert_eq!(
        bound_met,
        outcomes.len(),
        "user data was lost or waited too long"
    );
    assert_eq!(
        false_alarms + unchanged_named,
        0,
        "a change was named that was none"
    );
    if prefix.is_empty() {
        assert_eq!(named, changed.len(), "a change was not named right");
    }
    assert!(
        named * 20 >= changed.len() * 19,
        "{named} of {}",
        changed.len()
    );
}

fn unchanged(seed: u64) -> Scenario {
    Scenario {
        seed,
        label: Label::Nothing,
        change: Change::Nothing,
        at_permille: 0,
        is_mutual: true,
    }
}

#[test]
fn the_tests_keep_their_share_of_the_line() {
    for share_permille in [10, 50, 200] {
        let config = SelfTestConfig {
            share_permille,
            ..config()
        };
        let mut bench = Bench::new(unchanged(1), &Peer::SelfTest, config);
        bench.run(4 * PERIOD_NS);
        let line = u64::from(OCTETS_PER_S) * bench.now_ns / 1_000_000_000;
        for octets in bench.test_octets {
            let permille = octets * 1000 / line;
            println!("{permille} of {share_permille} per mille");
            // Acknowledgments of trains are not in the budget.
            assert!(
                permille <= u64::from(share_permille) * 11 / 10 + 1,
                "{permille}"
            );
            assert!(permille > u64::from(share_permille) / 2, "{permille}");
        }
    }
}

#[test]
fn without_a_test_a_message_waits_less_by_the_stated_delay_at_most() {
    let wait = |peer: Peer| {
        let mut bench = Bench::new(unchanged(2), &peer, config());
        bench.run(4 * PERIOD_NS);
        assert_eq!(bench.missing() + bench.wrong, 0);
        bench.longest_wait_us
    };
    let (with, without) = (wait(Peer::SelfTest), wait(Peer::Nothing));
    println!("longest wait: {with} us with tests, {without} us without");
    assert!(
        with <= without + u64::from(MAX_DELAY_US),
        "{with} and {without}"
    );
}

#[test]
fn the_highest_rate_is_found_and_no_user_data_is_lost() {
    for (good_baud, lossless, lossy, recommended) in [
        (2_200_000, Some(2_000_000), Some(3_000_000), Some(1_500_000)),
        (9_000_000, Some(4_000_000), None, Some(3_000_000)),
    ] {
        let mut bench = Bench::new(unchanged(3), &Peer::SelfTest, config());
        bench.good_baud = good_baud;
        bench.run(500_000_000);
        bench.self_test().find_highest_rate(250);
        bench.run(12_000_000_000);
        let found = bench.notices.iter().find_map(|notice| match notice {
            Notice::HighestRate(found) => Some(*found),
            _ => None,
        });
        let found = found.expect("a result");
        assert!(found.is_complete);
        assert_eq!(
            (found.lossless, found.lossy, found.recommended),
            (lossless, lossy, recommended)
        );
        assert_eq!(bench.missing() + bench.wrong, 0);
        let bound = WAIT_BOUND_US + u64::from(bench.self_test().hold_us());
        println!(
            "longest wait during trials: {} us of {bound} us",
            bench.longest_wait_us
        );
        assert!(bench.longest_wait_us <= bound);
        // The link works at its own rate again.
        let before = bench.test_octets;
        bench.run(16_000_000_000);
        assert!(bench.test_octets[0] > before[0] + 10_000);
        assert_eq!(UART.baud, 1_000_000);
    }
}

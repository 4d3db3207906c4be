//! The suite against a test double: a correct one passes every case, and each fault is found. (Drivers are
//! tested in `endpoint/board/qemu`.)

mod double;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::endpoint::{BoardSession, NoMonitor};
use double::{Double, Fault};

/// Runs the case on a new device.
fn run(case: &Case, fault: Fault, unsupported: &[(&str, &str)]) -> Outcome {
    let unsupported: BTreeMap<String, String> = unsupported
        .iter()
        .map(|(name, why)| ((*name).to_owned(), (*why).to_owned()))
        .collect();
    let switch_on = || {
        BoardSession::begin(
            Box::new(Double::new(fault)),
            "a double".to_owned(),
            Duration::from_secs(1),
        )
    };
    let board = TestBoard::new(&unsupported, Box::new(switch_on));
    let outcome = run_case(&board, case, 500, &mut NoMonitor);
    outcome.expect("it starts")
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).expect(name)
}

#[test]
fn a_correct_device_passes_every_case() {
    let names: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), CASES.len(), "each has its own name");
    for case in CASES {
        let outcome = run(case, Fault::Nothing, &[]);
        let passed = matches!(outcome, Outcome::Passed(frames) if frames > 20);
        assert!(passed, "{}: {outcome:?}", case.name);
    }
}

#[test]
fn each_fault_of_a_device_is_found() {
    let mut missed = Vec::new();
    for (fault, name, words) in [
        (Fault::StaleBuffer, "random", "is a duplicate"),
        (Fault::StaleBuffer, "wrap", "is a duplicate"),
        (Fault::StaleEnd, "random", "reached the device altered"),
        (Fault::SkipsAtWrap, "wrap", "no progress for"),
        (Fault::HalfAtOverrun, "exhaustion", "octets instead of"),
        (Fault::SilentOverrun, "overrun-count", "lost, 0 counted"),
        (Fault::CutsLongest, "lengths", "1513 octets instead of 1514"),
        (Fault::EvenLengths, "lengths", "reached the device altered"),
        (Fault::EvenLengths, "shortest", "no progress for"),
        (Fault::NoRoomForTag, "tagged", "no progress for"),
        (Fault::SilentOverLong, "over-long", "0 counted"),
        (Fault::Overtakes, "transmit-full", "out of order"),
        (Fault::Promiscuous, "filter", "for_others: 50"),
        (Fault::BlindToLink, "link", "did not report `link`"),
        (Fault::Replays, "restart", "is a duplicate"),
        (
            Fault::StaysStopped,
            "restart",
            "`device start` has no effect",
        ),
    ] {
        let outcome = run(case(name), fault, &[]);
        let found = matches!(&outcome, Outcome::Failed(what) if what.contains(words));
        if !found {
            missed.push((fault, name, outcome));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn an_unsupported_case_is_skipped_unless_it_passes() {
    let unsupported = [("filter", "its model takes every address")];
    let outcome = run(case("filter"), Fault::Promiscuous, &unsupported);
    assert_eq!(outcome, Outcome::Skipped(unsupported[0].1.to_owned()));
    let outcome = run(case("filter"), Fault::Nothing, &unsupported);
    let Outcome::Failed(what) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(what.starts_with("it passes, although"), "{what}");
}

/// A misspelled name in a board's file is an error.
#[test]
fn cases_that_boards_lack_exist() {
    for board in crate::board::all() {
        for name in board.unsupported_cases.keys() {
            let is_one = CASES.iter().any(|case| case.name == name);
            assert!(is_one, "{} has no case {name}", board.name);
        }
    }
}

//! The suite against a device that a test makes: a sound one passes every case, and what is wrong with another
//! is found. (Drivers are tried in `target/board/qemu`.)

mod double;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::endpoint::{BoardSession, NoMonitor};
use double::{Double, Fault};

/// What came of the case, of one device a case.
fn run(case: &Case, fault: Fault, lacks: &[(&str, &str)]) -> Outcome {
    let lacks: BTreeMap<String, String> = lacks
        .iter()
        .map(|(name, why)| ((*name).to_owned(), (*why).to_owned()))
        .collect();
    let switch_on = || BoardSession::begin(Box::new(Double::new(fault)), "a double".to_owned());
    let board = TestBoard::new(&lacks, Box::new(switch_on));
    let outcome = run_case(&board, case, 500, &mut NoMonitor);
    outcome.expect("it starts")
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).expect(name)
}

#[test]
fn a_sound_device_passes_every_case() {
    let names: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), CASES.len(), "each has its own name");
    for case in CASES {
        let outcome = run(case, Fault::Nothing, &[]);
        let passed = matches!(outcome, Outcome::Passed(frames) if frames > 20);
        assert!(passed, "{}: {outcome:?}", case.name);
    }
}

#[test]
fn what_is_wrong_with_a_device_is_found() {
    let mut missed = Vec::new();
    for (fault, name, words) in [
        (Fault::StaleBuffer, "random", "came again"),
        (Fault::StaleBuffer, "wrap", "came again"),
        (Fault::StaleEnd, "random", "came to the device altered"),
        (Fault::SkipsAtWrap, "wrap", "nothing happened"),
        (Fault::HalfAtOverrun, "exhaustion", "octets in place of"),
        (Fault::SilentOverrun, "overrun-count", "lost, 0 counted"),
        (
            Fault::CutsLongest,
            "lengths",
            "1513 octets in place of 1514",
        ),
        (Fault::EvenLengths, "lengths", "came to the device altered"),
        (Fault::EvenLengths, "shortest", "nothing happened"),
        (Fault::NoRoomForTag, "tagged", "nothing happened"),
        (Fault::SilentOverLong, "over-long", "0 counted"),
        (Fault::Overtakes, "transmit-full", "out of order"),
        (Fault::Promiscuous, "filter", "for_others: 50"),
        (Fault::BlindToLink, "link", "does not say `link`"),
        (Fault::Replays, "restart", "came again"),
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
fn what_a_board_lacks_is_skipped_unless_it_has_it() {
    let lacks = [("filter", "its model takes every address")];
    let outcome = run(case("filter"), Fault::Promiscuous, &lacks);
    assert_eq!(outcome, Outcome::Skipped(lacks[0].1.to_owned()));
    let outcome = run(case("filter"), Fault::Nothing, &lacks);
    let Outcome::Failed(what) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(what.starts_with("it can be passed, though"), "{what}");
}

/// A slip in a board's file is no silence.
#[test]
fn what_boards_lack_are_cases() {
    for board in crate::board::all() {
        for name in board.lacks.keys() {
            let is_one = CASES.iter().any(|case| case.name == name);
            assert!(is_one, "{} lacks {name}", board.name);
        }
    }
}

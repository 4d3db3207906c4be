//! The board with a soft SoC: its driver, its services, and the same result every time.

use std::path::Path;
use std::time::Duration;

use linerate_results::record::Direction;

use crate::conformance::{self, CASES, run_case};
use crate::endpoint::*;

/// Frames of the case that is long: a million with `LINERATE_LONG`.
fn conformance_frames() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000
    } else {
        2_000
    }
}

/// The board, if its firmware is built.
fn board() -> Option<Box<dyn Target>> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let folder = Path::new(&folder).parent().expect("a folder of boards");
    let options = Options {
        elf_dir: folder.into(),
        ..Options::default()
    };
    Some(open("sim://rv32-soft-soc", &options).expect("a board"))
}

fn run(target: &mut dyn Target, trial: &Trial) -> Outcome {
    let done = target.run(trial, &mut NoMonitor);
    done.unwrap_or_else(|error| panic!("{}: {error}", trial.label()))
}

#[test]
fn the_driver_passes_the_conformance_cases() {
    let Some(target) = board() else { return };
    let test_board = target.test_board().expect("a board");
    for case in CASES {
        let outcome = run_case(&test_board, case, conformance_frames(), &mut NoMonitor);
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        println!("{}: {outcome:?}", case.name);
        let is_passed = matches!(outcome, conformance::Outcome::Passed(_));
        assert!(is_passed, "{}: {outcome:?}", case.name);
    }
}

#[test]
fn streams_datagrams_and_round_trips_are_measured_and_reproducible() {
    let Some(mut target) = board() else { return };
    let amount = Amount::Octets(200_000);
    for direction in [Direction::ToDevice, Direction::FromDevice] {
        let trial = Trial::Stream(Stream::of(direction, amount));
        let outcome = run(target.as_mut(), &trial);
        let flow = outcome.to_device.or(outcome.from_device).expect("a way");
        println!("{}: {flow:?}", trial.label());
        assert_eq!(flow.octets, 200_000);
        let again = run(target.as_mut(), &trial);
        let again = again.to_device.or(again.from_device).expect("a way");
        assert_eq!(again, flow);
        let trial = Trial::Datagrams(Datagrams {
            direction,
            amount,
            payload_octets: 1_000,
            payload_bits_per_s: 5_000_000,
        });
        let outcome = run(target.as_mut(), &trial);
        let flow = outcome.to_device.or(outcome.from_device).expect("a way");
        let counts = flow.datagrams.expect("datagrams");
        assert_eq!(counts.lost, 0, "{counts:?}");
    }
    let trial = Trial::RoundTrips(RoundTrips {
        count: 20,
        interval: Duration::from_millis(2),
        payload_octets: 44,
        load: None,
    });
    let answers = run(target.as_mut(), &trial).round_trips.expect("answers");
    assert_eq!((answers.sent, answers.samples.len()), (20, 20));
}

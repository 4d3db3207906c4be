//! The boards with a soft SoC: their drivers, their services, and the same result every time.

use std::path::Path;
use std::time::Duration;

use linerate_results::record::Direction;

use crate::board;
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

/// The boards with a soft SoC, if their firmware is built.
fn boards() -> Vec<(String, Box<dyn Target>)> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return Vec::new();
    };
    let folder = Path::new(&folder).parent().expect("a folder of boards");
    let options = Options {
        elf_dir: folder.into(),
        ..Options::default()
    };
    let soft = board::all()
        .into_iter()
        .filter(|board| board.soft_soc.is_some());
    let opened = soft.map(|board| {
        let target = open(&format!("sim://{}", board.name), &options).expect("a board");
        (board.name, target)
    });
    opened.collect()
}

fn run(target: &mut dyn Target, trial: &Trial) -> Outcome {
    let done = target.run(trial, &mut NoMonitor);
    done.unwrap_or_else(|error| panic!("{}: {error}", trial.label()))
}

#[test]
fn every_driver_passes_the_conformance_cases_on_models_with_time() {
    for (name, target) in boards() {
        let test_board = target.test_board().expect("a board");
        for case in CASES {
            let outcome = run_case(&test_board, case, conformance_frames(), &mut NoMonitor);
            let outcome = outcome.unwrap_or_else(|error| panic!("{name} {}: {error}", case.name));
            println!("{name} {}: {outcome:?}", case.name);
            let is_passed = matches!(outcome, conformance::Outcome::Passed(_));
            assert!(is_passed, "{name} {}: {outcome:?}", case.name);
        }
    }
}

#[test]
fn streams_datagrams_and_round_trips_are_measured_and_reproducible() {
    for (name, mut target) in boards() {
        println!("{name}");
        is_measured_and_reproducible(target.as_mut());
    }
}

fn is_measured_and_reproducible(target: &mut dyn Target) {
    let amount = Amount::Octets(200_000);
    for direction in [Direction::ToDevice, Direction::FromDevice] {
        let trial = Trial::Stream(Stream::of(direction, amount));
        let outcome = run(target, &trial);
        let flow = outcome.to_device.or(outcome.from_device).expect("a way");
        println!("{}: {flow:?}", trial.label());
        assert_eq!(flow.octets, 200_000);
        let again = run(target, &trial);
        let again = again.to_device.or(again.from_device).expect("a way");
        assert_eq!(again, flow);
        let trial = Trial::Datagrams(Datagrams {
            direction,
            amount,
            payload_octets: 1_000,
            payload_bits_per_s: 5_000_000,
        });
        let outcome = run(target, &trial);
        let flow = outcome.to_device.or(outcome.from_device).expect("a way");
        let counts = flow.datagrams.expect("datagrams");
        assert_eq!(counts.lost, 0, "{counts:?}");
        let counters = outcome.device_counters;
        let counted = match direction {
            Direction::FromDevice => counters.tx_frames,
            _ => counters.rx_frames,
        };
        assert!(counted >= Some(counts.received), "{counters:?}");
        assert_eq!(counters.rx_fifo_overruns, Some(0));
    }
    let trial = Trial::RoundTrips(RoundTrips {
        count: 20,
        interval: Duration::from_millis(2),
        payload_octets: 44,
        load: None,
    });
    let answers = run(target, &trial).round_trips.expect("answers");
    assert_eq!((answers.sent, answers.samples.len()), (20, 20));
}

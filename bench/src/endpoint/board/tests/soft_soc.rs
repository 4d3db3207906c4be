//! The boards with a soft SoC: their drivers, their services, and the same result every time.

use std::path::Path;
use std::time::Duration;

use linerate_results::record::{Describe as _, Direction, Layer, Workload};

use crate::board;
use crate::conformance::{self, CASES, run_case};
use crate::endpoint::*;
#[cfg(target_os = "linux")]
use crate::profile::{ProfileRequest, tables};

/// Frames of the case that is long: a million with `LINERATE_LONG`.
fn conformance_frames() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000
    } else {
        2_000
    }
}

/// Options with the folder of the firmware, if it is built.
fn options() -> Option<Options> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let folder = Path::new(&folder).parent().expect("a folder of boards");
    Some(Options {
        elf_dir: folder.into(),
        ..Options::default()
    })
}

/// Names of the boards with a soft SoC.
fn names() -> impl Iterator<Item = String> {
    let soft = |it: &board::Board| it.soft_soc.is_some();
    board::all().into_iter().filter(soft).map(|it| it.name)
}

/// The boards with a soft SoC, if their firmware is built.
fn boards() -> Vec<(String, Box<dyn Target>)> {
    let Some(options) = options() else {
        return Vec::new();
    };
    let opened = names().map(|name| {
        let target = open(&format!("sim://{name}"), &options).expect("a board");
        (name, target)
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

#[cfg(target_os = "linux")]
#[test]
fn layers_sum_up_to_all_instructions() {
    let Some(options) = options() else {
        return;
    };
    for name in names() {
        for (program, direction) in [
            (Workload::Tcp, Direction::FromDevice),
            (Workload::Udp, Direction::ToDevice),
        ] {
            let asked = ProfileRequest {
                target: format!("sim://{name}"),
                variant: None,
                program,
                direction,
                octets: 60_000,
                null: false,
            };
            let (counted, identity) = profile(&asked, &options).expect("profiled");
            let what = format!("{name}\n{}", tables(&counted, 5));
            assert_eq!(identity.board, name);
            assert_eq!(counted.failures(), [""; 0], "{what}");
            let counted = counted.metrics;
            assert!(counted.frames >= 40, "{what}");
            for layer in [
                Layer::Application,
                Layer::Stack,
                Layer::Driver,
                Layer::MainLoop,
            ] {
                assert!(counted.layer(layer).own > 0, "{what}");
            }
            let driver = counted.layer(Layer::Driver);
            assert!(driver.reads + driver.writes > 0, "{what}");
            assert_eq!(counted.layer(Layer::Unknown).all(), 0, "{what}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_profile_that_the_simulator_cannot_make_is_refused() {
    let refused = |target: &str, null| {
        let asked = ProfileRequest {
            target: target.to_owned(),
            variant: None,
            program: Workload::Udp,
            direction: Direction::ToDevice,
            octets: 60_000,
            null,
        };
        profile(&asked, &Options::default())
            .expect_err("refused")
            .to_string()
    };
    let of_the_chip = refused("sim://esp32c6-bitbang", false);
    assert!(
        of_the_chip.contains("with a soft SoC only"),
        "{of_the_chip}"
    );
    let null = refused("sim://rv32-dwmac", true);
    assert!(null.contains("only udp, in QEMU"), "{null}");
    let stock = refused("iperf2://192.0.2.1", false);
    assert!(stock.contains("qemu://BOARD, sim://BOARD"), "{stock}");
}

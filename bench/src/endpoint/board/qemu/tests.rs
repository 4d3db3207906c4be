//! Every kind of trial on every board that QEMU emulates, if it is installed and the firmware built.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linerate_results::record::{Describe as _, Direction, InstructionProfile, Layer, Workload};

use super::emulator;
use crate::board::{self, Board};
use crate::conformance::{self, CASES, run_case};
use crate::endpoint::*;
use crate::profile::{ProfileRequest, tables};

/// Few, as an emulator gets little processor time beside other tests.
const OCTETS: u64 = 1_000_000;

/// The boards that can be started here.
fn boards() -> Vec<(Board, Box<dyn Target>)> {
    let opened = installed().into_iter().map(|(board, folder)| {
        let options = Options {
            elf_dir: folder,
            timeout: Duration::from_secs(30),
            ..Options::default()
        };
        let target = open(&format!("qemu://{}", board.name), &options).expect("a board");
        (board, target)
    });
    opened.collect()
}

/// The same, with the folder of their firmware.
pub(super) fn installed() -> Vec<(Board, PathBuf)> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return Vec::new();
    };
    let folder = Path::new(&folder).parent().expect("a folder of boards");
    let mut found = Vec::new();
    for board in board::all() {
        let Some(qemu) = board.qemu.as_ref().filter(|_| board.has_firmware()) else {
            continue;
        };
        if emulator::is_installed(&qemu.program) {
            found.push((board, folder.to_owned()));
            continue;
        }
        println!("skipped: {} needs {}", board.name, qemu.program);
        let must = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
        assert!(!must, "{} is not installed", qemu.program);
    }
    found
}

fn run(target: &mut dyn Target, trial: &Trial) -> Outcome {
    let done = target.run(trial, &mut NoMonitor);
    done.unwrap_or_else(|error| panic!("{}: {}: {error}", target.name(), trial.label()))
}

fn stream(direction: Direction) -> Trial {
    Trial::Stream(Stream::of(direction, Amount::Octets(OCTETS)))
}

#[test]
fn all_of_a_stream_arrives() {
    for (board, mut target) in boards() {
        for direction in [Direction::ToDevice, Direction::FromDevice] {
            let outcome = run(target.as_mut(), &stream(direction));
            let flow = outcome.to_device.or(outcome.from_device).expect("a way");
            assert_eq!(flow.octets, OCTETS, "{}", board.name);
        }
    }
}

// Frames that a controller has no room for are lost, as on a chip: an emulator that gets no processor
// time loses some. Each loss is then counted with its place.

#[test]
fn datagrams_arrive_or_are_known_to_be_lost() {
    for (board, mut target) in boards() {
        for direction in [Direction::ToDevice, Direction::FromDevice] {
            let asked = Trial::Datagrams(Datagrams {
                direction,
                amount: Amount::Octets(200_000),
                payload_octets: 1_000,
                payload_bits_per_s: 2_000_000,
            });
            let outcome = run(target.as_mut(), &asked);
            let flow = outcome.to_device.or(outcome.from_device).expect("a way");
            let counts = flow.datagrams.expect("datagrams");
            // The final datagram may carry data, too.
            let known = counts.received + counts.lost;
            let is_all = (200..=201).contains(&known) && counts.received > 0;
            assert!(is_all, "{}: {counts:?}", board.name);
        }
    }
}

#[test]
fn round_trips_and_frames_come_back_or_are_known_to_be_lost() {
    for (board, mut target) in boards() {
        let asked = Trial::RoundTrips(RoundTrips {
            count: 50,
            interval: Duration::from_millis(2),
            payload_octets: 44,
            load: None,
        });
        let answers = run(target.as_mut(), &asked).round_trips;
        all_known(&board, &answers.expect("answers"));
        // QEMU's LAN91C111 makes shorter ones 68 octets long.
        for octets in [68, 1_518] {
            let asked = Trial::Frames(Frames {
                octets,
                count: 50,
                interval_ns: 2_000_000.0,
                reflected: true,
            });
            let answers = run(target.as_mut(), &asked).round_trips;
            all_known(&board, &answers.expect("reflections"));
        }
    }
}

fn all_known(board: &Board, answers: &RoundTripReport) {
    let came = answers.samples.len() as u64;
    let known = came + answers.lost_forward + answers.lost_backward;
    assert_eq!((answers.sent, known), (50, 50), "{}", board.name);
    assert!(came > 0, "{}", board.name);
}

/// Frames of the case that is long: a million with `LINERATE_LONG`.
fn conformance_frames() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000
    } else {
        2_000
    }
}

#[test]
fn every_driver_passes_the_conformance_cases() {
    for (board, target) in boards() {
        let test_board = target.test_board().expect("a board");
        for case in CASES {
            let outcome = run_case(&test_board, case, conformance_frames(), &mut NoMonitor);
            let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", board.name));
            println!("{} {}: {outcome:?}", board.name, case.name);
            let is_known = matches!(outcome, conformance::Outcome::Skipped(_));
            assert_eq!(
                is_known,
                test_board.unsupported_cases.contains_key(case.name)
            );
            let is_wrong = matches!(outcome, conformance::Outcome::Failed(_));
            assert!(!is_wrong, "{} {}: {outcome:?}", board.name, case.name);
        }
    }
}

#[test]
fn a_board_without_emulator_is_rejected_with_the_alternatives() {
    let open = |url| open(url, &Options::default()).map(|it| it.name());
    let error = open("qemu://esp32c6-bitbang")
        .expect_err("simulated")
        .to_string();
    assert!(
        error.contains("is not emulated by QEMU; these are: qemu-"),
        "{error}"
    );
}

#[test]
fn a_missing_emulator_is_named_with_the_command_that_installs_it() {
    let boards = board::all();
    let mut qemu = boards.iter().find_map(|it| it.qemu.clone()).expect("one");
    qemu.program = "qemu-system-z80".into();
    let mac = linerate_ether::frame::MacAddress([2, 0, 0, 0, 0, 2]);
    let error = emulator::Emulator::start(&qemu, &[], mac, &[]).map(|_| ());
    let error = error.expect_err("no such emulator");
    assert!(
        error.starts_with("qemu-system-z80 is not installed; on Debian:"),
        "{error}"
    );
}

#[test]
fn linux_without_its_images_is_rejected_with_the_command_that_makes_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        elf_dir: folder.path().to_owned(),
        ..Options::default()
    };
    // The scheme stands for the start of the board's name.
    let mut target = open("qemu://linux-sabrelite", &options).expect("a board");
    assert_eq!(
        target.name(),
        "qemu-linux-sabrelite (emulated by QEMU, linux)"
    );
    let error = target.run(&stream(Direction::ToDevice), &mut NoMonitor);
    let error = error.expect_err("no images").to_string();
    assert!(
        error.contains("vmlinuz: `cargo xtask linux-board`"),
        "{error}"
    );
    let asked = Trial::RoundTrips(RoundTrips {
        count: 1,
        interval: Duration::from_millis(1),
        payload_octets: 44,
        load: None,
    });
    assert!(target.supports(&asked).is_err());
    assert!(target.test_board().is_none());
}

/// Only with the images in `LINERATE_LINUX`, which `cargo xtask test --long` makes.
#[test]
fn stock_iperf_on_linux_is_measured() {
    let Some(folder) = std::env::var_os("LINERATE_LINUX") else {
        return;
    };
    let options = Options {
        elf_dir: folder.into(),
        timeout: Duration::from_secs(30),
        ..Options::default()
    };
    let mut target = open("qemu://qemu-linux-sabrelite", &options).expect("a board");
    for direction in [Direction::ToDevice, Direction::FromDevice] {
        let outcome = run(target.as_mut(), &stream(direction));
        let flow = outcome.to_device.or(outcome.from_device).expect("a way");
        assert!(flow.octets >= OCTETS, "{direction:?}: {}", flow.octets);
    }
    // Linux reads its registers with the driver's settings: flow control as negotiated, until it is switched off.
    let mut device = crate::registers::open("qemu://linux-sabrelite", &options).expect("a board");
    device
        .execute("ethtool -A eth0 autoneg off rx off tx off")
        .expect("executed");
    let error = device.execute("false").expect_err("it fails").to_string();
    assert!(error.contains("failed with status 1"), "{error}");
}

#[test]
fn layers_sum_up_to_all_instructions() {
    for (board, folder) in installed() {
        let options = Options {
            elf_dir: folder,
            timeout: Duration::from_secs(30),
            ..Options::default()
        };
        for (program, direction) in [
            (Workload::Tcp, Direction::ToDevice),
            (Workload::Frames, Direction::FromDevice),
        ] {
            let asked = ProfileRequest {
                target: format!("qemu://{}", board.name),
                variant: None,
                program,
                direction,
                octets: 300_000,
                null: false,
            };
            let profiled = crate::endpoint::board::profile::run(&asked, &options);
            let (profile, identity) = profiled.expect("profiled");
            let what = format!("{}\n{}", board.name, tables(&profile, 5));
            let metrics = &profile.metrics;
            assert!(metrics.frames >= 198, "{what}");
            assert_eq!(profile.failures(), [""; 0], "{what}");
            assert_eq!(identity.board, board.name);
            assert_eq!(identity.images.len(), 1, "{what}");
            let of = |layer| metrics.layer(layer);
            let driver = of(Layer::Driver);
            assert!(driver.own > 0 && driver.reads + driver.writes > 0, "{what}");
            assert_eq!(of(Layer::Unknown).all(), 0, "{what}");
            // The blaster uses no stack.
            let has_stack = of(Layer::Stack).all() > metrics.instructions / 4;
            assert_eq!(has_stack, program == Workload::Tcp, "{what}");
        }
    }
}

#[test]
fn a_frame_takes_less_without_a_network() {
    for (board, folder) in installed() {
        if !board.firmware.programs.contains_key("null") {
            continue;
        }
        let options = Options {
            elf_dir: folder,
            timeout: Duration::from_secs(30),
            ..Options::default()
        };
        for direction in [Direction::ToDevice, Direction::FromDevice] {
            let [with, without] = [false, true].map(|null| {
                let asked = ProfileRequest {
                    target: format!("qemu://{}", board.name),
                    variant: None,
                    program: Workload::Udp,
                    direction,
                    octets: 1_000_000,
                    null,
                };
                let profiled = crate::endpoint::board::profile::run(&asked, &options);
                profiled.expect("profiled").0
            });
            assert!(without.metrics.frames >= 4_000, "{}", tables(&without, 5));
            let driver = |it: &InstructionProfile| it.metrics.layer_per_frame(Layer::Driver);
            let [all, rest] = [&with, &without].map(|it| it.metrics.instructions_per_frame);
            let added = all - (rest - driver(&without));
            let what = format!(
                "{}\n{}{}",
                board.name,
                tables(&with, 9),
                tables(&without, 9)
            );
            // The driver's share by source equals the difference without it, within a tenth of all.
            assert!((added - driver(&with)).abs() < all / 10.0, "{added} {what}");
        }
    }
}

//! Every kind of trial on boards that run on this host, if their firmware is built.

mod soft_soc;

use std::path::Path;
use std::time::Duration;

use linerate_results::record::{CountedAt, Direction, Duplex, Measurement};

use crate::conformance::run_case;
use crate::endpoint::*;
use crate::procedure::throughput::Throughput;
use crate::procedure::{self, RequestedProcedure, SessionConfig};

/// Short, as simulation is slow.
const SPAN: Amount = Amount::Span(Duration::from_millis(200));

/// The board, if its firmware is built.
fn board(seed: u64) -> Option<Box<dyn Target>> {
    board_with(|options| options.seed = seed)
}

fn board_with(change: impl FnOnce(&mut Options)) -> Option<Box<dyn Target>> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let mut options = Options {
        elf_dir: Path::new(&folder)
            .parent()
            .expect("a folder of boards")
            .into(),
        ..Options::default()
    };
    change(&mut options);
    Some(open("sim://esp32c6-bitbang", &options).expect("a board"))
}

fn run(target: &mut dyn Target, trial: &Trial) -> Outcome {
    let done = target.run(trial, &mut NoMonitor);
    done.unwrap_or_else(|error| panic!("{}: {error}", trial.label()))
}

fn stream(direction: Direction) -> Trial {
    Trial::Stream(Stream::of(direction, SPAN))
}

fn datagrams(direction: Direction) -> Trial {
    Trial::Datagrams(Datagrams {
        direction,
        amount: SPAN,
        payload_octets: 1_000,
        payload_bits_per_s: 2_000_000,
    })
}

/// What the simulator knows of a board is in every record of a procedure on it.
#[test]
fn records_have_the_boards_ledger_timing_table_counts_and_capture() {
    let Some(target) = board_with(|options| options.records_frames = true) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let capture = CaptureOptions {
        interface: None,
        folder: folder.path().into(),
    };
    let mut target = Observed::new(target, Some(capture));
    let config = SessionConfig {
        name: "test".to_owned(),
        url: "sim://esp32c6-bitbang".to_owned(),
        out: folder.path().into(),
        seed: 1,
        baseline: None,
    };
    let asked = [RequestedProcedure {
        procedure: Box::new(Throughput {
            trial: stream(Direction::ToDevice),
            probe: None,
        }),
        is_required: true,
    }];
    let run = procedure::run(
        &config,
        &asked,
        &mut target,
        &mut NoMonitor,
        &mut |_| {},
        &mut |_| {},
    )
    .expect("measured");
    assert_eq!(run.failures, [""; 0]);
    let provenance = &run.provenance;
    assert_eq!(provenance.board, "esp32c6-bitbang");
    assert!(!provenance.timing.is_empty() && !provenance.guesses.is_empty());
    assert_eq!(provenance.elf_sha256.len(), 1);
    assert!(provenance.virtual_ns > 200_000_000);
    let result = &run.results[0];
    assert_eq!(result.setting().duplex, Duplex::Half);
    let ledger = result.ledger();
    assert!(ledger.delivered_frames > 100, "{ledger:?}");
    assert_eq!(ledger.missing_frames(), 0);
    assert!(ledger.counters.contains_key("RxValid"), "{ledger:?}");
    let name = "trial-1-tcp-to-the-device";
    assert_eq!(provenance.trace_hash[name].len(), 16);
    let counted = &run.frame_counts[name];
    assert_eq!(counted.ledger.sent_frames, ledger.sent_frames);
    let Measurement::Throughput(transfer) = result else {
        panic!("{result:?}");
    };
    let capture = transfer.observation.capture.as_ref().expect("a capture");
    assert!(folder.path().join(&capture.file).is_file());
    let packets = counted.counts.capture.as_ref().expect("counts");
    assert_eq!(capture.frames, packets.to_device + packets.from_device);
    let directions = capture.findings.iter().map(|it| it.direction);
    assert!(directions.flatten().all(|it| it == Direction::ToDevice));
}

#[test]
fn a_board_has_a_name_and_nothing_after_it() {
    let open = |url| open(url, &Options::default());
    let target = open("sim://esp32c6-bitbang").expect("a board");
    assert!(target.is_simulated() && target.name().contains("simulated"));
    for (url, part) in [
        ("sim://esp32c6-bitban", "did you mean `esp32c6-bitbang`"),
        (
            "sim://esp32c6-bitbang:80",
            "nothing may follow the board's name",
        ),
        ("sim://esp32c6-bitbang?x", "nothing may follow"),
        (
            "sim://qemu-riscv32-virt",
            "is not simulated; these are: esp32c6",
        ),
    ] {
        let error = open(url).map(|it| it.name()).expect_err(url).to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn missing_firmware_is_named_with_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        elf_dir: folder.path().into(),
        ..Options::default()
    };
    let mut target = open("sim://esp32c6-bitbang", &options).expect("a board");
    let error = target
        .run(&stream(Direction::ToDevice), &mut NoMonitor)
        .expect_err("no firmware");
    assert!(error.is_input());
    let text = error.to_string();
    assert!(text.contains("cargo xtask firmware bench_agent"), "{text}");
}

#[test]
fn the_mac_passes_the_conformance_cases() {
    let Some(target) = board(5) else { return };
    let board = target.test_board().expect("a board");
    for case in crate::conformance::CASES {
        let outcome = run_case(&board, case, 300, &mut NoMonitor).expect("it starts");
        let is_wrong = matches!(outcome, crate::conformance::Outcome::Failed(_));
        assert!(!is_wrong, "{}: {outcome:?}", case.name);
    }
}

#[test]
fn transfers_are_near_the_line_s_rate_and_the_same_each_time() {
    let Some(mut target) = board(1) else { return };
    for direction in [Direction::ToDevice, Direction::FromDevice] {
        let outcome = run(target.as_mut(), &stream(direction));
        let flow = outcome.to_device.clone().or(outcome.from_device.clone());
        let goodput = flow.expect("one way").goodput_bytes_per_s;
        assert!((900_000.0..1_250_000.0).contains(&goodput), "{goodput}");
        if direction == Direction::ToDevice {
            assert_eq!(outcome, run(target.as_mut(), &stream(direction)));
        }
    }
    let both = run(target.as_mut(), &stream(Direction::Both));
    let of = |flow: Option<linerate_results::record::Flow>| flow.expect("a way").octets;
    assert!(of(both.to_device) > 10_000 && of(both.from_device) > 10_000);
}

#[test]
fn datagrams_arrive_as_many_as_were_sent() {
    let Some(mut target) = board(2) else { return };
    for direction in [Direction::ToDevice, Direction::FromDevice] {
        let outcome = run(target.as_mut(), &datagrams(direction));
        let (flow, by) = match direction {
            Direction::ToDevice => (outcome.to_device, CountedAt::Device),
            _ => (outcome.from_device, CountedAt::Host),
        };
        let flow = flow.expect("that way");
        let counts = flow.datagrams.expect("datagrams");
        assert_eq!((flow.counted_by, counts.lost), (by, 0));
        assert!((49..=53).contains(&counts.received), "{counts:?}");
    }
}

#[test]
fn round_trips_take_longer_under_a_load() {
    let Some(mut target) = board(3) else { return };
    let mut asked = RoundTrips {
        count: 20,
        interval: Duration::from_millis(10),
        payload_octets: 44,
        load: None,
    };
    let median = |outcome: Outcome| {
        let answers = outcome.round_trips.expect("answers");
        assert_eq!(answers.sent, 20);
        let mut all: Vec<u64> = answers.samples.iter().map(|it| it.round_trip_ns).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let alone = median(run(target.as_mut(), &Trial::RoundTrips(asked.clone())));
    // Two frames of 90 octets and more, and the peer's turnaround.
    assert!((200_000..1_000_000).contains(&alone), "{alone}");
    let load = Trial::Stream(Stream::of(
        Direction::ToDevice,
        Amount::Span(Duration::from_millis(900)),
    ));
    asked.load = Some(Box::new(load));
    let loaded = run(target.as_mut(), &Trial::RoundTrips(asked));
    assert!(loaded.to_device.is_some());
    let loaded = median(loaded);
    assert!(loaded > 2 * alone, "{loaded} under load, {alone} without");
}

#[test]
fn frames_are_counted_and_come_back() {
    let Some(mut target) = board(4) else { return };
    let mut frames = Frames {
        octets: 1_518,
        count: 40,
        interval_ns: 0.0,
        reflected: false,
    };
    let outcome = run(target.as_mut(), &Trial::Frames(frames));
    let flow = outcome.to_device.expect("what it counted");
    let counts = flow.datagrams.expect("frames");
    assert_eq!((counts.sent, counts.received, counts.lost), (40, 40, 0));
    assert_eq!(flow.octets, 40 * 1_518);
    // The time of all frames but the first, as far as the main loop saw them without delay.
    let line = 39 * 1_538 * 800;
    let late = flow.span_ns.abs_diff(line);
    assert!(late < line / 10, "{} of {line}", flow.span_ns);
    frames = Frames {
        octets: 64,
        count: 40,
        interval_ns: 1_000_000.0,
        reflected: true,
    };
    let outcome = run(target.as_mut(), &Trial::Frames(frames));
    let answers = outcome.round_trips.expect("reflections");
    assert_eq!((answers.sent, answers.samples.len()), (40, 40));
    assert_eq!((answers.lost_forward, answers.lost_backward), (0, 0));
}

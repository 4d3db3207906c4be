use super::*;
use crate::machine::Event;
use crate::measure::scripted::{Script, line, segment};
use crate::progress::Silent;
use linerate_capture::wire::{Segment, Side};
use linerate_ether::pattern;
use linerate_results::record::{Duplex, FrameCounts, WireCounts};
use std::collections::BTreeMap;

const SCENARIO: &str = r#"schema = 1
name = "test"
board = "esp32c6-bitbang"
seed = 5

[[run]]
variant = "windowed"
ping = { count = 1 }
http_get = { bytes = [1460], requests = 1 }

[[run]]
variant = "isr-all"
ping = { count = 1 }

[[expect]]
variant = "windowed"
goodput_bytes_per_s_min = 1_000_000
frame_loss_rate_max = 0.0
"#;

fn script(config: &MachineConfig) -> Script {
    let mut events = vec![line(900_000_000, r#"@ {"event":"done"}"#)];
    if config.name.starts_with("ping") {
        events.push(line(
            5_000_000,
            r#"@ {"event":"ping","seq":0,"rtt_us":900}"#,
        ));
    } else {
        let crc32 = pattern::crc32(1460);
        events.push(Event::Frame(segment(
            1_000_000,
            Side::Device,
            0,
            0,
            Segment::SYN,
        )));
        events.push(Event::Frame(segment(
            2_000_000,
            Side::Peer,
            1,
            1460,
            Segment::ACK,
        )));
        let get = format!(
            r#"@ {{"event":"get","path":"/1460","body_bytes":1460,"crc32":{crc32},"duration_us":4000}}"#
        );
        events.push(line(5_000_000, &get));
    }
    Script::new(events)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the shape of what opens a machine"
)]
pub(super) fn open(config: &MachineConfig) -> Result<Box<dyn Machine>, MachineError> {
    Ok(Box::new(script(config)))
}

pub(super) struct Fixture {
    dir: tempfile::TempDir,
    pub(super) options: Options,
    scenario: Scenario,
}

impl Fixture {
    pub(super) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

pub(super) fn fixture() -> Fixture {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("esp32c6-bitbang");
    std::fs::create_dir(&folder).expect("made");
    for name in ["ping-windowed", "http_get-windowed", "ping-isr-all"] {
        std::fs::write(folder.join(format!("{name}.elf")), name).expect("written");
    }
    let options = Options {
        elf_dir: dir.path().to_owned(),
        out: dir.path().join("out"),
        threads: 2,
        timing: None,
        baseline: None,
        scenario_sha256: "abc".to_owned(),
        resume: false,
    };
    Fixture {
        dir,
        options,
        scenario: Scenario::parse(SCENARIO, "test.toml").expect("valid"),
    }
}

#[test]
fn results_come_in_the_order_of_the_scenario_with_everything_beside_them() {
    let fixture = fixture();
    let outcome = run(&fixture.scenario, &fixture.options, &open, &Silent).expect("measured");
    let kinds: Vec<String> = outcome
        .run
        .results
        .iter()
        .map(|result| format!("{} {}", result.kind(), result.variant()))
        .collect();
    assert_eq!(
        kinds,
        ["ping windowed", "http_get windowed", "ping isr-all"]
    );
    let provenance = &outcome.run.provenance;
    assert_eq!(
        provenance.elf_sha256["ping-isr-all"],
        firmware::sha256(b"ping-isr-all")
    );
    assert_eq!(
        (
            provenance.seed,
            provenance.board.as_str(),
            provenance.trace_hash.len()
        ),
        (5, "script", 3)
    );
    assert_eq!(provenance.virtual_ns, 3 * 900_000_000);
    assert_eq!(outcome.run.frame_counts, BTreeMap::new());
    for file in ["run.json", "report.html", "report.md", crate::store::TRIALS] {
        assert!(
            fixture.options.out.join(file).is_file(),
            "{file} is missing"
        );
    }
    let text = std::fs::read_to_string(fixture.options.out.join("run.json")).expect("written");
    assert_eq!(
        crate::store::read(&text).expect("readable").run,
        outcome.run
    );
    assert_eq!(
        outcome.run.failures,
        [
            "windowed, 1,460 B: goodput_bytes_per_s_p50 2.92 Mbit/s (365 kB/s) is below 8 Mbit/s (1 MB/s)"
        ]
    );
}

#[test]
fn parameters_have_the_duplex_of_the_link() {
    let fixture = fixture();
    let recorded = |asked: &str, came_to: Option<Duplex>| -> Vec<String> {
        let text = SCENARIO.replace("seed = 5", &format!("duplex = \"{asked}\""));
        let scenario = Scenario::parse(&text, "test.toml").expect("valid");
        let open = |config: &MachineConfig| {
            let script = script(config);
            Ok(match came_to {
                Some(duplex) => Box::new(script.with_duplex(duplex)) as Box<dyn Machine>,
                None => Box::new(script),
            })
        };
        run(&scenario, &fixture.options, &open, &Silent).expect("measured");
        let text = std::fs::read_to_string(fixture.options.out.join("run.json")).expect("written");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let results = json["results"].as_array().expect("results");
        let duplex = results.iter().map(|result| &result["params"]["duplex"]);
        duplex
            .map(|duplex| duplex.as_str().unwrap_or("left out").to_owned())
            .collect()
    };
    assert_eq!(recorded("full", Some(Duplex::Half)), ["half"; 3]);
    assert_eq!(recorded("auto", Some(Duplex::Full)), ["full"; 3]);
    assert_eq!(recorded("auto", Some(Duplex::None)), ["none"; 3]);
    // A machine without access to the link has the configured duplex.
    assert_eq!(recorded("full", None), ["full"; 3]);
}

#[test]
fn missing_firmware_is_found_before_anything_runs() {
    let fixture = fixture();
    std::fs::remove_file(fixture.dir.path().join("esp32c6-bitbang/ping-isr-all.elf"))
        .expect("removed");
    let never =
        |_: &MachineConfig| -> Result<Box<dyn Machine>, MachineError> { panic!("nothing may run") };
    let error = run(&fixture.scenario, &fixture.options, &never, &Silent).expect_err("missing");
    assert!(
        error
            .to_string()
            .contains("cargo xtask firmware ping isr-all"),
        "{error}"
    );
    assert!(!error.is_target_failure());
    assert!(!fixture.options.out.exists());
}

/// A scenario of three programs, of which the first one fails.
fn run_with_failure(error: fn() -> MachineError, fixture: &Fixture) -> Result<Outcome, RunError> {
    let open = move |config: &MachineConfig| match config.name.as_str() {
        "ping-windowed" => Err(error()),
        _ => self::open(config),
    };
    let options = Options {
        threads: 1,
        ..fixture.options.clone()
    };
    run(&fixture.scenario, &options, &open, &Silent)
}

#[test]
fn a_target_that_fails_is_named_and_the_rest_is_measured_and_reported() {
    let fixture = fixture();
    let fault = || MachineError::Fault {
        at_ns: 1_500,
        what: "illegal instruction at 0x40800000".into(),
    };
    let outcome = run_with_failure(fault, &fixture).expect("written");
    let why = "at 1.5 µs: illegal instruction at 0x40800000";
    let sentence = format!("ping-windowed: {why}");
    assert_eq!(outcome.run.results.len(), 2);
    assert_eq!(outcome.run.failures[0], sentence);
    let missing = &outcome.run.not_measured[..];
    assert!(
        matches!(missing, [it] if it.what == "ping-windowed" && it.why == why),
        "{missing:?}"
    );
    for name in ["run.json", "report.md", "report.html", "junit.xml"] {
        let text = std::fs::read_to_string(fixture.options.out.join(name)).expect(name);
        assert!(text.contains(why), "{name}: {text}");
    }
    let error = outcome.without_failure().expect_err("failed");
    assert_eq!(error.to_string(), sentence);
    assert!(error.is_target_failure());
}

#[test]
fn a_machine_that_cannot_be_used_ends_the_run() {
    let fixture = fixture();
    let board = || MachineError::Board("it has no such table".into());
    let error = run_with_failure(board, &fixture).expect_err("wrong input");
    assert!(!error.is_target_failure(), "{error}");
}

#[test]
fn invariants_are_always_checked() {
    let mut run =
        Run::from_json(include_str!("../../../results/tests/fixtures/run.json")).expect("valid");
    assert_eq!(failures(&run, &[]), [""; 0]);
    if let Some(Measurement::HttpGet(get)) = run.results.get_mut(1) {
        get.metrics.crc32[0] ^= 1;
        get.ledger.delivered_frames -= 2;
    }
    assert_eq!(
        failures(&run, &[]),
        [
            "isr-all, 10 kB: 2 frames are neither delivered nor counted as lost",
            "isr-all, 10 kB: CRC-32 differs between the two sides"
        ]
    );
}

#[test]
fn results_name_the_timing_table_and_its_guesses() {
    let Fixture {
        dir: _dir,
        options,
        scenario,
    } = fixture();
    let outcome = run(&scenario, &options, &open, &Silent).expect("runs");
    let provenance = &outcome.run.provenance;
    assert_eq!(provenance.timing_table, "scripted");
    assert_eq!(provenance.guesses, ["guess"]);
    assert_eq!(provenance.timing.len(), 2);
}

/// One frame more on the wire than in the results.
#[test]
fn counts_that_contradict_the_ledger_fail_the_run() {
    let Fixture {
        dir: _dir,
        options,
        scenario,
    } = fixture();
    let open = |config: &MachineConfig| -> Result<Box<dyn Machine>, MachineError> {
        let counts = FrameCounts {
            wire: WireCounts {
                transmissions: 2,
                device_transmissions: 1,
                ..WireCounts::default()
            },
            ..FrameCounts::default()
        };
        let script = script(config);
        Ok(Box::new(match config.name.as_str() {
            "http_get-windowed" => script.with_counts(counts),
            _ => script,
        }))
    };
    let outcome = run(&scenario, &options, &open, &Silent).expect("runs");
    assert_eq!(outcome.run.frame_counts.len(), 1);
    let contradiction =
        "http_get-windowed: 2 transmissions to the device began on the wire, and the ledger has 1";
    assert_eq!(outcome.run.failures[0], contradiction);
}

pub(super) const MATRIX: &str = r#"schema = 1
name = "test"
board = "esp32c6-bitbang"

[[run]]
variant = "windowed"
ping = { count = 1 }
http_get = { bytes = [1460], requests = 1 }

[matrix]
[[matrix.axis]]
field = "peer.turnaround_us"
values = [0, 40, 80, 120]
"#;

struct After<'a>(usize, &'a Mutex<Vec<String>>);
impl Progress for After<'_> {
    fn begin(&self, _: usize, _: &str, _: u64) {}
    fn step(&self, _: usize, _: u64, _: u64) {}
    fn result(&self, _: &Measurement) {}
    fn end(&self, _: usize, _: &str, _: u64) {}
    fn note(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        lock(self.1).len() >= self.0
    }
}

/// A run of the matrix, in which the machines called `fails` fail and `after` machines are switched on.
fn run_matrix(fixture: &Fixture, resume: bool, fails: &str, after: usize) -> (Run, Vec<String>) {
    let scenario = Scenario::parse(MATRIX, "test.toml").expect("valid");
    let options = Options {
        threads: 1,
        resume,
        ..fixture.options.clone()
    };
    let opened = Mutex::new(Vec::new());
    let open = |config: &MachineConfig| {
        lock(&opened).push(config.name.clone());
        if config.name == fails {
            let (at_ns, what) = (7, "a fault".to_owned());
            return Err(MachineError::Fault { at_ns, what });
        }
        self::open(config)
    };
    let outcome = super::run(&scenario, &options, &open, &After(after, &opened));
    let run = outcome.expect("written").run;
    let opened = std::mem::take(&mut *lock(&opened));
    (run, opened)
}

pub(super) fn read_file(fixture: &Fixture, name: &str) -> Vec<u8> {
    std::fs::read(fixture.options.out.join(name)).expect(name)
}

#[test]
fn each_cell_of_a_matrix_is_measured_and_is_a_row_of_the_table() {
    let fixture = fixture();
    let (run, opened) = run_matrix(&fixture, false, "", usize::MAX);
    assert_eq!(opened.len(), 8);
    assert_eq!(run.results.len(), 8);
    let cell = run.results[7].setting().cell.as_ref().expect("a cell");
    assert_eq!(cell.to_string(), "turnaround_us = 120, seed 1");
    assert_eq!(run.results[7].setting().conditions.turnaround_ns, 120_000);
    assert!(read_file(&fixture, crate::store::PARQUET).starts_with(b"PAR1"));
    let trials = String::from_utf8(read_file(&fixture, crate::store::TRIALS)).expect("text");
    let stored = crate::store::read(&trials).expect("readable");
    assert_eq!((stored.run.results.len(), stored.lacks.len()), (8, 0));
}

#[test]
fn a_matrix_that_was_interrupted_continues_to_the_same_files() {
    let whole = fixture();
    let (first, _) = run_matrix(&whole, false, "", usize::MAX);
    let files = ["results.csv", crate::store::PARQUET];
    let expected = files.map(|name| read_file(&whole, name));
    let fixture = fixture();
    let (_, opened) = run_matrix(&fixture, false, "", 4);
    assert_eq!(opened.len(), 4);
    // A kill in the middle of a line of the file.
    let path = fixture.options.out.join(crate::store::TRIALS);
    let text = std::fs::read_to_string(&path).expect("written");
    let cut: Vec<&str> = text.lines().take(6).collect();
    std::fs::write(&path, format!("{}\n{{\"meas", cut.join("\n"))).expect("written");
    let (second, opened) = run_matrix(&fixture, true, "", usize::MAX);
    assert!(!opened.contains(&"ping-windowed-c0000".to_owned()));
    assert_eq!(opened.len(), 6, "{opened:?}");
    assert_eq!(files.map(|name| read_file(&fixture, name)), expected);
    let mut first = first;
    first
        .provenance
        .started
        .clone_from(&second.provenance.started);
    assert_eq!(second, first);
    // Nothing is left to do.
    let (third, opened) = run_matrix(&fixture, true, "", usize::MAX);
    assert_eq!((third, opened), (second, Vec::new()));
}

#[test]
fn a_cell_that_fails_is_listed_and_leaves_the_others() {
    let fixture = fixture();
    let (run, opened) = run_matrix(&fixture, false, "ping-windowed-c0002", usize::MAX);
    assert_eq!((opened.len(), run.results.len()), (8, 7));
    assert_eq!(run.not_measured[0].what, "ping-windowed-c0002");
    assert_eq!(run.failures, ["ping-windowed-c0002: at 7 ns: a fault"]);
    // It is tried again.
    let (run, opened) = run_matrix(&fixture, true, "", usize::MAX);
    assert_eq!(opened, ["ping-windowed-c0002"]);
    assert_eq!((run.results.len(), run.failures.len()), (8, 0));
}

#[test]
fn another_scenario_or_firmware_does_not_continue_a_run() {
    let mut fixture = fixture();
    run_matrix(&fixture, false, "", 3);
    let scenario = Scenario::parse(MATRIX, "test.toml").expect("valid");
    let refused = |options: &Options| {
        let error = run(&scenario, options, &open, &Silent).expect_err("refused");
        assert!(!error.is_target_failure());
        error.to_string()
    };
    fixture.options.resume = true;
    let other = Options {
        scenario_sha256: "def".to_owned(),
        ..fixture.options.clone()
    };
    let error = refused(&other);
    assert!(error.contains("it is of another scenario"), "{error}");
    let elf = fixture.dir.path().join("esp32c6-bitbang/ping-windowed.elf");
    std::fs::write(elf, "rebuilt").expect("written");
    let error = refused(&fixture.options);
    assert!(error.contains("it is of other firmware"), "{error}");
}

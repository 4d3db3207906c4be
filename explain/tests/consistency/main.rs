//! No sentence of an explanation contradicts a figure beside it: for generated transfers, and for each capture in the
//! folders `LINERATE_DATA` and `LINERATE_CAPTURES` (several, separated by `:`).

mod transfer;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use linerate_capture::reader::Reader;
use linerate_capture::traffic::Traffic;
use linerate_explain::traffic::Report;
use linerate_results::consistency::Explanation;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use transfer::Setting;

/// Captures are generated from this many settings, with `LINERATE_LONG` from the second number.
const CASES: (u32, u32) = (400, 10_000);

/// The explanation of a capture as a reader sees it.
fn explained(traffic: Traffic) -> Explanation {
    let report = Report::of(traffic, Vec::new());
    let json = serde_json::to_value(&report).expect("JSON");
    serde_json::from_value(json).expect("findings and connections")
}

/// Paths, hosts and places of capture of all kinds.
fn settings() -> impl Strategy<Value = Setting> {
    let path = (
        prop_oneof![Just(200_u64), 1_000..20_000_u64, 20_000..300_000_u64],
        prop_oneof![
            20_000..200_000_u64,
            200_000..2_000_000_u64,
            2_000_000..100_000_000_u64
        ],
        prop_oneof![2..20_usize, 20..400_usize],
        prop_oneof![3 => Just(0_u64), 2 => 1..30_u64, 1 => 100..300_u64],
        prop_oneof![4 => Just(false), 1 => Just(true)],
    );
    let ends = (
        prop_oneof![Just(100_u32), Just(536), Just(1_460), Just(1_448)],
        prop_oneof![1_000..8_000_u32, 8_000..65_000_u32],
        prop_oneof![Just(1_u32), Just(2), 3..12_u32],
        prop_oneof![Just(0_u64), 1..50_u64, 50..400_u64],
        prop_oneof![3 => Just(0_u64), 1 => 5..600_u64],
        prop_oneof![3 => Just(0_u64), 1 => 5..600_u64],
    );
    let capture = (
        3..400_u32,
        0..=2_u8,
        prop_oneof![2 => Just(0_usize), 1 => 3..60_usize],
        any::<bool>(),
        any::<u64>(),
        prop_oneof![4 => Just(0_u64), 1 => 30..900_u64],
    );
    (path, ends, capture).prop_map(|(path, ends, capture)| Setting {
        rtt_us: path.0,
        bytes_per_s: path.1,
        queue: path.2,
        loss_permille: path.3,
        loses_second: path.4,
        mss: ends.0,
        window: ends.1,
        ack_every: ends.2,
        ack_delay_ms: ends.3,
        write_pause_ms: ends.4,
        read_pause_ms: ends.5,
        segments: capture.0,
        place: capture.1,
        skipped: capture.2,
        is_stamped: capture.3,
        seed: capture.4,
        opening_ms: capture.5,
    })
}

#[test]
fn explanations_of_generated_transfers_are_consistent() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let transfers = prop::collection::vec(settings(), 1..=3);
    let mut causes = BTreeMap::<String, usize>::new();
    let mut all = Vec::new();
    let is_long = std::env::var_os("LINERATE_LONG").is_some();
    for _ in 0..if is_long { CASES.1 } else { CASES.0 } {
        let transfers = transfers.new_tree(&mut runner).expect("settings").current();
        let explanation = explained(transfer::traffic(&transfers));
        for it in &explanation.findings {
            *causes.entry(it.finding.cause.to_string()).or_default() += 1;
        }
        let found = explanation.contradictions();
        all.extend(found.iter().map(|it| format!("{it}\n{transfers:?}")));
    }
    assert!(
        all.is_empty(),
        "{} contradictions:\n{}",
        all.len(),
        all.join("\n")
    );
    // The generator makes slow transfers of many kinds.
    assert!(causes.len() >= 12, "{causes:?}");
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for name in ["LINERATE_DATA", "LINERATE_CAPTURES"] {
        let value = std::env::var_os(name).unwrap_or_default();
        folders.extend(std::env::split_paths(&value).filter(|it| !it.as_os_str().is_empty()));
    }
    folders
}

/// The captures below `folder`.
fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.flatten().map(|it| it.path()) {
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            captures(&path, found);
        } else if [".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            found.push(path);
        }
    }
}

#[test]
fn explanations_of_recorded_captures_are_consistent() {
    let mut paths = Vec::new();
    for folder in folders() {
        captures(&folder, &mut paths);
    }
    if paths.is_empty() {
        eprintln!(
            "skipped: neither LINERATE_DATA nor LINERATE_CAPTURES names a folder with captures"
        );
    }
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let Ok(mut reader) = Reader::new(File::open(&path).expect("readable")) else {
            continue;
        };
        let mut traffic = Traffic::default();
        while let Some(packet) = reader.next() {
            traffic.record_packet(&packet);
        }
        let found = explained(traffic).contradictions();
        all.extend(found.iter().map(|it| format!("{}: {it}", path.display())));
    }
    assert!(
        all.is_empty(),
        "{} contradictions:\n{}",
        all.len(),
        all.join("\n")
    );
}

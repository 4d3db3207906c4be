//! Compares the packet flags with tshark's: for published captures (`captures.toml`), for those in the folder
//! `LINERATE_DATA`, and for generated conversations with deliberately abnormal behaviour.

mod conversation;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use linerate_capture::reader::Reader;
use linerate_capture::tcp::AnalysisFlags;
use linerate_capture::traffic::Traffic;

/// The packets with each flag.
type Marked = BTreeMap<&'static str, BTreeSet<u64>>;

fn ours(capture: &Path) -> Marked {
    let mut reader = Reader::new(File::open(capture).expect("readable")).expect("a capture");
    let mut traffic = Traffic::with_flags();
    let mut marked = Marked::new();
    while let Some(packet) = reader.next() {
        let flags = traffic.record_packet(&packet);
        for (_, name) in AnalysisFlags::NAMES
            .iter()
            .filter(|(flag, _)| flags.contains(*flag))
        {
            marked.entry(name).or_default().insert(packet.number);
        }
    }
    marked
}

fn theirs(capture: &Path) -> Marked {
    let mut tshark = Command::new("tshark");
    tshark.args([
        "-n",
        "-T",
        "fields",
        "-E",
        "separator=;",
        "-E",
        "occurrence=f",
    ]);
    tshark.args(["-e", "frame.number"]);
    for (_, name) in AnalysisFlags::NAMES {
        tshark.args(["-e", name]);
    }
    let output = tshark.arg("-r").arg(capture).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut marked = Marked::new();
    for line in text.lines() {
        let mut fields = line.split(';');
        let number = fields
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a number");
        let there: Vec<&str> = AnalysisFlags::NAMES
            .iter()
            .zip(fields)
            .filter_map(|((_, name), value)| (!value.is_empty()).then_some(*name))
            .collect();
        // tshark also marks these two as retransmissions.
        let special = there.iter().any(|name| {
            name.ends_with("fast_retransmission") || name.ends_with("spurious_retransmission")
        });
        for name in there {
            if !(special && name == "tcp.analysis.retransmission") {
                marked.entry(name).or_default().insert(number);
            }
        }
    }
    marked
}

/// Describes the flags that only one of them has.
fn differences(capture: &Path) -> Vec<String> {
    let (ours, theirs) = (ours(capture), theirs(capture));
    let none = BTreeSet::new();
    let marks = |marked: &Marked| marked.values().map(BTreeSet::len).sum::<usize>();
    println!(
        "{}: {} flags, tshark {}",
        capture.display(),
        marks(&ours),
        marks(&theirs)
    );
    let mut found = Vec::new();
    for (_, name) in AnalysisFlags::NAMES {
        let (own, other) = (
            ours.get(name).unwrap_or(&none),
            theirs.get(name).unwrap_or(&none),
        );
        if own != other {
            let only_own: Vec<_> = own.difference(other).take(5).collect();
            let only_other: Vec<_> = other.difference(own).take(5).collect();
            found.push(format!(
                "{}: {name}: only here {only_own:?}, only tshark {only_other:?}",
                capture.display()
            ));
        }
    }
    found
}

/// True if tshark of the version with these rules is installed.
fn has_tshark() -> bool {
    let version = Command::new("tshark").arg("--version").output();
    let there = version.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).starts_with("TShark (Wireshark) 4.0.")
    });
    assert!(
        there || std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
        "tshark 4.0 is missing: cargo xtask setup installs it"
    );
    if !there {
        eprintln!("skipped: tshark 4.0 is missing (cargo xtask setup installs it)");
    }
    there
}

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') {
            captures(&path, found);
        } else if path.is_file() && (name.contains(".pcap") || name.contains(".cap")) {
            found.push(path);
        }
    }
}

/// Compares all captures in `folder` and below with tshark; returns their number.
fn have_the_same_flags(folder: &Path) -> usize {
    let mut found = Vec::new();
    captures(folder, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no capture in {}", folder.display());
    let differences: Vec<String> = found.iter().flat_map(|path| differences(path)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    found.len()
}

#[test]
fn captures_of_the_data_folder_have_the_same_flags() {
    let Some(folder) = std::env::var_os("LINERATE_DATA") else {
        eprintln!("skipped: LINERATE_DATA names no folder with captures");
        return;
    };
    if has_tshark() {
        have_the_same_flags(Path::new(&folder));
    }
}

#[test]
fn published_captures_have_the_same_flags() {
    let Some(folder) = std::env::var_os("LINERATE_CAPTURES") else {
        eprintln!("skipped: LINERATE_CAPTURES names no folder (cargo xtask captures makes one)");
        return;
    };
    if has_tshark() {
        let found = have_the_same_flags(Path::new(&folder));
        assert!(
            found >= 12,
            "{found} captures: cargo xtask captures brings more"
        );
    }
}

#[test]
fn generated_conversations_have_the_same_flags() {
    if !has_tshark() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut all = Vec::new();
    for seed in 0..4 {
        let path = folder.join(format!("conversation-{seed}.pcap"));
        fs::write(&path, conversation::capture(seed, 40, 150)).expect("writable");
        all.extend(differences(&path));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

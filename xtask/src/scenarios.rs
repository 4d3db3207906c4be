//! The scenarios that check the firmware's specified behaviour: short versions in the quick tier, complete with
//! `--long`; and the commands `cargo xtask beat` and `sensitivity`.

use crate::steps::Outcome;
use crate::{board, demo, firmware, sh};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// A scenario of the checks.
struct Checked {
    name: &'static str,
    /// One of its runs; all if it is empty.
    run: &'static str,
    /// Factor of the quick version: some rounds of each conformance case, a second of a storm.
    scale: f64,
}

const fn checked(name: &'static str, run: &'static str, scale: f64) -> Checked {
    Checked { name, run, scale }
}

/// The scenarios of both tiers.
const CHECKED: [Checked; 7] = [
    checked("phy-conformance", "cases", 0.002),
    checked("phy-conformance", "gap-47", 1.0),
    checked("negotiation", "", 1.0),
    checked("negotiated", "", 1.0),
    checked(FULL_DUPLEX, "", 1.0),
    checked("hub", "", 0.02),
    checked("storm", "", 0.02),
];
/// Scenarios of the long tier only, which are never shortened.
const LONG: [&str; 2] = ["beat-niccle", "loss-surface"];
/// The scenario with firmware of its own.
const FULL_DUPLEX: &str = "full-duplex";
/// Variant of `beat` and `sensitivity`.
const VARIANT: &str = "line-rate";
const PROGRAMS: [&str; 4] = ["ping", "http_get", "http_put", "http_both"];

/// Runs every scenario; the reports are written to `target/scenarios`.
///
/// # Errors
/// Expectations of a scenario were not met, or it failed; the error names the scenarios.
pub fn run(long: bool, log: &Path) -> Result<Outcome> {
    let linerate = demo::checked(Some(log))?;
    let full_duplex = full_duplex_firmware(log)?;
    let mut failed = Vec::new();
    let whole = LONG.map(|name| checked(name, "", 1.0)).into_iter();
    let wanted: Vec<Checked> = CHECKED.into_iter().chain(whole.filter(|_| long)).collect();
    let mut captures = 0;
    for Checked { name, run, scale } in &wanted {
        let out = sh::out("scenarios").join(format!(
            "{name}{}{run}",
            if run.is_empty() { "" } else { "-" }
        ));
        let mut command = scenario(&linerate, name, &out);
        if !run.is_empty() {
            command.args(["--run", run]);
        }
        if !long && *scale < 1.0 {
            command.arg("--scale").arg(scale.to_string());
        }
        if *name == FULL_DUPLEX {
            command.arg("--elf-dir").arg(&full_duplex);
        }
        if sh::logged(&mut command, log).is_err() {
            failed.push(*name);
        } else if sh::has("tshark") {
            captures += check_captures(&out)?;
        }
    }
    if !failed.is_empty() {
        let text = std::fs::read_to_string(log)?;
        let reasons = text
            .lines()
            .filter(|line| line.starts_with("not met: ") || line.starts_with("error: "));
        let reasons: Vec<&str> = reasons.collect();
        bail!("{}\n{}", reasons.join("\n"), failed.join(", "));
    }
    if captures == 0 {
        let why = "reading the captures of scenarios needs tshark: apt-get install tshark";
        return Ok(Outcome::Skipped(why.into()));
    }
    let scenarios = wanted.len();
    Ok(Outcome::Done(format!(
        "{scenarios} scenarios; tshark reads {captures} captures without a malformed frame"
    )))
}

fn scenario(linerate: &Path, name: &str, out: &Path) -> std::process::Command {
    let mut run = sh::cmd(linerate);
    run.arg("run")
        .arg(format!("scenarios/{name}.toml"))
        .arg("--out")
        .arg(out);
    run
}

/// Builds the firmware of `scenarios/full-duplex.toml`; returns its folder.
fn full_duplex_firmware(log: &Path) -> Result<PathBuf> {
    let board = board::read(board::DEFAULT)?;
    let folder = sh::out("full-duplex-firmware");
    let programs = ["http_get", "http_both"].map(str::to_owned);
    let choices = [("LINERATE_DUPLEX", "full")];
    firmware::build_with(&board, &programs, &variant(), &choices, &folder, Some(log))?;
    Ok(folder)
}

/// Has tshark read every capture of a run: it finds as many packets as linerate, and none of them malformed. Returns
/// the number of captures.
fn check_captures(folder: &Path) -> Result<usize> {
    let text = std::fs::read_to_string(folder.join("run.json"))?;
    let run: serde_json::Value = serde_json::from_str(&text)?;
    let counted = run["frame_counts"].as_object();
    let mut captures = 0;
    for (name, counts) in counted.into_iter().flatten() {
        let capture = &counts["capture"];
        let (Some(to), Some(from)) = (
            capture["to_device"].as_u64(),
            capture["from_device"].as_u64(),
        ) else {
            continue;
        };
        let file = folder.join(format!("{name}.pcapng"));
        let read = |filter: &str| -> Result<u64> {
            let mut tshark = sh::cmd("tshark");
            tshark
                .arg("-n")
                .arg("-r")
                .arg(&file)
                .args(["-T", "fields", "-e", "frame.number"]);
            if !filter.is_empty() {
                tshark.args(["-Y", filter]);
            }
            Ok(sh::read(&mut tshark)?.lines().count() as u64)
        };
        let (all, malformed) = (read("")?, read("_ws.malformed")?);
        if all != to + from || malformed > 0 {
            bail!(
                "tshark finds {all} packets, {malformed} of them malformed, in {}; linerate counted {}",
                file.display(),
                to + from
            );
        }
        captures += 1;
    }
    Ok(captures)
}

/// `cargo xtask beat`: builds the firmware of `scenarios/beat-niccle.toml` and runs it.
pub fn beat() -> Result<()> {
    let board = board::read(board::DEFAULT)?;
    firmware::build(&board, &PROGRAMS.map(str::to_owned), &variant(), None)?;
    let get = ["http_get".to_owned()];
    firmware::build(&board, &get, &["windowed".to_owned()], None)?;
    let linerate = demo::optimised(None)?;
    let out = sh::out("scenarios").join("beat-niccle");
    let result = sh::run(&mut scenario(&linerate, "beat-niccle", &out));
    println!("report: {}", firmware::relative(&out.join("report.html")));
    result
}

/// `cargo xtask sensitivity`: measures which results depend on guesses of the timing table.
pub fn sensitivity() -> Result<()> {
    let board = board::read(board::DEFAULT)?;
    let programs = ["http_get", "station"].map(str::to_owned);
    firmware::build(&board, &programs, &variant(), None)?;
    let linerate = demo::optimised(None)?;
    let mut run = sh::cmd(linerate);
    run.args(["sensitivity", "scenarios/sensitivity.toml", "--out"])
        .arg(sh::out("sensitivity"));
    sh::run(&mut run).context("cannot measure the sensitivity")
}

fn variant() -> [String; 1] {
    [VARIANT.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::{CHECKED, Checked, FULL_DUPLEX, check_captures};
    use crate::sh;
    use std::path::Path;

    fn scenario(name: &str) -> toml::Table {
        let file = sh::root().join("scenarios").join(format!("{name}.toml"));
        let text = std::fs::read_to_string(file).expect("a scenario");
        text.parse().expect("TOML")
    }

    /// The checked scenario, if it is never shortened.
    fn whole(name: &str) -> Option<&'static Checked> {
        let is_it = |it: &&Checked| it.name == name && (it.scale - 1.0).abs() < 1e-9;
        CHECKED.iter().find(is_it)
    }

    fn list<'a>(table: &'a toml::Table, key: &str) -> &'a [toml::Value] {
        table[key].as_array().expect("a list")
    }

    /// Fewer frames than ten thousand fit into the queue, however short their gaps.
    #[test]
    fn the_shortest_gaps_are_checked_with_ten_thousand_frames_and_have_bounds() {
        assert_eq!(whole("phy-conformance").expect("whole").run, "gap-47");
        let scenario = scenario("phy-conformance");
        let runs = list(&scenario, "run");
        let run = runs.iter().find(|it| it["name"].as_str() == Some("gap-47"));
        let measured = &run.expect("the run")["phy_conformance"];
        assert!(measured["frames"].as_integer() >= Some(10_000));
        for case in measured["cases"].as_array().expect("cases") {
            let bounds = list(&scenario, "expect");
            let is_bound = |it: &&toml::Value| {
                it.get("case") == Some(case) && it["metric"].as_str() == Some("frame_loss_rate")
            };
            let bound = bounds.iter().find(is_bound).expect("a bound");
            assert!(bound["max"].as_float() < Some(0.1), "{bound}");
        }
    }

    #[test]
    fn downloads_over_a_negotiated_link_and_in_forced_full_duplex_are_checked() {
        for (name, duplex) in [("negotiated", "auto"), ("full-duplex", "full")] {
            assert!(whole(name).is_some(), "{name}");
            let scenario = scenario(name);
            assert_eq!(scenario["duplex"].as_str(), Some(duplex));
            let runs = list(&scenario, "run");
            assert!(runs.iter().any(|it| it.get("http_get").is_some()), "{name}");
            assert!(list(&scenario, "expect").len() > 1, "{name}");
        }
    }

    /// A download alone overlaps no frame of the device.
    #[test]
    fn forced_full_duplex_is_checked_with_frames_that_overlap() {
        let scenario = scenario(FULL_DUPLEX);
        let runs = list(&scenario, "run");
        let both = runs.iter().find(|it| it.get("http_both").is_some());
        let name = both.expect("both directions at once")["name"].as_str();
        let is_it = |it: &&toml::Value| {
            it["metric"].as_str() == Some("lost_share.deaf_while_sending")
                && it["run"].as_str() == name
        };
        let bound = list(&scenario, "expect").iter().find(is_it);
        assert!(bound.expect("a bound")["min"].as_float() > Some(0.0));
    }

    /// A capture of one frame to a device: an IPv4 packet with a UDP datagram to port 53.
    fn capture(folder: &Path, dns: &[u8]) {
        let mut frame = [0_u8; 14 + 20 + 8].to_vec();
        frame[12..14].copy_from_slice(&[8, 0]);
        let len = 28 + dns.len() as u8;
        frame[14..24].copy_from_slice(&[0x45, 0, 0, len, 0, 0, 0, 0, 64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[34..40].copy_from_slice(&[200, 0, 0, 53, 0, len - 20]);
        frame.extend(dns);
        let mut file: Vec<u8> = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.extend(word.to_le_bytes());
        }
        let len = frame.len() as u32;
        for word in [0, 0, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
        std::fs::write(folder.join("a.pcapng"), file).expect("written");
        let counts = r#"{"frame_counts": {"a": {"capture": {"to_device": 1, "from_device": 0}}}}"#;
        std::fs::write(folder.join("run.json"), counts).expect("written");
    }

    #[test]
    fn a_capture_with_a_malformed_frame_or_another_count_is_an_error() {
        if !sh::has("tshark") {
            eprintln!("skipped: reading captures needs tshark: apt-get install tshark");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        // A query for the root, and one whose name goes beyond the end.
        let head = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        capture(folder, &[&head[..], &[0, 0, 1, 0, 1]].concat());
        assert_eq!(check_captures(folder).expect("whole"), 1);
        capture(folder, &[&head[..], &[40, b'x', b'x']].concat());
        let error = check_captures(folder).expect_err("malformed").to_string();
        assert!(error.contains("1 packets, 1 of them malformed"), "{error}");
        let more = r#"{"frame_counts": {"a": {"capture": {"to_device": 1, "from_device": 1}}}}"#;
        capture(folder, &[&head[..], &[0, 0, 1, 0, 1]].concat());
        std::fs::write(folder.join("run.json"), more).expect("written");
        let error = check_captures(folder).expect_err("missing").to_string();
        assert!(error.contains("linerate counted 2"), "{error}");
    }
}

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
    let get = ["http_get".to_owned()];
    let choices = [("LINERATE_DUPLEX", "full"), ("LINERATE_SIZES", "100000x3")];
    firmware::build_with(&board, &get, &variant(), &choices, &folder, Some(log))?;
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
    let folder: PathBuf = sh::out("sensitivity-firmware");
    let programs = ["http_get", "station"].map(str::to_owned);
    let choices = [("LINERATE_SIZES", "1000000x1")];
    firmware::build_with(&board, &programs, &variant(), &choices, &folder, None)?;
    let linerate = demo::optimised(None)?;
    let mut run = sh::cmd(linerate);
    run.args(["sensitivity", "scenarios/sensitivity.toml", "--elf-dir"])
        .arg(&folder)
        .arg("--out")
        .arg(sh::out("sensitivity"));
    sh::run(&mut run).context("cannot measure the sensitivity")
}

fn variant() -> [String; 1] {
    [VARIANT.to_owned()]
}

//! `cargo xtask accuracy`: every procedure on links whose rate, delay, jitter and loss are known.
//!
//! `linerate relay` makes the link between two network namespaces and counts every frame, `linerate
//! serve` or a stock iperf is the device in one of them, and the procedure runs in the other.

mod cases;

use crate::sh;
use anyhow::{Context, Result, bail};
use cases::{CASES, Case, Known};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The address of the namespace with the device (`linerate relay --namespaces`).
const DEVICE: &str = "10.0.0.2";
/// What a procedure may be off by.
const TOLERANCE: f64 = 0.02;
const PAGE: &str = "docs/accuracy.md";

/// A case's outcome.
struct Row {
    case: &'static Case,
    known: f64,
    reported: f64,
}

impl Row {
    fn error(&self) -> f64 {
        if self.known == 0.0 {
            self.reported.abs()
        } else {
            self.reported / self.known - 1.0
        }
    }

    fn limit(&self) -> f64 {
        self.case
            .stated
            .map_or(TOLERANCE, |stated| stated.share(self.known))
    }

    fn holds(&self) -> bool {
        self.error().abs() <= self.limit()
    }
}

/// The command.
pub fn run(words: &[String]) -> Result<()> {
    if !cfg!(target_os = "linux") || !sh::has("ip") {
        bail!("this needs Linux with network namespaces, and `ip`");
    }
    sh::run(sh::cargo().args(["build", "--locked", "--release", "-p", "linerate"]))?;
    let program = binary()?;
    let chosen = |case: &&Case| {
        words.is_empty()
            || words
                .iter()
                .any(|word| case.procedure.contains(word.as_str()))
    };
    let mut rows = Vec::new();
    for case in CASES.iter().filter(chosen) {
        let row = measure(&program, case)?;
        println!(
            "{:<12} {:<44} known {:>14.1} reported {:>14.1} {:+.2}% {}",
            case.procedure,
            case.link,
            row.known,
            row.reported,
            row.error() * 100.0,
            if row.holds() { "" } else { "TOO FAR OFF" }
        );
        rows.push(row);
    }
    if words.is_empty() {
        fs::write(sh::root().join(PAGE), page(&rows))?;
        println!("written: {PAGE}");
    }
    let off = rows.iter().filter(|row| !row.holds()).count();
    if off > 0 {
        bail!(
            "{off} of {} figures are further off than stated",
            rows.len()
        );
    }
    Ok(())
}

fn binary() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| sh::root().join("target"), PathBuf::from);
    let program = target.join("release/linerate");
    if !program.is_file() {
        bail!("{} is missing", program.display());
    }
    Ok(program)
}

fn measure(program: &Path, case: &'static Case) -> Result<Row> {
    let dir = sh::out("accuracy");
    fs::create_dir_all(&dir)?;
    let (result, truth) = (dir.join("result.json"), dir.join("truth.json"));
    let _ = fs::remove_file(&result);
    let _ = fs::remove_file(&truth);
    let [left, right] = ["left", "right"].map(|end| format!("acc{}-{end}", std::process::id()));
    let mut relay = sh::cmd(program);
    relay
        .arg("relay")
        .args(["--namespaces", &format!("{left},{right}"), "--busy"]);
    relay.args(["--seconds", "120"]).arg("--json").arg(&truth);
    relay.args(case.link.split_whitespace());
    let script = script(program, case, &right, &result);
    relay.args(["--", "sh", "-c", &script]);
    sh::logged(&mut relay, &dir.join("log.txt"))
        .with_context(|| format!("{} over {}", case.command, case.link))?;
    let read = |file: &Path| {
        let text = fs::read_to_string(file)
            .with_context(|| format!("{} left no results within 120 s", case.command))?;
        anyhow::Ok(serde_json::from_str::<Value>(&text)?)
    };
    let (result, truth) = (read(&result)?, read(&truth)?);
    let reported = (case.reported)(&result)
        .with_context(|| format!("no such figure in the results of {}", case.command))?;
    let known = match case.known {
        Known::Value(value) => value,
        Known::Truth(of) => of(&truth).context("no such count in the relay's truth")?,
    };
    Ok(Row {
        case,
        known,
        reported,
    })
}

/// Starts the device, measures, ends the device.
fn script(program: &Path, case: &Case, right: &str, result: &Path) -> String {
    let (program, dir) = (program.display(), sh::out("accuracy"));
    let log = dir.join("serve.log");
    let (log, measured) = (log.display(), dir.join("measured"));
    let command = case.command.replace("DEVICE", DEVICE);
    // It has said so of each protocol when it listens.
    format!(
        ": >{log}; ip netns exec {right} {program} serve --bind {DEVICE} --udp-on-request \
         --seconds 110 2>>{log} & device=$!; trap 'kill $device; wait $device' EXIT; \
         trap 'exit 1' TERM INT; \
         until [ \"$(grep -c ' on {DEVICE}:' {log})\" -ge 5 ]; do \
         kill -0 $device || exit 1; sleep 0.05; done; \
         {program} {command} --out {} --json {}",
        measured.display(),
        result.display()
    )
}

fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# How far off the figures are\n\n\
         Made by `cargo xtask accuracy` (Linux, root): each procedure over [the relay](relay.md), which \
         has a known rate, delay, jitter and loss, toward `linerate serve` in a namespace of its own. \
         What is known comes from the settings, or where it is a matter of chance from the relay's own \
         count of the frames. A figure is right within 2%, or within the error that is stated for it \
         here with its reason.\n\n\
         | procedure | link | figure | known | reported | off by | may be off by |\n\
         |---|---|---|---:|---:|---:|---|\n",
    );
    for row in rows {
        let case = row.case;
        let stated = case.stated.map_or("2%".to_owned(), cases::Stated::words);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| `linerate {}` | `{}` | {} | {:.1} | {:.1} | {:+.2}%{} | {stated} |",
            case.command,
            case.link,
            case.figure,
            row.known,
            row.reported,
            row.error() * 100.0,
            if row.holds() { "" } else { " **too far**" }
        );
    }
    text.push_str(
        "\nThe link, the device and the bench share the processors of one machine here: what it adds is \
         in the figures.\n",
    );
    text
}

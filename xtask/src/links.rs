//! `cargo xtask links`: sends messages through noise, changes links under a self-test, compares the link layer with
//! others, and measures the link on simulated boards and the drivers of the W5500; the figures are in target/links/scores.json.

use crate::{link_boards, sh, w5500};
use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// Text in front of the counts that the tests print.
const COUNTS: &str = "counts: ";

/// Sends 100,000 messages on a simulated line and 20,000 between two processes, or 10,000,000 each with `long`, then
/// builds and runs `link/compare`, which has its own lock file.
///
/// # Errors
/// A message was wrong or lost, or one of the programs cannot be built or run.
pub fn run(long: bool) -> Result<()> {
    let mut scores = counts("noise", "no_message_is_wrong", long)?;
    if cfg!(target_os = "linux") {
        scores.extend(counts("pty", "no_message_between_two_processes", long)?);
    }
    // Changes a link under its self-test 96 times.
    scores.extend(counts("self_test", "changes_are_named", true)?);
    println!("{}", Value::Object(scores.clone()));
    let folder = sh::out("links");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("scores.json");
    let text = serde_json::to_string_pretty(&scores)?;
    // The comparison adds its own.
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    let mut command = sh::cargo();
    command
        .args(["run", "--quiet", "--release", "--locked", "--"])
        .arg(&folder)
        .current_dir(sh::root().join("link/compare"))
        .env("CARGO_TARGET_DIR", sh::out("links-compare"));
    sh::run(&mut command)?;
    link_boards::run(&folder)?;
    w5500::run(&folder)
}

/// Runs a test of the link layer, the whole of it with `long`; returns the counts that it prints.
fn counts(test: &str, name: &str, long: bool) -> Result<Map<String, Value>> {
    let mut command = sh::cargo();
    command
        .args(["test", "--quiet", "--release", "--locked"])
        .args(["--package", "linerate-link", "--test", test])
        .args([name, "--", "--show-output"]);
    if long {
        command.env("LINERATE_LONG", "1");
    }
    let output = sh::read(&mut command)?;
    let lines = output.lines().filter_map(|line| line.strip_prefix(COUNTS));
    let mut all = Map::new();
    for counts in lines {
        let parsed: Map<String, Value> = serde_json::from_str(counts)
            .with_context(|| format!("counts of the test {test}: {counts}"))?;
        all.extend(parsed);
    }
    anyhow::ensure!(!all.is_empty(), "the test {test} printed no counts");
    Ok(all)
}

//! `cargo xtask links`: sends messages through noise, and compares the link layer with others; the figures are in
//! target/links/scores.json.

use crate::{sh, w5500};
use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// What the test that sends messages through noise prints in front of its counts.
const COUNTS: &str = "counts: ";

/// Sends 100,000 messages, or 10,000,000 with `long`, then builds and runs `link/compare`, which has its own lock file.
///
/// # Errors
/// A message was wrong or lost, or one of the programs cannot be built or run.
pub fn run(long: bool) -> Result<()> {
    let counts = messages(long)?;
    println!("{}", Value::Object(counts.clone()));
    let folder = sh::out("links");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("scores.json");
    let text = serde_json::to_string_pretty(&counts)?;
    // The comparison adds its own.
    std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    let mut command = sh::cargo();
    command
        .args(["run", "--quiet", "--release", "--locked", "--"])
        .arg(&folder)
        .current_dir(sh::root().join("link/compare"))
        .env("CARGO_TARGET_DIR", sh::out("links-compare"));
    sh::run(&mut command)?;
    w5500::run(&folder)
}

/// Runs the test; returns its counts of messages.
fn messages(long: bool) -> Result<Map<String, Value>> {
    let mut test = sh::cargo();
    test.args(["test", "--quiet", "--release", "--locked"])
        .args(["--package", "linerate-link", "--test", "noise"])
        .args(["no_message_is_wrong", "--", "--show-output"]);
    if long {
        test.env("LINERATE_LONG", "1");
    }
    let output = sh::read(&mut test)?;
    let counts = output.lines().find_map(|line| line.strip_prefix(COUNTS));
    let counts = counts.context("the test printed no counts of messages")?;
    serde_json::from_str(counts).with_context(|| format!("counts of the test: {counts}"))
}

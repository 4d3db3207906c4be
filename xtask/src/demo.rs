//! `cargo xtask demo`: from a fresh clone to a downloaded file, a waveform and a report.

use crate::firmware::relative;
use crate::{board, firmware, sh};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The command.
pub fn run() -> Result<()> {
    let started = Instant::now();
    let board = board::read(board::DEFAULT)?;
    println!("building the firmware");
    let programs = ["ping", "http_get"].map(str::to_owned);
    firmware::build(&board, &programs, &board.variants, None)?;
    println!("building linerate");
    let linerate = linerate(None)?;
    let out = sh::out("demo");
    std::fs::create_dir_all(&out)?;
    let built = started.elapsed();
    let measuring = Instant::now();
    sh::run(
        sh::cmd(linerate)
            .args(["run", "scenarios/niccle.toml", "--out"])
            .arg(&out),
    )?;
    let report = out.join("report.html");
    if !report.is_file() {
        bail!("the run wrote no {}", relative(&report));
    }
    println!(
        "\nbuilt in {:.0} s, measured in {:.0} s; look at:",
        built.as_secs_f64(),
        measuring.elapsed().as_secs_f64()
    );
    for entry in std::fs::read_dir(&out)?.flatten() {
        println!("  {}", relative(&entry.path()));
    }
    Ok(())
}

/// Builds the release command line and returns its path.
pub fn linerate(log: Option<&Path>) -> Result<PathBuf> {
    let mut build = sh::cargo();
    build.args(["build", "--release", "--locked", "--package", "linerate"]);
    sh::run_or_log(&mut build, log)?;
    let query = ["metadata", "--no-deps", "--format-version=1", "--offline"];
    let metadata: serde_json::Value = serde_json::from_str(&sh::read(sh::cargo().args(query))?)?;
    let target = metadata["target_directory"].as_str().unwrap_or("target");
    Ok(PathBuf::from(target).join("release/linerate"))
}

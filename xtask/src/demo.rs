//! `cargo xtask demo`: from a fresh clone to a downloaded file, a waveform and a report.

use crate::firmware::relative;
use crate::{board, concurrent, elapsed, firmware, sh};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the command.
pub fn run() -> Result<()> {
    let started = Instant::now();
    let board = board::read(board::DEFAULT)?;
    println!("building the firmware and linerate");
    let programs = ["ping", "http_get"].map(str::to_owned);
    // Linking a firmware with LTO uses one core only.
    let (linerate, firmware) = concurrent::both(built, || {
        firmware::build(&board, &programs, &board.variants, None)
    });
    firmware?;
    let linerate = linerate?;
    let out = sh::out("demo");
    std::fs::create_dir_all(&out)?;
    let built = started.elapsed();
    let measuring = Instant::now();
    let mut run = sh::cmd(linerate);
    run.args(["run", "scenarios/niccle.toml", "--out"])
        .arg(&out);
    // If an expectation is not met, the results are listed before the error is returned.
    let result = sh::run(&mut run);
    println!(
        "\nbuilt in {:.0} s, measured in {:.0} s{}; results:",
        built.as_secs_f64(),
        measuring.elapsed().as_secs_f64(),
        elapsed::since_command().map_or_else(String::new, |all| format!(
            "; {:.0} s since the command was entered",
            all.as_secs_f64()
        ))
    );
    for entry in std::fs::read_dir(&out)?.flatten() {
        println!("  {}", relative(&entry.path()));
    }
    result
}

/// Builds the command line with the profile of this program, so that shared crates are built once; the simulator is
/// optimised in it. Returns its path.
///
/// # Errors
/// The build failed.
pub fn built() -> Result<PathBuf> {
    sh::run(sh::cargo().args(["build", "--locked", "--package", "linerate"]))?;
    Ok(target()?.join("debug/linerate"))
}

/// Builds the optimised command line and returns its path.
pub fn optimised(log: Option<&Path>) -> Result<PathBuf> {
    let mut build = sh::cargo();
    build.args(["build", "--release", "--locked", "--package", "linerate"]);
    sh::run_or_log(&mut build, log)?;
    Ok(target()?.join("release/linerate"))
}

/// Builds the command line for the checks, with the features of the whole workspace, so that its build is reused.
pub fn checked(log: Option<&Path>) -> Result<PathBuf> {
    let mut build = sh::cargo();
    // With other features, everything would be built again.
    build.args([
        "test",
        "--no-run",
        "--locked",
        "--workspace",
        "--all-features",
    ]);
    build.args(["--test", "cli"]);
    sh::run_or_log(&mut build, log)?;
    Ok(target()?.join("debug/linerate"))
}

/// Cargo's target folder.
pub fn target() -> Result<PathBuf> {
    let query = ["metadata", "--no-deps", "--format-version=1", "--offline"];
    let metadata: serde_json::Value = serde_json::from_str(&sh::read(sh::cargo().args(query))?)?;
    let target = metadata["target_directory"].as_str().unwrap_or("target");
    Ok(PathBuf::from(target))
}

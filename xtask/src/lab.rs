//! Runs an experiment of `lab/`, which is built on demand.

use crate::sh;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Command line of `experiment` with its arguments.
fn command(experiment: &str, arguments: &[String]) -> Command {
    let mut command = sh::cargo();
    command.args([
        "run",
        "--quiet",
        "--locked",
        "--package",
        "linerate-lab",
        "--",
    ]);
    command.arg(experiment).args(arguments);
    command
}

/// Runs `experiment`.
///
/// # Errors
/// If it cannot be built, or fails.
pub fn run(experiment: &str, arguments: &[String]) -> Result<()> {
    sh::run(&mut command(experiment, arguments))
}

/// Runs `experiment` with these arguments as a step of the checks; its output goes to `log`.
///
/// # Errors
/// If it cannot be built, or fails.
pub fn logged(experiment: &str, arguments: &[&str], log: &Path) -> Result<()> {
    let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
    sh::logged(&mut command(experiment, &arguments), log)?;
    Ok(())
}

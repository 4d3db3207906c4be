//! Measurements of a target: a device behind `linerate relay`, or the simulated board.

use super::case::{Sweep, Trial};
use super::out;
use anyhow::Result;
use std::path::{Path, PathBuf};
use xtask::sh;

/// Timeout of a run, seconds.
const MAX_SECONDS: u64 = 60;
/// The address of the device's end.
const DEVICE: &str = "10.0.0.2";

/// Runs the measurement; returns the results.
pub fn results(linerate: &Path, trial: &Trial, set_up: &Sweep) -> Result<PathBuf> {
    let folder = out().join(&trial.name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let [left, right] = ["left", "right"].map(|end| format!("cause{}-{end}", std::process::id()));
    let mut relay = sh::cmd(linerate);
    relay
        .args(["relay", "--namespaces", &format!("{left},{right}")])
        .args(["--seconds", &MAX_SECONDS.to_string()])
        .args(["--seed", &trial.seed.to_string()])
        .args(["--both", &set_up.both])
        .args([
            "--",
            "sh",
            "-c",
            &script(linerate, set_up, &right, &folder)?,
        ]);
    sh::logged(&mut relay, &folder.join("log.txt"))?;
    Ok(folder.join("run.json"))
}

/// Shell script for the measuring end.
fn script(linerate: &Path, set_up: &Sweep, right: &str, folder: &Path) -> Result<String> {
    let program = std::env::current_exe()?;
    let (program, linerate, folder) = (program.display(), linerate.display(), folder.display());
    let lines = |own: &[String]| [&["true".to_owned()], own].concat().join("; ");
    // Stops the program repeatedly, as on a machine that is busy with other work.
    let busy = if set_up.away.is_empty() {
        String::new()
    } else {
        format!(
            "while kill -STOP $linerate 2>/dev/null; do sleep {}; kill -CONT $linerate; sleep 0.3; done & busy=$!;",
            set_up.away
        )
    };
    Ok(format!(
        "trap 'kill -CONT $linerate 2>/dev/null || true; kill $linerate $busy $device 2>/dev/null || true; wait' EXIT; \
         trap 'exit 1' TERM INT; set -e; {at_left}; \
         ip netns exec {right} {program} causes-end device ready={folder}/ready {device} & device=$!; \
         until [ -e {folder}/ready ]; do kill -0 $device; sleep 0.02; done; \
         {linerate} {measure} --out {folder} & linerate=$!; {busy} \
         wait $linerate",
        at_left = lines(&set_up.left),
        device = set_up.device,
        measure = set_up
            .measure
            .replace("TARGET", &format!("iperf2://{DEVICE}")),
    ))
}

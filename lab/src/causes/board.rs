//! Runs of the simulated board, with capture and results.

use super::case::{Board, Case, Setup, Trial};
use super::out;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use xtask::{board, firmware, sh};

/// Builds the firmware of `cases`.
pub fn build(cases: &[Case]) -> Result<()> {
    let wanted: BTreeSet<&str> = cases
        .iter()
        .filter_map(|case| match &case.set_up {
            Setup::Board(set_up) => Some(set_up.firmware.as_str()),
            Setup::Linux(_) | Setup::Sweep(_) => None,
        })
        .collect();
    let board = board::read(board::DEFAULT)?;
    for name in wanted {
        let (program, variant) = name.split_once('-').context("PROGRAM-VARIANT")?;
        firmware::build(&board, &[program.to_owned()], &[variant.to_owned()], None)?;
    }
    Ok(())
}

/// Runs the board; returns the capture. The results are in `run.json` next to it.
pub fn capture(linerate: &Path, trial: &Trial, set_up: &Board) -> Result<PathBuf> {
    let dir = out().join(&trial.name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir)?;
    let scenario = dir.join("scenario.toml");
    let text = format!(
        "schema = 1\nname = \"cause\"\nboard = \"{}\"\n{}",
        board::DEFAULT,
        set_up.scenario
    );
    std::fs::write(&scenario, text)?;
    let mut run = sh::cmd(linerate);
    run.arg("run").arg(&scenario);
    run.args(["--threads", "1", "--seed", &(trial.seed >> 33).to_string()]);
    run.arg("--out")
        .arg(&dir)
        .arg("--elf-dir")
        .arg(sh::out("firmware"));
    if !set_up.timing.is_empty() {
        run.arg("--timing").arg(timing(&dir, set_up)?);
    }
    sh::logged(&mut run, &dir.join("log.txt"))?;
    let captures = std::fs::read_dir(&dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_capture = |path: &PathBuf| path.extension().is_some_and(|it| it == "pcapng");
    captures
        .into_iter()
        .find(is_capture)
        .context("the run wrote no capture")
}

/// The board's timing table with some entries changed.
fn timing(dir: &Path, set_up: &Board) -> Result<PathBuf> {
    let table = std::fs::read_to_string(sh::root().join("sim/src/chip/esp32c6/timing.toml"))?;
    let mut table: toml::Table = toml::from_str(&table)?;
    for (entry, value) in &set_up.timing {
        let (part, name) = entry
            .split_once('.')
            .context("a timing entry has the form part.name")?;
        let value: i64 = value.parse()?;
        let entry = table
            .get_mut(part)
            .and_then(|part| part.get_mut(name))
            .and_then(|entry| entry.get_mut("value"));
        *entry.with_context(|| format!("no entry {name}"))? = toml::Value::Integer(value);
    }
    let file = dir.join("timing.toml");
    std::fs::write(&file, toml::to_string(&table)?)?;
    Ok(file)
}

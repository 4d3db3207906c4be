//! The part of `cargo xtask links` about the W5500: builds `boards/esp32c6-w5500/firmware`, with its code in flash and in
//! RAM, and measures its drivers in the simulator.

use crate::{sh, tools};
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Clocks in the names of the runs.
const CLOCKS: [&str; 4] = ["12", "26", "40", "80"];
/// The clock of the ratio in the scores: the highest of this microcontroller that the W5500 guarantees.
const GUARANTEED: &str = "26";

/// Places of the code: the folder of the results below that of all links, the variable that selects it in `build.rs`,
/// and what the names of the ratios begin with. In flash, the cache of 32 KiB makes a driver up to a third slower or
/// faster when unrelated code moves it; code in RAM shows the drivers themselves.
const PLACES: [(&str, Option<&str>, &str); 2] = [
    ("", None, "w5500"),
    ("w5500-ram", Some("LINERATE_CODE_IN_RAM"), "w5500_ram"),
];

/// Writes `w5500.json` and the pictures to `folder` for code in flash and below it for code in RAM, and adds the ratios
/// to its `scores.json`.
///
/// # Errors
/// The firmware cannot be built, or a run failed.
pub fn run(folder: &Path) -> Result<()> {
    tools::ensure_target(tools::RISCV)?;
    let file = folder.join("scores.json");
    let mut scores: Map<String, Value> = serde_json::from_value(read(&file)?)?;
    for (place, variable, prefix) in PLACES {
        let folder = folder.join(place);
        fs::create_dir_all(&folder)?;
        let elf = build(variable)?;
        let mut measure = sh::cargo();
        measure
            .args(["run", "--quiet", "--release", "--locked"])
            .args(["--package", "linerate-sim", "--example", "w5500", "--"])
            .args([&elf, &folder]);
        sh::run(&mut measure)?;
        let runs: Vec<Value> = serde_json::from_value(read(&folder.join("w5500.json"))?)?;
        scores.extend(ratios(prefix, &runs)?);
    }
    fs::write(&file, serde_json::to_string_pretty(&scores)?)
        .with_context(|| file.display().to_string())
}

/// Builds the firmware, with this variable if there is one; returns the ELF.
fn build(variable: Option<&str>) -> Result<PathBuf> {
    let target = sh::out("firmware").join("esp32c6-w5500");
    let mut build = sh::cargo();
    build
        .args(["build", "--release", "--locked"])
        .current_dir(sh::root().join("boards/esp32c6-w5500/firmware"))
        .env("CARGO_TARGET_DIR", &target);
    for name in PLACES.iter().filter_map(|(_, name, _)| *name) {
        build.env_remove(name);
    }
    if let Some(name) = variable {
        build.env(name, "1");
    }
    sh::run(&mut build)?;
    Ok(target.join(tools::RISCV).join("release/esp32c6-w5500"))
}

fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

/// TCP receive of the driver of linerate-nic to the best configuration of embassy-net-wiznet at each clock, by names that
/// begin with `prefix`.
fn ratios(prefix: &str, runs: &[Value]) -> Result<Map<String, Value>> {
    let mut scores = Map::new();
    for clock in CLOCKS {
        let best = |driver: &str| {
            let wanted = runs.iter().filter(|run| {
                let name = run["name"].as_str().unwrap_or_default();
                name.starts_with(driver) && name.ends_with(&format!("-{clock}"))
            });
            let rates = wanted.filter_map(|run| run["tcp_receive"]["bits_per_s"].as_f64());
            rates.fold(0.0, f64::max)
        };
        let (ours, theirs) = (best("ahead"), best("wiznet"));
        ensure!(ours > 0.0 && theirs > 0.0, "no transfer at {clock} MHz");
        let ratio = json!((ours / theirs * 1e3).round() / 1e3);
        if clock == GUARANTEED {
            scores.insert(format!("{prefix}_tcp_receive_ratio_embassy"), ratio.clone());
        }
        let name = format!("{prefix}_tcp_receive_ratio_embassy_{clock}_mhz");
        scores.insert(name, ratio);
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_to_the_best_configuration() {
        let run =
            |name: &str, rate: u64| json!({"name": name, "tcp_receive": {"bits_per_s": rate}});
        let mut runs = Vec::new();
        for clock in CLOCKS {
            runs.push(run(&format!("ahead-{clock}"), 30));
            runs.push(run(&format!("wiznet-{clock}"), 10));
            runs.push(run(&format!("wiznet-dma-{clock}"), 20));
        }
        let scores = ratios("ram", &runs).unwrap();
        assert_eq!(scores["ram_tcp_receive_ratio_embassy"], json!(1.5));
        assert!(ratios("ram", &runs[1..]).is_err());
    }
}

//! The part of `cargo xtask links` about the link on a board: builds `boards/esp32c6-link/firmware` and measures it in the
//! simulator.

use crate::{sh, tools};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes `boards.json` and the histograms of the gaps to `folder`.
///
/// # Errors
/// The firmware cannot be built, or a run failed.
pub fn run(folder: &Path) -> Result<()> {
    tools::ensure_target(tools::RISCV)?;
    let (fast, slow) = (build(folder, false)?, build(folder, true)?);
    let mut measure = sh::cargo();
    measure
        .args(["run", "--quiet", "--release", "--locked"])
        .args(["--package", "linerate-sim", "--example", "link", "--"])
        .args([folder, &fast, &slow]);
    sh::run(&mut measure)
}

/// Builds the firmware for a CPU clock of 160 MHz, or 80 if `is_slow`; returns the ELF in `folder`.
fn build(folder: &Path, is_slow: bool) -> Result<PathBuf> {
    let target = sh::out("firmware").join("esp32c6-link");
    let mut build = sh::cargo();
    build
        .args(["build", "--release", "--locked"])
        .current_dir(sh::root().join("boards/esp32c6-link/firmware"))
        .env("CARGO_TARGET_DIR", &target);
    if is_slow {
        build.env("LINERATE_CPU_80", "1");
    } else {
        build.env_remove("LINERATE_CPU_80");
    }
    sh::run(&mut build)?;
    let made = target.join(tools::RISCV).join("release/esp32c6-link");
    let kept = folder.join(if is_slow {
        "link-80.elf"
    } else {
        "link-160.elf"
    });
    fs::copy(&made, &kept).with_context(|| made.display().to_string())?;
    Ok(kept)
}

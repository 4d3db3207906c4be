//! `cargo xtask repro`: two clones in different folders, with different `CARGO_HOME`s, make the
//! same firmware, byte for byte.

use crate::sh;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Folders of different depth and length, so that a path that slips in moves something.
const PLACES: [(&str, &str); 2] = [("a", "home-a"), ("rather/deeper/clone-b", "other/home-b")];

/// The command: builds `program` in `variant` in both places and compares.
pub fn run(program: &str, variant: &str) -> Result<()> {
    let base = sh::out("repro");
    if base.exists() {
        std::fs::remove_dir_all(&base)?;
    }
    let commit = sh::read(sh::cmd("git").args(["rev-parse", "HEAD"]))?;
    let mut hashes = Vec::new();
    for (clone, home) in PLACES {
        let (clone, home) = (base.join(clone), base.join(home));
        let elf = build(commit.trim(), &clone, &home, program, variant)?;
        let hash = sh::sha256(&elf)?;
        println!("{hash}  {}", elf.display());
        hashes.push(hash);
    }
    if hashes[0] != hashes[1] {
        bail!("the two ELFs differ");
    }
    println!("the two ELFs are the same");
    Ok(())
}

/// Clones one commit of the checkout and builds there, with an empty `CARGO_HOME`.
fn build(commit: &str, clone: &Path, home: &Path, program: &str, variant: &str) -> Result<PathBuf> {
    std::fs::create_dir_all(home)?;
    sh::run(
        sh::cmd("git")
            .args(["clone", "--quiet", "--local"])
            .arg(sh::root())
            .arg(clone),
    )?;
    sh::run(
        sh::cmd("git")
            .arg("-C")
            .arg(clone)
            .args(["checkout", "--quiet", commit]),
    )?;
    // A mirror that a person set up in their own CARGO_HOME is needed in the new one too.
    let own = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    if let Some(config) = own
        .map(|own| own.join("config.toml"))
        .filter(|c| c.is_file())
    {
        std::fs::copy(config, home.join("config.toml")).context("cannot copy cargo's set-up")?;
    }
    let mut xtask = sh::cargo();
    xtask
        .current_dir(clone)
        .env("CARGO_HOME", home)
        .env_remove("CARGO_TARGET_DIR")
        .args(["xtask", "firmware", program, variant]);
    sh::run(&mut xtask)?;
    Ok(clone.join(format!("target/firmware/{program}-{variant}.elf")))
}

//! `cargo xtask byte-links`: runs `link/compare`, which has its own lock file.

use crate::sh;
use anyhow::Result;

/// Builds and runs the comparison.
pub fn run() -> Result<()> {
    let mut command = sh::cargo();
    command
        .args(["run", "--quiet", "--release", "--locked", "--"])
        .arg(sh::out("links"))
        .current_dir(sh::root().join("link/compare"))
        .env("CARGO_TARGET_DIR", sh::out("byte-links"));
    sh::run(&mut command)
}

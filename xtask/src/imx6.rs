//! `cargo xtask imx6`: simulates the published curves of an i.MX 6 with the firmware of `boards/rv32-enet`; scores and
//! page are in target/imx6.

use crate::{board, firmware, sh};
use anyhow::{Context, Result};

const BOARD: &str = "rv32-enet";
const PROGRAM: &str = "udp_sink";

/// Builds the firmware and runs the experiment `lab/imx6` with these arguments.
///
/// # Errors
/// One of them cannot be built, or the published data are missing.
pub fn run(arguments: &[String]) -> Result<()> {
    let board = board::read(BOARD)?;
    let variant = board.default_variant.clone();
    let built = firmware::build(&board, &[PROGRAM.to_owned()], &[variant], None)?;
    let elf = built.first().context("the firmware was not built")?;
    let mut command = sh::cargo();
    command
        .args(["run", "--quiet", "--locked"])
        .args(["--package", "linerate-imx6", "--"])
        .arg(elf)
        .arg("--out")
        .arg(sh::out("imx6"))
        .args(arguments);
    sh::run(&mut command)
}

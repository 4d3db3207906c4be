//! `cargo xtask imx6`: simulates the published curves of an i.MX 6 with the firmware of `boards/rv32-enet`; scores and
//! page are in target/imx6.

use crate::{board, firmware, sh};
use anyhow::{Context, Result};

const BOARD: &str = "rv32-enet";
/// For the sweeps, and for the tests with TCP and ping.
const PROGRAMS: [&str; 2] = ["udp_sink", "kernel_agent"];

/// Builds the firmware and runs the experiment `lab/imx6` with these arguments.
///
/// # Errors
/// One of them cannot be built, or the published data are missing.
pub fn run(arguments: &[String]) -> Result<()> {
    let board = board::read(BOARD)?;
    let variant = board.default_variant.clone();
    let built = firmware::build(&board, &PROGRAMS.map(str::to_owned), &[variant], None)?;
    let [sink, agent] = PROGRAMS.map(|name| {
        let file = built.iter().find(|it| {
            let file = it.file_name().unwrap_or_default();
            file.to_string_lossy().starts_with(name)
        });
        file.with_context(|| format!("{name} was not built"))
    });
    let (sink, agent) = (sink?, agent?);
    let mut command = sh::cargo();
    command
        .args(["run", "--quiet", "--locked"])
        .args(["--package", "linerate-imx6", "--"])
        .arg(sink)
        .arg("--agent")
        .arg(agent)
        .arg("--out")
        .arg(sh::out("imx6"))
        .args(arguments);
    sh::run(&mut command)
}

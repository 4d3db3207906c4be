//! The load generator beside what everybody has: iperf, iperf3, trafgen, over a cable of this machine's own.
//!
//! Everything happens between two network namespaces made for it. Rounds are interleaved, so that what
//! disturbs one program disturbs the other, too; what else the machine does meanwhile is said.

pub(super) mod machine;
mod pair;
mod rows;
mod table;

use self::machine::Busy;
use self::pair::Pair;
use anyhow::Result;
use std::path::PathBuf;
use xtask::{demo, sh, tools};

/// The section of the document, and the command that renews it.
pub const TITLE: &str = "\n## Load generator of this host\n";
const COMMAND: &str = "cargo xtask bench --load";

/// The programs that are measured, as they are built for it.
pub(super) struct Programs {
    linerate: PathBuf,
    load: PathBuf,
}

/// Measures all rows: what the document says of them. `None`: it can't be done here, and was said why.
pub fn measure() -> Result<Option<String>> {
    if !cfg!(target_os = "linux") || !tools::is_root() {
        println!("skipped: two network namespaces need Linux and root: sudo -E {COMMAND}");
        return Ok(None);
    }
    for (tool, package) in [
        ("ip", "iproute2"),
        ("ethtool", "ethtool"),
        ("taskset", "util-linux"),
    ] {
        if !sh::has(tool) {
            println!(
                "skipped: the load generator's benchmark needs {tool}: apt-get install {package}"
            );
            return Ok(None);
        }
    }
    let programs = build()?;
    let pair = Pair::create()?;
    let noise = pair
        .near(&programs.load)
        .args(["--seconds", "0.5", "noise"])
        .output()?;
    let noise = String::from_utf8_lossy(&noise.stderr).trim().to_owned();
    println!("{noise}");
    let mut busy = Busy::default();
    let rows = rows::all(&pair, &programs, &mut busy)?;
    let text = table::section(&rows, &busy, &noise, COMMAND);
    println!("{text}");
    Ok(Some(text))
}

fn build() -> Result<Programs> {
    // In one go, so that what both share is built once.
    let mut build = sh::cargo();
    build.args(["build", "--release", "--locked"]);
    build.args([
        "--package",
        "linerate-host",
        "--package",
        "linerate",
        "--bin",
        "linerate",
    ]);
    sh::run(build.args(["--example", "load"]))?;
    let release = demo::target()?.join("release");
    Ok(Programs {
        linerate: release.join("linerate"),
        load: release.join("examples/load"),
    })
}

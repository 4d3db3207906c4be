//! The load generator compared with iperf, iperf3 and trafgen over a veth pair.
//!
//! Both ends are network namespaces created for it. Rounds are interleaved, so that disturbances affect all programs
//! alike; the load of the machine by other processes is reported.

pub(super) mod machine;
mod pair;
mod rows;
mod table;

use self::machine::Busy;
use self::pair::Pair;
use super::history;
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use xtask::{demo, sh, tools};

/// Title of the document's section, and the command that updates it.
pub const TITLE: &str = "\n## Load generator of this host\n";
const COMMAND: &str = "cargo xtask bench --load";

/// Paths of the programs to measure.
pub(super) struct Programs {
    linerate: PathBuf,
    load: PathBuf,
    /// The least code that does the same; `None` without a C compiler.
    limit: Option<PathBuf>,
}

/// Measures all rows; returns the section of the document, or `None` if a requirement is missing, which is
/// printed.
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
    let figures = rows.rows.iter().map(|row| row.figure.clone()).collect();
    let earlier = history::record("load", &format!("{busy} {noise}."), figures)?;
    let text = table::section(&rows, &busy, &noise, COMMAND, &earlier);
    println!("{text}");
    Ok(Some(text))
}

fn build() -> Result<Programs> {
    // One build, so that shared crates are built once.
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
        limit: build_limit()?,
    })
}

fn build_limit() -> Result<Option<PathBuf>> {
    if !sh::has("cc") {
        println!("skipped: the limit of this machine needs a C compiler: apt-get install gcc");
        return Ok(None);
    }
    let program = sh::out("bench").join("limit");
    fs::create_dir_all(sh::out("bench"))?;
    let mut cc = sh::cmd("cc");
    cc.args(["-O2", "-o"])
        .arg(&program)
        .arg("lab/bench/limit.c");
    sh::run(cc.current_dir(sh::root()))?;
    Ok(Some(program))
}

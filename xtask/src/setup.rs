//! `cargo xtask setup`: installs the tools that the checks use besides Rust. No other command runs it.

use crate::{sh, tools};
use anyhow::Result;
use std::path::Path;

/// Debian packages: a program of each, the package and its purpose. A package is needed if its program is missing.
const PACKAGES: [(&str, &str, &str); 16] = [
    (
        "qemu-system-riscv32",
        "qemu-system-misc",
        "reference for the instruction set",
    ),
    (
        "qemu-system-arm",
        "qemu-system-arm",
        "independent MAC models",
    ),
    (
        "riscv64-unknown-elf-as",
        "binutils-riscv64-unknown-elf",
        "programs for that reference",
    ),
    (
        "riscv64-unknown-elf-gcc",
        "gcc-riscv64-unknown-elf",
        "lwIP on FreeRTOS for the soft SoC",
    ),
    ("tshark", "tshark", "reading the captures"),
    ("ip", "iproute2", "network namespaces and TAP devices"),
    ("ping", "iputils-ping", "stock peers over TAP"),
    ("curl", "curl", "stock peers over TAP"),
    ("tcpdump", "tcpdump", "captures of stock peers"),
    ("iperf", "iperf", "stock peers: version 2"),
    ("iperf3", "iperf3", "stock peers"),
    (
        "ethtool",
        "ethtool",
        "offloads of the load generator's veth pair",
    ),
    (
        "trafgen",
        "netsniff-ng",
        "comparison with the load generator",
    ),
    ("python3", "python3", "stock peers over TAP, esptool"),
    ("chromium", "chromium", "checking the report"),
    ("g++", "g++", "libFuzzer"),
];

/// The same for `test --long`.
const LONG_PACKAGES: [(&str, &str, &str); 4] = [
    ("munged", "munge", "authentication of Slurm"),
    ("slurmctld", "slurmctld", "job arrays on a cluster"),
    ("slurmd", "slurmd", "job arrays on a cluster"),
    ("sbatch", "slurm-client", "job arrays on a cluster"),
];

/// Version tested with `test --long`.
const CARGO_DENY: &str = "0.20.2";

/// Runs the command.
pub fn run(long: bool) -> Result<()> {
    let of_long = LONG_PACKAGES.iter().filter(|_| long);
    let wanted = PACKAGES.iter().chain(of_long);
    let missing: Vec<_> = wanted.filter(|(p, ..)| !sh::has(p)).collect();
    for (_, package, why) in &missing {
        println!("missing: {package} ({why})");
    }
    if missing.is_empty() {
        println!("Debian packages: all installed");
    } else if sh::has("apt-get") && tools::is_root() {
        // Without recommended packages: those of tshark and chromium include a desktop.
        sh::run(sh::cmd("apt-get").args(["update", "-q"]))?;
        sh::run(
            sh::cmd("apt-get")
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(["install", "-q", "-y", "--no-install-recommends"])
                .args(missing.iter().map(|m| m.1)),
        )?;
        println!("Debian packages: installed {}", missing.len());
    } else {
        let names: Vec<&str> = missing.iter().map(|m| m.1).collect();
        println!("to install as root: apt-get install {}", names.join(" "));
    }
    for (package, purpose, program, folder) in [
        (
            ESPTOOL,
            "comparing flash images",
            tools::esptool(),
            "esptool",
        ),
        (
            PYARROW,
            "reading results.parquet",
            tools::pyarrow(),
            "pyarrow",
        ),
    ] {
        let is_installed = match package {
            PYARROW => has_pyarrow(),
            _ => program.is_file(),
        };
        let installed = if is_installed {
            Ok(())
        } else {
            python_package(package, &sh::out(folder))
        };
        match installed {
            Ok(()) => println!("{package}, for {purpose}: installed"),
            Err(error) => println!("{package}, for {purpose}: missing ({error:#})"),
        }
    }
    let others = tools::OTHER_SYSTEMS;
    for triple in [tools::RISCV, tools::THUMB].into_iter().chain(others) {
        tools::ensure_target(triple)?;
        println!("target {triple}: installed");
    }
    if tools::has_nightly() {
        println!("nightly, for fuzzing: installed");
    } else {
        println!("nightly, for fuzzing: missing; run: rustup toolchain install nightly");
    }
    if long && !sh::has("cargo-deny") {
        sh::run(sh::cargo().args(["install", "--locked", "cargo-deny", "--version", CARGO_DENY]))?;
    }
    Ok(())
}

/// Release of esptool tested with the comparison of flash images.
const ESPTOOL: &str = "esptool==5.6.0";

/// Release of pyarrow tested with the reading of `results.parquet`.
const PYARROW: &str = "pyarrow==26.0.1";

fn has_pyarrow() -> bool {
    let python = tools::pyarrow();
    python.is_file() && sh::read(sh::cmd(python).args(["-c", "import pyarrow"])).is_ok()
}

/// Installs a Python package into a virtual environment in `folder`.
fn python_package(package: &str, folder: &Path) -> Result<()> {
    let venv = || sh::read(sh::cmd("python3").args(["-m", "venv"]).arg(folder));
    if venv().is_err() && sh::has("apt-get") && tools::is_root() {
        sh::run(sh::cmd("apt-get").args(["install", "-q", "-y", "python3-venv"]))?;
        venv()?;
    }
    sh::read(sh::cmd(folder.join("bin/pip")).args(["install", "--quiet", package]))?;
    Ok(())
}

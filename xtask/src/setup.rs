//! `cargo xtask setup`: installs the tools that the checks use besides Rust. No other command runs it.

use crate::{sh, tools};
use anyhow::Result;
use std::path::Path;

/// Debian packages: a program of each, the package and its purpose. A package is needed if its program is missing.
const PACKAGES: [(&str, &str, &str); 17] = [
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
        "lwIP on the soft SoC and on boards",
    ),
    (
        "arm-none-eabi-gcc",
        "gcc-arm-none-eabi",
        "lwIP on boards with Arm processors",
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

/// Version tested with `test --long`.
const CARGO_DENY: &str = "0.20.2";

/// Runs the command.
pub fn run(long: bool) -> Result<()> {
    let missing: Vec<_> = PACKAGES.iter().filter(|(p, ..)| !sh::has(p)).collect();
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
    match esptool() {
        Ok(()) => println!("esptool, for comparing flash images: installed"),
        Err(error) => println!("esptool, for comparing flash images: missing ({error:#})"),
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

/// Installs esptool into a virtual environment in `target/`.
fn esptool() -> Result<()> {
    if tools::esptool().is_file() {
        return Ok(());
    }
    let folder = sh::out("esptool");
    let venv = |folder: &Path| sh::read(sh::cmd("python3").args(["-m", "venv"]).arg(folder));
    if venv(&folder).is_err() && sh::has("apt-get") && tools::is_root() {
        sh::run(sh::cmd("apt-get").args(["install", "-q", "-y", "python3-venv"]))?;
        venv(&folder)?;
    }
    sh::read(sh::cmd(folder.join("bin/pip")).args(["install", "--quiet", ESPTOOL]))?;
    Ok(())
}

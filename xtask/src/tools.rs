//! Toolchains and tools of this machine, and messages on how to install missing ones.

use crate::sh;
use anyhow::{Result, bail};

/// The target of the ESP32-C6.
pub const RISCV: &str = "riscv32imac-unknown-none-elf";
/// A second `no_std` target, so that nothing depends on RISC-V.
pub const THUMB: &str = "thumbv7em-none-eabi";

/// Systems for which the command line is checked, besides this one.
pub const OTHER_SYSTEMS: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// Source of the standard library of a bare-metal target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Std {
    /// The target is installed.
    Installed,
    /// `rust-src` is installed: it is built, on stable, with the bootstrap switch.
    BuildStd,
}

/// Makes a bare-metal target usable: installed, otherwise added by rustup, otherwise built from `rust-src`.
///
/// # Errors
/// The target is unavailable; the error names the command that installs it.
pub fn ensure_target(triple: &str) -> Result<Std> {
    let sysroot = sh::read(sh::cmd("rustc").args(["--print", "sysroot"]))?;
    let lib = std::path::Path::new(sysroot.trim()).join("lib/rustlib");
    if lib.join(triple).join("lib").is_dir() {
        return Ok(Std::Installed);
    }
    if sh::has("rustup") {
        println!("adding the target {triple} through rustup");
        if sh::run(sh::cmd("rustup").args(["target", "add", triple])).is_ok() {
            return Ok(Std::Installed);
        }
    }
    if lib.join("src/rust/library/core/Cargo.toml").is_file() {
        println!("building core for {triple} from the installed rust-src");
        return Ok(Std::BuildStd);
    }
    bail!("the Rust target {triple} is missing; run: rustup target add {triple}")
}

impl Std {
    /// Adds the arguments and variables with which cargo builds for such a target.
    pub fn apply(self, command: &mut std::process::Command) {
        if self == Self::BuildStd {
            command
                .arg("-Zbuild-std=core,alloc")
                .env("RUSTC_BOOTSTRAP", "1");
        }
    }
}

/// True if this process may create network namespaces.
pub fn is_root() -> bool {
    sh::read(sh::cmd("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// True if a nightly toolchain is installed.
pub fn has_nightly() -> bool {
    sh::read(sh::nightly_cargo().arg("--version")).is_ok()
}

/// Path of the Python that `setup` installs with pyarrow.
pub fn pyarrow() -> std::path::PathBuf {
    sh::out("pyarrow").join("bin/python")
}

/// Path of the esptool that `setup` installs.
pub fn esptool() -> std::path::PathBuf {
    sh::out("esptool").join("bin/esptool")
}

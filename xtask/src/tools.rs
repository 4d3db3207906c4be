//! What the machine offers, and the words that say how to get the rest.

use crate::sh;
use anyhow::{Result, bail};

/// The target of the ESP32-C6.
pub const RISCV: &str = "riscv32imac-unknown-none-elf";
/// A second `no_std` target, so that nothing leans on RISC-V.
pub const THUMB: &str = "thumbv7em-none-eabi";

/// Systems that the command line is checked for, beside the one at hand.
pub const OTHER_SYSTEMS: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// How cargo gets the standard library of a bare-metal target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Std {
    /// The target is installed.
    Installed,
    /// `rust-src` is: build it, on stable, with the bootstrap switch.
    BuildStd,
}

/// Makes a bare-metal target usable: installed, else added by rustup, else built from `rust-src`.
///
/// # Errors
/// Names the command that is missing.
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
    /// Adds what cargo needs to build for such a target.
    pub fn apply(self, command: &mut std::process::Command) {
        if self == Self::BuildStd {
            command
                .arg("-Zbuild-std=core,alloc")
                .env("RUSTC_BOOTSTRAP", "1");
        }
    }
}

/// Whether this process may make network namespaces.
pub fn is_root() -> bool {
    sh::read(sh::cmd("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Whether a nightly toolchain is installed.
pub fn has_nightly() -> bool {
    sh::read(sh::nightly_cargo().arg("--version")).is_ok()
}

/// Where `setup` puts esptool.
pub fn esptool() -> std::path::PathBuf {
    sh::out("esptool").join("bin/esptool")
}

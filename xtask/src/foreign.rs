//! `cargo xtask foreign`: third-party ESP32-C6 programs, run in the simulator.
//!
//! Their sources are taken from published packages at build time and kept in `target/foreign`: the
//! examples in esp32c6-hal 0.8.1 (the last release of the old HAL) and the templates of
//! esp-generate (the current one). `sim/tests/foreign.toml` has the expected output of each.

use crate::{sh, tools};
use anyhow::{Context, Result, anyhow};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HAL: &str = "0.8.1";
const GENERATOR: &str = "2.0.0";

/// Examples of the old HAL, and the vectoring feature of each.
const EXAMPLES: [(&str, &str); 9] = [
    ("hello_world", "vectored"),
    ("gpio_interrupt", "vectored"),
    ("ram", "vectored"),
    ("systimer", "vectored"),
    ("timer_interrupt", "vectored"),
    ("software_interrupts", "vectored"),
    ("rtc_time", "vectored"),
    ("watchdog", "vectored"),
    ("direct-vectoring", "vectored,direct-vectoring"),
];

/// Templates, and the options for generating each.
const TEMPLATES: [(&str, &[&str]); 2] = [
    (
        "template_blocking",
        &["esp32c6", "unstable-hal", "log", "esp-backtrace"],
    ),
    (
        "template_embassy",
        &[
            "esp32c6",
            "unstable-hal",
            "log",
            "esp-backtrace",
            "alloc",
            "embassy",
        ],
    ),
];

/// The programs to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// The examples of the old HAL.
    Examples,
    /// These and the templates, whose generator takes as long to build as everything else together.
    All,
}

/// Runs the command: builds missing programs, then runs the simulator's test on all.
pub fn run(log: Option<&Path>) -> Result<()> {
    let elfs = build(Foreign::All, log)?;
    println!("{} foreign ELFs in target/foreign", elfs.len());
    if !sh::root().join("sim/tests/foreign.rs").is_file() {
        return Ok(());
    }
    let mut test = sh::cargo();
    test.args([
        "test",
        "--locked",
        "--package",
        "linerate-sim",
        "--test",
        "foreign",
    ])
    .args(["--", "--nocapture"])
    .env("LINERATE_FOREIGN_ELFS", sh::out("foreign"));
    sh::run_or_log(&mut test, log)
}

/// Builds `which` programs into `target/foreign/<name>.elf`; existing files are kept. Returns all that are there.
pub fn build(which: Foreign, log: Option<&Path>) -> Result<Vec<PathBuf>> {
    tools::ensure_target(tools::RISCV)?;
    let base = sh::out("foreign");
    fs::create_dir_all(&base)?;
    let elf = |name: &str| base.join(format!("{name}.elf"));
    if EXAMPLES.iter().any(|(name, _)| !elf(name).is_file()) {
        examples(&base, log).context("cannot build the examples of esp32c6-hal")?;
    }
    for (name, options) in TEMPLATES {
        if which == Foreign::All && !elf(name).is_file() {
            template(&base, name, options, log)
                .with_context(|| format!("cannot build {name} of esp-generate"))?;
        }
    }
    let names = EXAMPLES
        .iter()
        .map(|e| e.0)
        .chain(TEMPLATES.iter().map(|t| t.0));
    Ok(names.map(elf).filter(|elf| elf.is_file()).collect())
}

/// Cargo in a scratch project; all scratch projects share one target folder.
fn cargo_in(project: &Path) -> Command {
    let mut cargo = sh::cargo();
    cargo
        .current_dir(project)
        .env("CARGO_TARGET_DIR", sh::out("foreign").join("build"))
        // Affects the generator only; the programs are built with the profile of their authors.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo
}

fn keep(base: &Path, name: &str) -> Result<()> {
    let made = base
        .join("build")
        .join(tools::RISCV)
        .join("release")
        .join(name);
    fs::copy(&made, base.join(format!("{name}.elf")))
        .with_context(|| format!("cargo did not build {}", made.display()))?;
    Ok(())
}

fn examples(base: &Path, log: Option<&Path>) -> Result<()> {
    let project = base.join("esp32c6-hal-examples");
    fs::create_dir_all(project.join(".cargo"))?;
    fs::create_dir_all(project.join("src/bin"))?;
    fs::write(project.join("src/lib.rs"), "#![no_std]\n")?;
    let head = format!(
        "[package]\nname = \"foreign\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
         [workspace]\n\
         [features]\n\
         vectored = [\"esp32c6-hal/vectored\"]\n\
         direct-vectoring = [\"esp32c6-hal/direct-vectoring\"]\n\
         [dependencies.esp32c6-hal]\nversion = \"={HAL}\"\n\
         default-features = false\nfeatures = [\"rt\", \"zero-rtc-bss\"]\n"
    );
    // First the package alone, to find the folder to which cargo unpacks it.
    let manifest = project.join("Cargo.toml");
    let _ = fs::remove_file(project.join("Cargo.lock"));
    fs::write(&manifest, &head)?;
    let metadata = sh::read(cargo_in(&project).args(["metadata", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let package = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|p| p["name"] == "esp32c6-hal")
        .and_then(|p| Path::new(p["manifest_path"].as_str()?).parent())
        .ok_or_else(|| anyhow!("cargo metadata does not list esp32c6-hal"))?
        .to_path_buf();
    // Then its examples, with the versions of its lock file: some were yanked since, and
    // cargo uses those only from a lock file.
    fs::copy(package.join("Cargo.lock"), project.join("Cargo.lock"))?;
    fs::copy(
        package.join(".cargo/config.toml"),
        project.join(".cargo/config.toml"),
    )?;
    let mut text = head;
    text += "[dependencies]\nnb = \"1\"\ncritical-section = \"1.1.2\"\n\
        esp-println = { version = \"0.8.0\", features = [\"esp32c6\"] }\n\
        esp-backtrace = { version = \"0.10.0\", features = [\"esp32c6\", \"panic-handler\", \
        \"exception-handler\", \"print-uart\"] }\n";
    for (name, features) in EXAMPLES {
        let source = fs::read_to_string(package.join(format!("examples/{name}.rs")))?;
        fs::write(project.join(format!("src/bin/{name}.rs")), modern(&source))?;
        let features = features.replace(',', "\", \"");
        write!(
            text,
            "[[bin]]\nname = \"{name}\"\nrequired-features = [\"{features}\"]\n"
        )?;
    }
    fs::write(&manifest, text)?;
    for features in ["vectored", "vectored,direct-vectoring"] {
        let mut cargo = cargo_in(&project);
        cargo.args(["build", "--release", "--features", features]);
        for (name, _) in EXAMPLES.iter().filter(|e| e.1 == features) {
            cargo.args(["--bin", name]);
        }
        sh::run_or_log(&mut cargo, log)?;
        for (name, _) in EXAMPLES.iter().filter(|e| e.1 == features) {
            keep(base, name)?;
        }
    }
    Ok(())
}

/// Converts naked functions to the stable syntax, which is newer than these examples.
fn modern(source: &str) -> String {
    let Some((before, naked)) = source.split_once("#[naked]") else {
        return source.to_owned();
    };
    let before = before.replace("#![feature(naked_functions)]", "");
    let naked = naked
        .replacen("asm!(", "core::arch::naked_asm!(", 1)
        .replacen("options(noreturn)", "", 1);
    format!("{before}#[unsafe(naked)]{naked}")
}

fn template(base: &Path, name: &str, options: &[&str], log: Option<&Path>) -> Result<()> {
    let root = base.join("tools");
    let generator = root.join("bin/esp-generate");
    if !generator.is_file() {
        let mut install = cargo_in(base);
        install
            // It runs for a second: a fast build is more important.
            .args([
                "install",
                "--debug",
                "--locked",
                "--no-default-features",
                "--root",
            ])
            .arg(&root)
            .args(["esp-generate", "--version", GENERATOR]);
        sh::run_or_log(&mut install, log)?;
    }
    let project = base.join(name);
    if project.exists() {
        fs::remove_dir_all(&project)?;
    }
    let mut generate = sh::cmd(generator);
    generate.arg("--headless");
    for option in options {
        generate.args(["-o", option]);
    }
    sh::run_or_log(generate.arg("-O").arg(base).arg(name), log)?;
    // It requests rust-src, which these builds do not need.
    let _ = fs::remove_file(project.join("rust-toolchain.toml"));
    // It is below this workspace, but not a member of it.
    let manifest = project.join("Cargo.toml");
    fs::write(
        &manifest,
        fs::read_to_string(&manifest)? + "\n[workspace]\n",
    )?;
    sh::run_or_log(cargo_in(&project).args(["build", "--release"]), log)?;
    keep(base, name)
}

#[cfg(test)]
mod tests {
    use super::modern;

    #[test]
    fn naked_functions_get_the_stable_syntax_and_other_assembly_is_unchanged() {
        let old = "#![feature(naked_functions)]\nasm!(\"nop\");\n#[naked]\nfn f() { asm!(\"ret\", options(noreturn)) }";
        assert_eq!(
            modern(old),
            "\nasm!(\"nop\");\n#[unsafe(naked)]\nfn f() { core::arch::naked_asm!(\"ret\", ) }"
        );
        assert_eq!(modern("asm!()"), "asm!()");
    }
}

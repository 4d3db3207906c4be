//! `cargo xtask firmware`: builds board firmware into `target/firmware/<board>/<program>-<variant>.elf`.

pub mod lwip;
pub mod wrapper;

use crate::board::{self, Board};
use crate::{sh, tools};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Environment variables that configure the firmware at build time.
const BUILD_VARIABLES: [&str; 7] = [
    "LINERATE_IPV4",
    "LINERATE_PEER",
    "LINERATE_ADDRESSING",
    "LINERATE_SIZES",
    "LINERATE_QUEUE",
    "LINERATE_WITHOUT",
    "LINERATE_MAC",
];

/// Runs the command: builds the selected firmware and lists the ELFs with their hashes.
pub fn command(board: &str, program: Option<&str>, variant: Option<&str>) -> Result<()> {
    let board = board::read(board)?;
    let pick = |what: &str, all: &[String], one: Option<&str>| -> Result<Vec<String>> {
        match one {
            None => Ok(all.to_vec()),
            Some(one) if all.iter().any(|a| a == one) => Ok(vec![one.to_owned()]),
            Some(one) => bail!(
                "{} has no {what} {one}; it has: {}",
                board.name,
                all.join(", ")
            ),
        }
    };
    let programs = pick("program", &board.programs, program)?;
    // Built if it is named, as it needs a C compiler.
    let mut all = board.variants.clone();
    all.extend(
        variant
            .filter(|it| *it == lwip::VARIANT && board.lwip.is_some())
            .map(str::to_owned),
    );
    let variants = pick("variant", &all, variant)?;
    if let (Some(program), Some(variant)) = (program, variant)
        && !board.has(program, variant)
    {
        bail!(
            "{program} is not built as {variant}: boards/{}/board.toml lists its variants",
            board.name
        );
    }
    for name in BUILD_VARIABLES {
        if let Ok(value) = std::env::var(name) {
            println!("{name}={value} is built into the ELF");
        }
    }
    let in_c = variants.iter().any(|it| it == lwip::VARIANT);
    let variants: Vec<String> = variants
        .into_iter()
        .filter(|it| it != lwip::VARIANT)
        .collect();
    let mut elfs = build(&board, &programs, &variants, None)?;
    if in_c {
        elfs.extend(build_lwip(&[&board], None)?);
    }
    for elf in elfs {
        println!("{}  {}", sh::sha256(&elf)?, relative(&elf));
    }
    Ok(())
}

/// Builds `programs` in each of `variants` that they have; returns the ELFs.
///
/// # Errors
/// The target is unavailable or the build fails.
pub fn build(
    board: &Board,
    programs: &[String],
    variants: &[String],
    log: Option<&Path>,
) -> Result<Vec<PathBuf>> {
    build_with(board, programs, variants, &[], &sh::out("firmware"), log)
}

/// Builds the variant `lwip` of `bench_agent` for each board; returns the ELFs, beside those of the other variants.
///
/// # Errors
/// As [`lwip::build`].
pub fn build_lwip(boards: &[&Board], log: Option<&Path>) -> Result<Vec<PathBuf>> {
    let kept = sh::out("firmware");
    let is_emulated = boards.iter().any(|board| board.qemu.is_some());
    if is_emulated && cfg!(target_os = "linux") {
        build_plugin(&kept, log)?;
    }
    let elfs = lwip::build(boards, log)?;
    let mut placed = Vec::new();
    for (board, elf) in boards.iter().zip(elfs) {
        let folder = kept.join(&board.name);
        std::fs::create_dir_all(&folder)?;
        let to = folder.join(format!("{}-{}.elf", lwip::PROGRAM, lwip::VARIANT));
        std::fs::copy(&elf, &to)?;
        placed.push(to);
    }
    Ok(placed)
}

/// Builds with build-time variables such as `LINERATE_SIZES`, into the board's folder in `kept`.
///
/// # Errors
/// As [`build`].
pub fn build_with(
    board: &Board,
    programs: &[String],
    variants: &[String],
    variables: &[(&str, &str)],
    kept: &Path,
    log: Option<&Path>,
) -> Result<Vec<PathBuf>> {
    let std = tools::ensure_target(&board.target)?;
    if board.qemu.is_some() && cfg!(target_os = "linux") {
        build_plugin(kept, log)?;
    }
    let made = made(board);
    let kept = kept.join(&board.name);
    std::fs::create_dir_all(&kept)?;
    let mut elfs = Vec::new();
    for variant in variants {
        let programs: Vec<&str> = programs
            .iter()
            .map(String::as_str)
            .filter(|program| board.has(program, variant))
            .collect();
        let features: BTreeSet<_> = programs.iter().map(|it| board.feature(it)).collect();
        // Programs of two boards have the same names; each build is copied before the next one.
        let _until_copied = one_at_a_time(board);
        // Cargo unifies the features of programs that it builds together.
        for feature in features {
            let with = |program: &&&str| board.feature(program) == feature;
            let mut command = cargo_for(board)?;
            command.args(["build", "--release", "--locked", "--no-default-features"]);
            command.args(["--features", &features_of(variant, feature)]);
            command.args(["--target", &board.target]);
            for program in programs.iter().filter(with) {
                command.args(["--bin", program]);
            }
            command.envs(variables.iter().copied());
            std.apply(&mut command);
            sh::run_or_log(&mut command, log)?;
        }
        for program in programs {
            let from = made.join(&board.target).join("release").join(program);
            let to = kept.join(format!("{program}-{variant}.elf"));
            std::fs::copy(&from, &to)
                .with_context(|| format!("cargo did not build {}", from.display()))?;
            elfs.push(to);
        }
    }
    Ok(elfs)
}

/// The folder in which cargo builds a board's firmware. What boards have in common is compiled once for all of them,
/// except for the default board: its programs take longest to link, which others need not wait for.
fn made(board: &Board) -> PathBuf {
    let boards = sh::out("boards");
    if board.name == board::DEFAULT {
        boards.join(&board.name)
    } else {
        boards.join("shared")
    }
}

/// Held from a build until its programs have been copied out of a folder that boards share.
fn one_at_a_time(board: &Board) -> Option<MutexGuard<'static, ()>> {
    static SHARED: Mutex<()> = Mutex::new(());
    let is_shared = board.name != board::DEFAULT;
    is_shared.then(|| SHARED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Builds the QEMU plugin that counts instructions into `kept`.
fn build_plugin(kept: &Path, log: Option<&Path>) -> Result<()> {
    const FILE: &str = "liblinerate_qemu_plugin.so";
    let made = sh::out("plugin");
    let mut command = sh::cargo();
    command.args([
        "build",
        "--release",
        "--locked",
        "-p",
        "linerate-qemu-plugin",
    ]);
    command.env("CARGO_TARGET_DIR", &made);
    sh::run_or_log(&mut command, log)?;
    let (from, to) = (made.join("release").join(FILE), kept.join(FILE));
    std::fs::create_dir_all(kept)?;
    let plugin = std::fs::read(&from).with_context(|| format!("cargo did not build {FILE}"))?;
    // A running QEMU has it mapped: an unchanged file is kept, a changed one replaced by a rename.
    if std::fs::read(&to).is_ok_and(|it| it == plugin) {
        return Ok(());
    }
    let new = kept.join(format!("{FILE}.new"));
    std::fs::write(&new, plugin)?;
    Ok(std::fs::rename(new, to)?)
}

/// Cargo features of a variant, with the `further` feature of a program.
pub fn features_of(variant: &str, further: Option<&str>) -> String {
    further.map_or_else(|| variant.to_owned(), |it| format!("{variant},{it}"))
}

/// Cargo in the board's folder, without settings of this machine that would change the ELF.
pub fn cargo_for(board: &Board) -> Result<Command> {
    let sysroot = sh::read(sh::cmd("rustc").args(["--print", "sysroot"]))?;
    let version = sh::read(sh::cmd("rustc").arg("-vV"))?;
    let commit = version
        .lines()
        .find_map(|l| l.strip_prefix("commit-hash: "))
        .unwrap_or("unknown");
    let library = format!("{}/lib/rustlib/src/rust=/rustc/{commit}", sysroot.trim());
    let mut command = sh::cargo();
    command
        .current_dir(&board.dir)
        .env("CARGO_TARGET_DIR", made(board))
        .env("RUSTC_WRAPPER", wrapper::copy()?)
        .env(wrapper::CHECKOUT, sh::root())
        .env(wrapper::LIBRARY, library)
        // The application descriptor contains a build time.
        .env("SOURCE_DATE_EPOCH", "0");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let flags = name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_");
        let logging = name.starts_with("ESP_") || name == "CARGO_INCREMENTAL";
        if flags || logging || name == "CARGO_BUILD_TARGET" {
            command.env_remove(name);
        }
    }
    Ok(command)
}

/// A path relative to the checkout.
pub fn relative(path: &Path) -> String {
    path.strip_prefix(sh::root())
        .unwrap_or(path)
        .display()
        .to_string()
}

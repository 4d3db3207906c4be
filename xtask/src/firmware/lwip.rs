//! The variant `lwip` of `bench_agent`: in C, over lwIP and the library of `nic/c`, as a user of that library builds it.

use crate::board::{Board, Lwip};
use crate::cross::{self, Compiler, sources_in};
use crate::tools::Std;
use crate::{sh, tools};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Name of the variant, and the program that has it.
pub const VARIANT: &str = "lwip";
/// See [`VARIANT`].
pub const PROGRAM: &str = "bench_agent";

/// Flags of the compiler for all boards.
const FLAGS: [&str; 8] = [
    "-O2",
    "-std=gnu11",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-asynchronous-unwind-tables",
    // There is no C library, but its functions have their meaning.
    "-nostdlib",
    "-Wall",
    "-g1",
];
const LINK_FLAGS: [&str; 5] = [
    "-nostdlib",
    "-nostartfiles",
    "-Wl,--gc-sections",
    "-Wl,--no-warn-rwx-segments",
    "-Wl,--build-id=none",
];
/// Sources of `lwIP`, in its folder; of folders all `.c` files.
const LWIP: [&str; 4] = [
    "src/core",
    "src/core/ipv4",
    "src/netif/ethernet.c",
    "src/apps/lwiperf/lwiperf.c",
];
/// Sources and headers of this project.
const OWN: [&str; 3] = ["boards/lwip", "nic/c/lwip", "agent/c/lwip"];
const HEADERS: [&str; 4] = [
    "boards/lwip/port",
    "boards/lwip/libc",
    "nic/c/include",
    "agent/c/include",
];

/// Message on a board's missing compiler, if it is missing.
pub fn missing(board: &Board) -> Option<String> {
    let lwip = board.lwip.as_ref()?;
    (!sh::has(&lwip.compiler)).then(|| {
        format!(
            "lwIP on {} needs {}: apt-get install {} or cargo xtask setup",
            board.name, lwip.compiler, lwip.package
        )
    })
}

/// Builds the program of each board; returns the ELFs, each with a map of the linker beside it.
///
/// # Errors
/// A board has no such variant, a compiler is missing, or something does not compile.
pub fn build(boards: &[&Board], log: Option<&Path>) -> Result<Vec<PathBuf>> {
    if let Some(missing) = boards.iter().find_map(|board| missing(board)) {
        anyhow::bail!(missing);
    }
    let libraries = libraries(boards, log)?;
    let built = boards.iter().zip(&libraries);
    built
        .map(|(board, library)| link(board, library, log))
        .collect()
}

/// Compiles and links the program of a board.
fn link(board: &Board, library: &Path, log: Option<&Path>) -> Result<PathBuf> {
    let lwip = board.lwip.as_ref();
    let lwip = lwip.with_context(|| format!("{} has no variant {VARIANT}", board.name))?;
    let out = sh::out("lwip").join(&board.name);
    std::fs::create_dir_all(&out)?;
    let memory = memory(board, &out, log)?;
    let objects = objects(board, lwip, &out)?;
    let elf = out.join(format!("{PROGRAM}-{VARIANT}.elf"));
    let mut link = sh::cmd(&lwip.compiler);
    link.args(LINK_FLAGS).args(&lwip.link_flags);
    link.arg("-T").arg(board.dir.join("link.x"));
    link.arg(format!("-Wl,-Map={}", elf.with_extension("map").display()));
    link.args(objects).arg(memory).arg(library);
    sh::read(link.arg("-lgcc").arg("-o").arg(&elf))?;
    Ok(elf)
}

/// The objects of everything in C and assembly.
fn objects(board: &Board, lwip: &Lwip, out: &Path) -> Result<Vec<PathBuf>> {
    let root = sh::root();
    let sources = cross::fetch()?;
    let stack = sources.get("lwip");
    let stack = stack.context("the lock file of the sources has no lwip")?;
    let own = board.dir.join(VARIANT);
    let mut files = sources_in(&own)?;
    for folder in OWN {
        files.extend(sources_in(&root.join(folder))?);
    }
    for path in LWIP.map(|it| stack.join(it)) {
        files.extend(if path.is_dir() {
            sources_in(&path)?
        } else {
            vec![path]
        });
    }
    let headers = OWN.iter().chain(&HEADERS).map(|it| root.join(it));
    let mut includes: Vec<PathBuf> = headers.collect();
    includes.push(stack.join("src/include"));
    let skew = format!("-DLINERATE_LWIP_SKEW={}", lwip.skew);
    let mut flags = FLAGS.to_vec();
    flags.extend(lwip.flags.iter().map(String::as_str));
    flags.push(&skew);
    let folder = stack.file_name().unwrap_or_default().to_string_lossy();
    let crates = format!("/crates/{folder}");
    let compiler = Compiler {
        program: &lwip.compiler,
        flags: &flags,
        includes: &includes,
        prefixes: &[(stack, &crates), (&root, "/linerate")],
    };
    compiler.compile(&files, out)
}

/// The libraries of drivers and agents, optimised as the firmware in Rust is: those of all targets at the same time.
fn libraries(boards: &[&Board], log: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(first) = boards.first() else {
        return Ok(Vec::new());
    };
    let made = sh::out("lwip").join("rust");
    let mut command = super::cargo_for(first)?;
    command
        .current_dir(sh::root())
        .args(["build", "--release", "--locked", "-p", "linerate-nic-c"])
        .args(["--features", "agent"])
        .env("CARGO_TARGET_DIR", &made)
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    let targets: BTreeSet<&str> = boards.iter().map(|it| it.target.as_str()).collect();
    let mut std = Std::Installed;
    for target in &targets {
        if tools::ensure_target(target)? == Std::BuildStd {
            std = Std::BuildStd;
        }
        command.args(["--target", target]);
    }
    std.apply(&mut command);
    sh::run_or_log(&mut command, log)?;
    let library = |board: &&Board| made.join(&board.target).join("release/liblinerate_nic_c.a");
    Ok(boards.iter().map(library).collect())
}

/// `memcpy` and `memset` of the firmware in Rust as an object file, so that C copies as fast.
fn memory(board: &Board, out: &Path, log: Option<&Path>) -> Result<PathBuf> {
    let name = if board.target.starts_with("riscv32") {
        "riscv.rs"
    } else {
        "arm.rs"
    };
    let path = sh::root().join("boards/memory").join(name);
    let path = path.display();
    let source = out.join("memory.rs");
    std::fs::write(
        &source,
        format!("#![no_std]\n#[path = \"{path}\"]\nmod memory;\n"),
    )?;
    let object = out.join("memory.o");
    let mut command = sh::cmd("rustc");
    command
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "obj"])
        .args(["-Copt-level=3", "-Cpanic=abort", "--target", &board.target])
        .arg(source)
        .arg("-o")
        .arg(&object);
    sh::run_or_log(&mut command, log)?;
    Ok(object)
}

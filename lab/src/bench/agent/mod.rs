//! RAM and flash of the agent on a microcontroller: `agent/size`, built with each service alone and with all.

mod parts;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionKind};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use xtask::{sh, tools};

/// Title of the document's section.
pub const TITLE: &str = "\n## RAM and flash of the agent\n";

pub(super) const TARGETS: [&str; 2] = [tools::RISCV, tools::THUMB];

/// Targets for iperf 2, iperf 3, HTTP and STAMP together, octets.
const CODE_TARGET: u64 = 24 * 1024;
const RAM_TARGET: u64 = 2 * 1024;

const SERVERS: &str = "iperf2-server,iperf3-server,http-server,stamp-reflector";

/// Rows: name, and features of `agent/size`.
const ROWS: [(&str, &str); 13] = [
    ("the driver alone", ""),
    ("iperf 2 server", "iperf2-server"),
    ("iperf 2 client", "iperf2-client"),
    ("iperf 3 server", "iperf3-server"),
    ("iperf 3 client", "iperf3-client"),
    ("HTTP server", "http-server"),
    ("HTTP client", "http-client"),
    ("STAMP reflector", "stamp-reflector"),
    ("STAMP sender", "stamp-sender"),
    (
        "servers of iperf 2, HTTP and STAMP",
        "iperf2-server,http-server,stamp-reflector",
    ),
    (
        "servers of iperf 3, HTTP and STAMP",
        "iperf3-server,http-server,stamp-reflector",
    ),
    ("all servers", SERVERS),
    (
        "all of these",
        "iperf2-server,iperf2-client,iperf3-server,iperf3-client,http-server,http-client,\
         stamp-reflector,stamp-sender",
    ),
];

/// Sizes in octets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    /// Code and constants.
    pub(super) code: u64,
    pub(super) ram: u64,
}

/// Builds and measures; returns the section of the document.
pub fn measure() -> Result<String> {
    let mut table = String::from("| octets of |");
    for target in TARGETS {
        write!(table, " code, {target} | RAM |")?;
    }
    table += "\n|---|---:|---:|---:|---:|\n";
    for (name, features) in ROWS {
        write!(table, "| {name} |")?;
        for target in TARGETS {
            let size = build("agent-size", target, features)?;
            write!(table, " {} | {} |", size.code, size.ram)?;
        }
        table += "\n";
    }
    let servers = link("agent-size", tools::RISCV, SERVERS, &Options::SMALLEST)?;
    let Size { code, ram } = size(&servers)?;
    let parts = parts::describe(&servers)?;
    let larger = |options| -> Result<u64> {
        Ok(size(&link("agent-size", tools::RISCV, SERVERS, options)?)?.code)
    };
    let without_relaxation = larger(&Options {
        relax: false,
        ..Options::SMALLEST
    })?;
    let less_small = larger(&Options {
        opt_level: "s",
        relax: false,
    })?;
    print!("{table}\n{parts}");
    Ok(format!(
        "{TITLE}\n\
         `agent/size` linked with these services and one driver for all of them, without a network stack and socket \
         buffers (`cargo xtask bench --agent` updates this section only; profile `small`: `opt-level = \"{smallest}\"`, \
         link-time optimisation, no unwinding; on riscv32imac with the target feature `relax`, with which the linker \
         shortens calls, as C toolchains do). Code includes constants; RAM is all variables. The limits are one test of \
         each kind at a time, two streams of iperf 3, and a history of 256 numbers for each stream of datagrams, in \
         which late datagrams are distinguished from duplicates; one of 1024, the default, takes 96 octets more of RAM \
         for each stream, 288 for all servers.\n\n{table}\n\
         The target for the four servers on riscv32imac is {CODE_TARGET} octets of code, which are {code}{missed}, and \
         {RAM_TARGET} of RAM, which are {ram}. Without the target feature `relax` they take {without_relaxation} octets \
         of code, and with `opt-level = \"s\"` as well {less_small}.\n\n\
         {parts}",
        smallest = Options::SMALLEST.opt_level,
        missed = match code.checked_sub(CODE_TARGET) {
            None | Some(0) => String::new(),
            Some(more) => format!(": {more} more"),
        },
    ))
}

/// Options of the compiler.
struct Options {
    opt_level: &'static str,
    /// On RISC-V the linker shortens calls.
    relax: bool,
}

impl Options {
    const SMALLEST: Self = Self {
        opt_level: "z",
        relax: true,
    };
}

/// Builds a program of its own for measurements, such as `agent-size`, with these features, and measures it.
pub(super) fn build(program: &str, target: &str, features: &str) -> Result<Size> {
    size(&link(program, target, features, &Options::SMALLEST)?)
}

/// Builds a program; returns its path.
fn link(program: &str, target: &str, features: &str, options: &Options) -> Result<PathBuf> {
    let mut flags = String::from("-Cforce-unwind-tables=no");
    if options.relax && target == tools::RISCV {
        flags += " -Ctarget-feature=+relax";
    }
    let mut cargo = sh::cargo();
    cargo
        .args(["build", "--quiet", "--locked", "-p"])
        .arg(format!("linerate-{program}"))
        .args(["--profile", "small", "--target", target])
        .args(["--features", features])
        .env("CARGO_PROFILE_SMALL_OPT_LEVEL", options.opt_level)
        .env("CARGO_TARGET_DIR", sh::out(program))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", flags);
    sh::run(&mut cargo)?;
    Ok(sh::out(program).join(target).join("small").join(program))
}

/// True for a section that only unwinding needs, which firmware does not do.
fn is_for_unwinding(section: &str) -> bool {
    section == ".eh_frame" || section == ".ARM.exidx"
}

fn size(elf: &Path) -> Result<Size> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes)?;
    let mut size = Size::default();
    for section in file.sections() {
        match section.kind() {
            SectionKind::Text | SectionKind::ReadOnlyData | SectionKind::ReadOnlyString
                if !is_for_unwinding(section.name()?) =>
            {
                size.code += section.size();
            }
            SectionKind::Data => {
                size.code += section.size();
                size.ram += section.size();
            }
            SectionKind::UninitializedData => size.ram += section.size(),
            _ => {}
        }
    }
    Ok(size)
}

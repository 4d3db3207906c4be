//! RAM and flash of the agent on a microcontroller: `agent/size`, built with each service alone and with all.

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionKind};
use std::fmt::Write as _;
use std::path::Path;
use xtask::sh;

/// Title of the document's section.
pub const TITLE: &str = "\n## RAM and flash of the agent\n";

pub(super) const TARGETS: [&str; 2] = ["riscv32imac-unknown-none-elf", "thumbv7em-none-eabi"];

/// Targets for iperf 2, iperf 3, HTTP and STAMP together, octets.
const CODE_TARGET: u64 = 24 * 1024;
const RAM_TARGET: u64 = 2 * 1024;

/// Rows: name, and features of `agent/size`.
const ROWS: [(&str, &str); 11] = [
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
        "all servers",
        "iperf2-server,iperf3-server,http-server,stamp-reflector",
    ),
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
    print!("{table}");
    Ok(format!(
        "{TITLE}\n\
         `agent/size` linked with these services and one driver for all of them, without a network stack \
         and socket buffers (`cargo xtask bench --footprint`; profile `small`: optimised for size, link-time \
         optimisation, no unwinding). Code includes constants; RAM is all variables. The limits are one \
         test of each kind at a time and two streams of iperf 3.\n\n{table}\n\
         The target for the four protocols is {CODE_TARGET} octets of code and {RAM_TARGET} of RAM.\n"
    ))
}

/// Builds a program of its own for measurements, such as `agent-size`, with these features, and measures it.
pub(super) fn build(program: &str, target: &str, features: &str) -> Result<Size> {
    let mut cargo = sh::cargo();
    cargo
        .args(["build", "--quiet", "--locked", "-p"])
        .arg(format!("linerate-{program}"))
        .args(["--profile", "small", "--target", target])
        .args(["--features", features])
        .env("CARGO_TARGET_DIR", sh::out(program))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "-Cforce-unwind-tables=no");
    sh::run(&mut cargo)?;
    size(&sh::out(program).join(target).join("small").join(program))
}

fn size(elf: &Path) -> Result<Size> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes)?;
    let mut size = Size::default();
    for section in file.sections() {
        match section.kind() {
            SectionKind::Text | SectionKind::ReadOnlyData | SectionKind::ReadOnlyString => {
                // The firmware does not unwind.
                let name = section.name()?;
                if name != ".eh_frame" && name != ".ARM.exidx" {
                    size.code += section.size();
                }
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

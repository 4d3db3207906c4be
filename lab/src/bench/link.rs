//! RAM and flash of the link layer on a microcontroller: `link/size`.

use super::agent::{TARGETS, build};
use anyhow::Result;
use std::fmt::Write as _;

/// Title of the document's section.
pub const TITLE: &str = "\n## RAM and flash of the link layer\n";

/// Targets, octets.
const CODE_TARGET: u64 = 4 * 1024;
const RAM_TARGET: u64 = 900;

/// Rows: name, and feature of `link/size`.
const ROWS: [(&str, &str); 3] = [
    ("frames and their check alone, without memory", "framing"),
    ("a link with two channels", "link"),
    ("the same with a channel for a self-test", "self-test"),
];

/// Builds and measures; returns the section of the document.
pub fn measure() -> Result<String> {
    let mut table = String::from("| octets of |");
    for target in TARGETS {
        write!(table, " code, {target} | RAM |")?;
    }
    table += "\n|---|---:|---:|---:|---:|\n";
    for (name, feature) in ROWS {
        write!(table, "| {name} |")?;
        for target in TARGETS {
            let with = build("link-size", target, feature)?;
            let without = build("link-size", target, "")?;
            let (code, ram) = (with.code - without.code, with.ram - without.ram);
            write!(table, " {code} | {ram} |")?;
        }
        table += "\n";
    }
    print!("{table}");
    Ok(format!(
        "{TITLE}\n\
         `link/size` with a link or a part of it, less the same program without (`cargo xtask bench --footprint`; profile \
         `small`). The link has an urgent channel for messages of 24 octets and a bulk channel for messages of 256, with one \
         message of memory in each direction. Code includes constants, the calls of the program and `memcpy`; RAM is \
         all variables, the memory of the channels included.\n\n{table}\n\
         The target for a link is {CODE_TARGET} octets of code and {RAM_TARGET} of RAM on riscv32imac.\n"
    ))
}

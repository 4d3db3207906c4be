//! `linerate boards`.

use std::fmt::Write;

use linerate_bench::board::{self, Simulated};

use crate::failure::Failure;
use crate::output;

pub fn run() -> Result<(), Failure> {
    let mut text = String::new();
    for board in board::all() {
        let programs: Vec<&str> = board.firmware.programs.keys().map(String::as_str).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}\n  {}\n  programs      {}\n  variants      {}",
            board.name,
            board.description,
            programs.join(", "),
            board.firmware.variants.join(", "),
        );
        if let Some(Simulated { timing_table, pins }) = &board.simulated {
            let _ = writeln!(
                text,
                "  simulated     sim://{}, timing table {timing_table}\n  \
                 pins          TX {}, RX {}, debug {}",
                board.name, pins.tx, pins.rx, pins.debug,
            );
        }
        if board.soft_soc.is_some() {
            let _ = writeln!(
                text,
                "  simulated     sim://{}, from its system.toml",
                board.name
            );
        }
        if !board.has_firmware() {
            text.push_str("  system        by `cargo xtask linux-board`\n");
        }
        if let Some(qemu) = &board.qemu {
            let _ = writeln!(
                text,
                "  emulated      qemu://{}, by {} {}",
                board.name,
                qemu.program,
                qemu.arguments.join(" ")
            );
        }
    }
    output::print(&text)
}

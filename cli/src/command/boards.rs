//! `linerate boards`.

use std::fmt::Write;

use linerate_bench::board;

use crate::failure::Failure;
use crate::output;

pub fn run() -> Result<(), Failure> {
    let mut text = String::new();
    for board in board::all() {
        let programs: Vec<&str> = board.firmware.programs.keys().map(String::as_str).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}\n  {}\n  programs      {}\n  variants      {}\n  timing table  {}\n  pins          TX {}, RX {}, debug {}",
            board.name,
            board.description,
            programs.join(", "),
            board.firmware.variants.join(", "),
            board.timing_table,
            board.pins.tx,
            board.pins.rx,
            board.pins.debug,
        );
    }
    output::print(&text)
}

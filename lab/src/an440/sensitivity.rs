//! The score when each guess of the board files moves by 30%, and each cell's worst guess.

use super::cells::{Cell, Memory, System};
use super::score::{Throughputs, mean_absolute_log_error};
use super::system::{self, Parameters};
use super::{Bench, throughputs};
use crate::board_file;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Guesses that matter: fields of the board files. Small numbers of cycles move by at least one.
const GUESSES: [&str; 13] = [
    "hart.cpu.write_buffer",
    "hart.cpu.data_cache.line",
    "bridge.slow.request_cycles",
    "memory.ddr.front",
    "memory.ddr.back",
    "memory.ddr.cas",
    "memory.ddr.rcd",
    "memory.ddr.rp",
    "memory.ssram.read_cycles",
    "memory.packet.read_cycles",
    "device.tx_dma.descriptor_cycles",
    "device.rx_dma.descriptor_cycles",
    "device.checksum.burst_bytes",
];
/// Fields that are powers of two double and halve.
const POWERS: [&str; 2] = ["hart.cpu.data_cache.line", "device.checksum.burst_bytes"];

/// Prints the table.
///
/// # Errors
/// A cell fails.
pub fn run(
    bench: &Bench,
    cells: &[Cell],
    published: &Throughputs,
    parameters: &Parameters,
) -> Result<()> {
    let before = throughputs(&bench.run(cells, parameters)?);
    let score = |it: &Throughputs| mean_absolute_log_error(it, published, |cell| !cell.is_fitted());
    println!(
        "\nHeld-out error with each guess changed (fit unchanged): {:.3} as it is",
        score(&before).context("no cell")?
    );
    let mut worst: BTreeMap<Cell, (f64, &str)> = BTreeMap::new();
    for guess in GUESSES {
        let mut shown = format!("  {guess:<36}");
        for factor in [0.7, 1.3] {
            let concerned: Vec<Cell> = cells
                .iter()
                .copied()
                .filter(|cell| value(*cell, guess).is_some())
                .collect();
            let mut after = before.clone();
            for system in System::ALL {
                for memory in Memory::ALL {
                    let group: Vec<Cell> = concerned
                        .iter()
                        .copied()
                        .filter(|cell| cell.system == system && cell.memory == memory)
                        .collect();
                    let Some(old) = group.first().and_then(|cell| value(*cell, guess)) else {
                        continue;
                    };
                    let mut changed = parameters.clone();
                    changed
                        .changes
                        .push((guess.to_owned(), moved(guess, old, factor)));
                    after.extend(throughputs(&bench.run(&group, &changed)?));
                }
            }
            for (cell, it) in &after {
                let change = (it / before[cell]).ln().abs();
                let entry = worst.entry(*cell).or_insert((0.0, "none"));
                if change > entry.0 {
                    *entry = (change, guess);
                }
            }
            let error = score(&after).context("no cell")?;
            let _ = write!(shown, "  x{factor}: {error:.3}");
        }
        println!("{shown}");
    }
    println!("Worst guess of each cell:");
    for (cell, (change, guess)) in worst {
        println!(
            "  {:<32} {guess} ({:.1}%)",
            cell.to_string(),
            100.0 * change
        );
    }
    Ok(())
}

fn value(cell: Cell, guess: &str) -> Option<i64> {
    let table = system::table(cell.system, cell.memory).ok()?;
    Some(board_file::get(&table, guess)?.0)
}

fn moved(guess: &str, old: i64, factor: f64) -> i64 {
    if POWERS.contains(&guess) {
        return if factor > 1.0 { old * 2 } else { old / 2 };
    }
    let moved = (old as f64 * factor).round() as i64;
    match moved == old {
        true if factor > 1.0 => old + 1,
        true => (old - 1).max(0),
        false => moved,
    }
}

//! Axes that the paper names and does not measure: one change at a time, the fit unchanged. Predictions only.

use super::Bench;
use super::cells::{Cell, Direction, Memory, Optimisation, System};
use super::score::Throughputs;
use super::system::Parameters;
use anyhow::Result;

/// A change, and the systems that have what it changes.
struct Change {
    name: String,
    applies: fn(System) -> bool,
    changed: Parameters,
}

fn is_tse(system: System) -> bool {
    system != System::Lan91c111
}

fn changes(parameters: &Parameters) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |name: String, applies, change: &dyn Fn(&mut Parameters)| {
        let mut changed = parameters.clone();
        change(&mut changed);
        all.push(Change {
            name,
            applies,
            changed,
        });
    };
    let any: fn(System) -> bool = |_| true;
    for kib in [1, 2, 4, 8, 16, 32] {
        for (cache, path) in [
            ("instruction cache", "hart.cpu.instruction_cache.size"),
            ("data cache", "hart.cpu.data_cache.size"),
        ] {
            add(format!("{cache} of {kib} KiB"), any, &|it| {
                it.changes.push((path.to_owned(), kib * 1024));
            });
        }
    }
    for (name, field, value) in [
        (
            "multiplication in 33 cycles, as without a multiplier",
            "mul",
            33,
        ),
        (
            "a wrongly predicted branch in 2 cycles in place of 4",
            "mispredicted",
            2,
        ),
        (
            "loaded values at once, in place of 2 cycles later",
            "load_use",
            0,
        ),
    ] {
        add(name.to_owned(), any, &|it| {
            let path = format!("hart.cpu.pipeline.{field}");
            it.changes.push((path, value));
        });
    }
    for bytes in [1024, 2048, 4096] {
        add(
            format!("FIFOs of {bytes} bytes in the TSE"),
            is_tse,
            &|it| {
                for field in ["receive_fifo_words", "transmit_fifo_words"] {
                    it.changes.push((format!("device.mac.{field}"), bytes / 4));
                }
            },
        );
    }
    add("line of 100 Mbit/s".to_owned(), is_tse, &|it| {
        it.link_mbit_per_s = Some(100);
    });
    for us in [200, 500, 1_000, 2_000, 5_000] {
        add(format!("workstation reacts after {us} us"), any, &|it| {
            it.workstation_us = us;
        });
    }
    all
}

/// Prints the gain of each change over each system, with packets and program in DDR and without optimisation.
///
/// # Errors
/// None: a change with which a cell fails has the error in place of its gains.
#[expect(
    clippy::unnecessary_wraps,
    reason = "as the other parts of the experiment"
)]
pub fn run(bench: &Bench, fitted: &Throughputs, parameters: &Parameters) -> Result<()> {
    println!("\nGain by one change, DDR without optimisation, TX and RX; nothing is published:\n");
    let names = System::ALL.map(System::name).join(" | ");
    println!("| change | {names} |\n|---|---:|---:|---:|---:|");
    for change in changes(parameters) {
        let systems = System::ALL.into_iter().filter(|it| (change.applies)(*it));
        let cell =
            |system, direction| Cell::new(system, direction, Memory::Ddr, Optimisation::None);
        let cells: Vec<Cell> = systems
            .flat_map(|system| Direction::ALL.map(|direction| cell(system, direction)))
            .filter(|cell| fitted.contains_key(cell))
            .collect();
        // A change may be too much for the benchmark, such as FIFOs in which no burst of frames fits.
        let after = match bench.throughputs(&cells, &change.changed) {
            Ok(after) => after,
            Err(error) => {
                println!("| {} | {error:#} | | | |", change.name);
                continue;
            }
        };
        print!("| {} |", change.name);
        for system in System::ALL {
            let gains = Direction::ALL.map(|direction| {
                let cell = cell(system, direction);
                let gain = after.get(&cell)? / fitted.get(&cell)? - 1.0;
                Some(format!("{:+.1}%", 100.0 * gain))
            });
            match gains {
                [Some(tx), Some(rx)] => print!(" {tx}, {rx} |"),
                _ => print!(" |"),
            }
        }
        println!();
    }
    Ok(())
}

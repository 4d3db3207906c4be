//! The same paths with other options of the compiler, flashes and caches: which are consistent with the published figures;
//! and with each guess of the board file moved.

use super::run::{self, Firmware, Length, Measured};
use super::variant::{BLASTER, Build, NO_LOOK_UP, PUBLISHED, Variant};
use super::{BOARD, PUBLISHED_LOOK_UP_MBIT_PER_S, PUBLISHED_PER_SECOND, build, config};
use crate::board_file;
use anyhow::{Context, Result};
use xtask::concurrent;

/// The compiler's optimisation, beside -Os.
const FLAGS: [&[&str]; 3] = [&[], &["-O2"], &["-O0"]];
const FLASHES: [(&str, &[&str]); 2] = [
    ("two lines, 40 MHz", &[]),
    ("four lines, 80 MHz", &["flash-cache/qio-80.toml"]),
];
/// Bytes of the cache of instructions.
const CACHES: [i64; 3] = [32_768, 16_384, 8192];
/// A rate counts as the published one within this factor.
const TOLERANCE: f64 = 1.1;

/// Rates with and without the look-up.
fn measure(
    firmware: &Firmware,
    files: &[&str],
    changes: &[(String, i64)],
    counted: usize,
) -> Result<(Measured, Measured)> {
    let config = config(files, changes)?;
    let length = Length {
        counted,
        observed: 0,
    };
    let of = |variant: &Variant| run::run(variant, firmware, &config, length);
    Ok((of(&PUBLISHED)?, of(&NO_LOOK_UP)?))
}

/// Prints the grid.
///
/// # Errors
/// A build or a run fails.
pub fn grid(counted: usize) -> Result<()> {
    println!(
        "\nOther compilers' options, flashes and caches; * is consistent with both published figures:"
    );
    println!(
        "{:<8}{:<22}{:>8}{:>10}{:>9}{:>9}{:>10}{:>9}",
        "", "flash", "cache", "a second", "Mbit/s", "cycles", "look-up", "Mbit/s"
    );
    for flags in FLAGS {
        let Some(firmwares) = build(&[Build::Thread], flags)? else {
            return Ok(());
        };
        let points: Vec<_> = FLASHES
            .iter()
            .flat_map(|flash| CACHES.map(|cache| (flash, cache)))
            .collect();
        let results = concurrent::map(&points, concurrent::cores(), |((_, files), cache)| {
            let changes = [("hart.cpu.instruction_cache.size".to_owned(), *cache)];
            measure(&firmwares[&Build::Thread], files, &changes, counted)
        });
        for (((flash, _), cache), result) in points.into_iter().zip(results) {
            let (with, without) = result?;
            let gain = without.mbit_per_s() - with.mbit_per_s();
            let ratio = with.per_second / PUBLISHED_PER_SECOND;
            let fits = (1.0 / TOLERANCE..TOLERANCE).contains(&ratio)
                && gain <= PUBLISHED_LOOK_UP_MBIT_PER_S;
            println!(
                "{:<8}{flash:<22}{cache:>8}{:>10.0}{:>9.1}{:>9.0}{:>10.0}{gain:>9.1}{}",
                flags.first().unwrap_or(&"-Os"),
                with.per_second,
                with.mbit_per_s(),
                with.cycles,
                with.cycles - without.cycles,
                if fits { " *" } else { "" }
            );
        }
    }
    Ok(())
}

/// Guesses that matter, with their smaller and larger value: 30%, or the next possible one.
const GUESSES: [(&str, [i64; 2]); 15] = [
    ("clock.flash.hertz", [28_000_000, 52_000_000]),
    ("memory.flash.read_cycles", [17, 31]),
    ("memory.flash.beat_cycles", [3, 5]),
    ("hart.cpu.instruction_cache.ways", [1, 4]),
    ("hart.cpu.instruction_cache.size", [16_384, 65_536]),
    ("hart.cpu.instruction_cache.miss_cycles", [1, 3]),
    ("hart.cpu.data_cache.size", [2048, 8192]),
    ("hart.cpu.pipeline.load_use", [0, 2]),
    ("hart.cpu.pipeline.mispredicted", [2, 4]),
    ("hart.cpu.pipeline.jump_miss", [2, 4]),
    ("hart.cpu.pipeline.interrupt_entry", [3, 7]),
    ("memory.sram.read_cycles", [0, 1]),
    ("memory.sram.write_cycles", [0, 1]),
    ("bridge.slow.request_cycles", [0, 2]),
    ("device.tx_dma.descriptor_cycles", [14, 26]),
];

/// Prints how far rate, look-up and blaster move with each guess.
///
/// # Errors
/// A run fails.
pub fn sensitivity(firmware: &Firmware, counted: usize) -> Result<()> {
    println!(
        "\nWith a guess changed: datagrams a second, gain without the look-up (Mbit/s), line busy by the blaster:"
    );
    let points: Vec<_> = GUESSES
        .iter()
        .flat_map(|(path, values)| values.map(|value| (*path, value)))
        .collect();
    let results = concurrent::map(&points, concurrent::cores(), |(path, value)| {
        let changes = [((*path).to_owned(), *value)];
        let (with, without) = measure(firmware, &[], &changes, counted)?;
        let length = Length {
            counted,
            observed: 0,
        };
        let blaster = run::run(&BLASTER, firmware, &config(&[], &changes)?, length)?;
        Ok((with, without, blaster))
    });
    let table = board_file::read(BOARD)?;
    for ((path, value), result) in points.into_iter().zip(results) {
        let result: Result<_> = result;
        let (with, without, blaster) = result?;
        let (now, _) = board_file::get(&table, path).with_context(|| format!("no field {path}"))?;
        println!(
            "  {path:<42}{now:>10} -> {value:>9}{:>9.0}{:>7.1}{:>7.1}%",
            with.per_second,
            without.mbit_per_s() - with.mbit_per_s(),
            100.0 * blaster.line_busy
        );
    }
    Ok(())
}

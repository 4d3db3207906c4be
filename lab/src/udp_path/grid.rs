//! The same paths with other options of the compiler, flashes and caches: which are consistent with the published figures;
//! and with each guess of the board file moved.

use super::observe::Observed;
use super::run::{self, Firmware, Length, Measured};
use super::variant::{BLASTER, Build, NO_LOOK_UP, PUBLISHED, Variant};
use super::{Mac, PUBLISHED_LOOK_UP_MBIT_PER_S, PUBLISHED_PER_SECOND, board, build, config};
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
    mac: Mac,
    firmware: &Firmware,
    files: &[&str],
    changes: &[(String, i64)],
    length: Length,
) -> Result<(Measured, Measured)> {
    let config = config(mac, files, changes)?;
    let of = |variant: &Variant| run::run(variant, firmware, &config, length);
    Ok((of(&PUBLISHED)?, of(&NO_LOOK_UP)?))
}

/// Prints the grid.
///
/// # Errors
/// A build or a run fails.
pub fn grid(mac: Mac, counted: usize) -> Result<()> {
    println!(
        "\nOther compilers' options, flashes and caches; * is consistent with both published figures:"
    );
    println!(
        "{:<8}{:<22}{:>8}{:>10}{:>9}{:>9}{:>10}{:>9}",
        "", "flash", "cache", "a second", "Mbit/s", "cycles", "look-up", "Mbit/s"
    );
    for flags in FLAGS {
        let Some(firmwares) = build(mac, &[Build::Thread], flags)? else {
            return Ok(());
        };
        let points: Vec<_> = FLASHES
            .iter()
            .flat_map(|flash| CACHES.map(|cache| (flash, cache)))
            .collect();
        let results = concurrent::map(&points, concurrent::cores(), |((_, files), cache)| {
            let changes = [("hart.cpu.instruction_cache.size".to_owned(), *cache)];
            let length = Length {
                counted,
                observed: 0,
            };
            measure(mac, &firmwares[&Build::Thread], files, &changes, length)
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
const GUESSES: [(&str, [i64; 2]); 14] = [
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
];
/// The same of each device.
const OF_DWMAC: [(&str, [i64; 2]); 4] = [
    ("bus.dma.request_cycles", [0, 2]),
    ("bridge.dma.request_cycles", [0, 2]),
    ("device.ethernet.read_cycles", [1, 3]),
    ("device.ethernet.write_cycles", [1, 3]),
];
const OF_TSE: [(&str, [i64; 2]); 1] = [("device.tx_dma.descriptor_cycles", [14, 26])];

/// Cycles in which the processor works for a datagram: the rate alone hides what the line limits.
fn work(measured: &Measured) -> f64 {
    let waiting = measured.observed.as_ref().map_or(0.0, Observed::waiting);
    measured.cycles - waiting
}

/// Prints how far rate, work, look-up and blaster move with each guess.
///
/// # Errors
/// A run fails.
pub fn sensitivity(mac: Mac, firmware: &Firmware, counted: usize) -> Result<()> {
    println!("\nWith a guess changed:");
    println!(
        "{:<65}{:>9}{:>9}{:>9}{:>9}",
        "", "a second", "work", "look-up", "blaster"
    );
    let own: &[_] = match mac {
        Mac::Dwmac => &OF_DWMAC,
        Mac::Tse => &OF_TSE,
    };
    let changed = GUESSES.iter().chain(own);
    let changed = changed.flat_map(|(path, values)| values.map(|value| Some((*path, value))));
    let points: Vec<_> = std::iter::once(None).chain(changed).collect();
    let results = concurrent::map(&points, concurrent::cores(), |change| {
        let changes: Vec<_> = change
            .iter()
            .map(|(path, value)| ((*path).to_owned(), *value))
            .collect();
        let length = |observed| Length { counted, observed };
        let (with, without) = measure(mac, firmware, &[], &changes, length(counted))?;
        let config = config(mac, &[], &changes)?;
        let blaster = run::run(&BLASTER, firmware, &config, length(0))?;
        Ok((with, without, blaster))
    });
    let table = board(mac, &[])?;
    for (change, result) in points.into_iter().zip(results) {
        let result: Result<_> = result;
        let (with, without, blaster) = result?;
        let name = match change {
            None => "no change".to_owned(),
            Some((path, value)) => {
                let now = board_file::get(&table, path);
                let (now, _) = now.with_context(|| format!("no field {path}"))?;
                format!("{path:<42}{now:>10} -> {value:>9}")
            }
        };
        println!(
            "{name:<65}{:>9.0}{:>9.0}{:>9.0}{:>8.1}%",
            with.per_second,
            work(&with),
            work(&with) - work(&without),
            100.0 * blaster.line_busy
        );
    }
    Ok(())
}

//! Datagrams from a program to the line by several ways, on the board "RV32, 240 MHz, flash cache", by execution:
//! docs/udp-path.md describes it.

mod grid;
mod layers;
mod observe;
mod run;
mod variant;

use crate::board_file;
use anyhow::{Context, Result, anyhow};
use layers::Layer;
use linerate_sim::chip::soft_soc::{Config, file};
use linerate_sim::elf::Elf;
use run::{Firmware, Length, Measured};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;
use variant::{BLASTER, Build, NO_LOOK_UP, PUBLISHED, VARIANTS, Variant};
use xtask::{concurrent, sh, stack};

/// The board.
const BOARD: &str = "flash-cache/system.toml";
/// Published (docs/udp-path.md): datagrams a second, and what the article gives as the most that a send without the
/// look-up gains.
const PUBLISHED_PER_SECOND: f64 = 4023.0;
const PUBLISHED_LOOK_UP_MBIT_PER_S: f64 = 3.0;

/// The network device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mac {
    /// The `DesignWare` MAC, as an ESP32 has
    Dwmac,
    /// TSE with SGDMA
    Tse,
}

impl Mac {
    /// Flags of the compiler, which select the driver.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Dwmac => &["-DRING_DWMAC"],
            Self::Tse => &[],
        }
    }

    /// Changes of the board.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Dwmac => &["flash-cache/dwmac.toml"],
            Self::Tse => &[],
        }
    }
}

/// Arguments of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Datagrams that each variant counts
    #[arg(long, default_value_t = 400)]
    datagrams: usize,
    /// Only the variants whose name contains each of these words
    #[arg(long)]
    only: Vec<String>,
    /// The network device of the board
    #[arg(long, value_enum, default_value_t = Mac::Dwmac)]
    mac: Mac,
    /// List the functions that take most
    #[arg(long)]
    functions: bool,
    /// Also compare the published figures with other compilers' options, flashes and caches
    #[arg(long)]
    grid: bool,
    /// Also measure with each guess of the board file changed by 30%
    #[arg(long)]
    sensitivity: bool,
}

/// Builds of the firmware, by their name.
type Firmwares = BTreeMap<Build, Firmware>;

/// Builds the firmware with `flags`; `None` without the compiler.
fn build(mac: Mac, builds: &[Build], flags: &[&str]) -> Result<Option<Firmwares>> {
    let mut firmwares = Firmwares::new();
    for build in builds {
        let flags: Vec<&str> = mac.flags().iter().chain(flags).copied().collect();
        let name = format!("udp-path-{}{}", build.name(), flags.concat());
        let flags: Vec<&str> = [build.flag()].into_iter().chain(flags).collect();
        let Some(path) = stack::build(&stack::UDP_PATH, &name, &flags)? else {
            return Ok(None);
        };
        let elf = std::fs::read(&path).with_context(|| path.display().to_string())?;
        let elf = Elf::parse(&elf).map_err(|error| anyhow!("{error}"))?;
        let functions = layers::functions(&path)?;
        firmwares.insert(*build, Firmware { elf, functions });
    }
    Ok(Some(firmwares))
}

/// The board file with this device, and `files` that change it.
fn board(mac: Mac, files: &[&str]) -> Result<toml::Table> {
    let mut table = board_file::read(BOARD)?;
    for file in mac.files().iter().chain(files) {
        board_file::merge(&mut table, board_file::read(file)?);
    }
    Ok(table)
}

/// The board, with `files` that change it, and fields with other values.
fn config(mac: Mac, files: &[&str], changes: &[(String, i64)]) -> Result<Config> {
    let mut table = board(mac, files)?;
    for (path, value) in changes {
        board_file::set(&mut table, path, *value).with_context(|| format!("no field {path}"))?;
    }
    let text = toml::to_string(&table)?;
    let description = file::parse(&text, BOARD).map_err(|error| anyhow!("{error}"))?;
    Ok(description.config)
}

/// Runs the experiment.
///
/// # Errors
/// The firmware cannot be built, or a variant fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let started = Instant::now();
    let Some(firmwares) = build(arguments.mac, &Build::ALL, &[])? else {
        println!(
            "skipped: no {} (as root: apt-get install {}, or cargo xtask setup)",
            stack::COMPILER,
            stack::PACKAGE
        );
        return Ok(());
    };
    let wanted = |it: &&Variant| {
        arguments
            .only
            .iter()
            .all(|word| it.name.contains(word.as_str()))
    };
    let variants: Vec<Variant> = VARIANTS.iter().filter(wanted).copied().collect();
    let config = config(arguments.mac, &[], &[])?;
    let results = concurrent::map(&variants, concurrent::cores(), |variant| {
        let counted = if variant.logs {
            arguments.datagrams / 10
        } else {
            arguments.datagrams
        };
        let length = Length {
            counted,
            observed: counted / 4,
        };
        run::run(variant, &firmwares[&variant.build], &config, length)
    });
    let results: Vec<Measured> = results.into_iter().collect::<Result<_>>()?;
    let rows: Vec<Row<'_>> = variants
        .iter()
        .zip(&results)
        .map(|(it, measured)| Row::new(it, measured))
        .collect();
    print_rates(&rows);
    print_layers(&rows);
    print_locks(&rows);
    if arguments.functions {
        print_functions(&rows);
    }
    let scores = Scores::new(rows);
    scores.print();
    let out = sh::out("udp-path");
    std::fs::create_dir_all(&out)?;
    std::fs::write(
        out.join("scores.json"),
        serde_json::to_string_pretty(&scores)?,
    )?;
    if arguments.grid {
        grid::grid(arguments.mac, arguments.datagrams / 4)?;
    }
    if arguments.sensitivity {
        let firmware = &firmwares[&Build::Thread];
        grid::sensitivity(arguments.mac, firmware, arguments.datagrams / 4)?;
    }
    println!(
        "target/udp-path/scores.json, {:.0} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A variant in scores.json.
#[derive(Debug, Serialize)]
struct Row<'a> {
    variant: &'static str,
    datagrams_per_second: f64,
    payload_mbit_per_s: f64,
    cycles_per_datagram: f64,
    instructions: f64,
    flash_lines: f64,
    flash_wait_cycles: f64,
    waiting_cycles: f64,
    line_busy: f64,
    observed: Option<&'a observe::Observed>,
}

impl<'a> Row<'a> {
    fn new(variant: &Variant, it: &'a Measured) -> Self {
        Self {
            variant: variant.name,
            datagrams_per_second: it.per_second,
            payload_mbit_per_s: it.mbit_per_s(),
            cycles_per_datagram: it.cycles,
            instructions: it.instructions,
            flash_lines: it.fetch_lines,
            flash_wait_cycles: it.fetch_waits,
            waiting_cycles: it.observed.as_ref().map_or(0.0, observe::Observed::waiting),
            line_busy: it.line_busy,
            observed: it.observed.as_ref(),
        }
    }
}

fn print_rates(rows: &[Row<'_>]) {
    println!(
        "{:<25}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "",
        "a second",
        "Mbit/s",
        "cycles",
        "working",
        "waiting",
        "instr",
        "flash",
        "switches",
        "line"
    );
    for it in rows {
        let switches = it.observed.map_or(0.0, |it| it.task_switches);
        println!(
            "{:<25}{:>9.0}{:>9.1}{:>9.0}{:>9.0}{:>9.0}{:>9.0}{:>9.0}{switches:>9.1}{:>8.0}%",
            it.variant,
            it.datagrams_per_second,
            it.payload_mbit_per_s,
            it.cycles_per_datagram,
            it.cycles_per_datagram - it.waiting_cycles,
            it.waiting_cycles,
            it.instructions,
            it.flash_wait_cycles,
            100.0 * it.line_busy
        );
    }
    println!(
        "{:<25}{PUBLISHED_PER_SECOND:>9.0}{:>9.1}{:>9.0}   published",
        "waits for the worker",
        PUBLISHED_PER_SECOND * 8.0 * run::DATAGRAM as f64 / 1e6,
        240e6 / PUBLISHED_PER_SECOND
    );
}

fn print_layers(rows: &[Row<'_>]) {
    println!("\nCycles of a datagram by layer (waits for flash are in the layer that waits):");
    print!("{:<25}", "");
    for layer in Layer::ALL {
        print!("{:>10}", layer.name());
    }
    println!();
    for row in rows {
        let Some(observed) = row.observed else {
            continue;
        };
        print!("{:<25}", row.variant);
        for layer in Layer::ALL {
            print!("{:>10.0}", observed.layer(layer));
        }
        println!();
    }
}

fn print_locks(rows: &[Row<'_>]) {
    println!(
        "\nLongest time in cycles with interrupts off (handlers and switches included), with the scheduler locked:"
    );
    for row in rows {
        let Some(it) = row.observed else { continue };
        println!(
            "{:<25}{:>9} from {:<34}{:>9} from {}",
            row.variant,
            it.longest_interrupts_off,
            it.longest_interrupts_off_in,
            it.longest_scheduler_locked,
            it.longest_scheduler_locked_in
        );
    }
}

fn print_functions(rows: &[Row<'_>]) {
    for row in rows {
        println!("\n{}, cycles of a datagram:", row.variant);
        for (name, layer, cycles) in row
            .observed
            .into_iter()
            .flat_map(|it| it.functions.iter().take(24))
        {
            println!("{cycles:>9.0}  {name} ({layer})");
        }
    }
}

/// target/udp-path/scores.json.
#[derive(Debug, Serialize)]
struct Scores<'a> {
    published_datagrams_per_second: f64,
    /// Logarithm of predicted over published rate.
    log_error: Option<f64>,
    /// Payload that a send without the look-up gains, and the published limit for it.
    look_up_mbit_per_s: Option<f64>,
    published_look_up_mbit_per_s: f64,
    /// Cycles of the look-up.
    look_up_cycles: Option<f64>,
    /// Part of the line that the blaster fills.
    blaster_line_busy: Option<f64>,
    variants: Vec<Row<'a>>,
}

impl<'a> Scores<'a> {
    fn new(variants: Vec<Row<'a>>) -> Self {
        let row = |wanted: &Variant| variants.iter().find(|it| it.variant == wanted.name);
        let (published, without) = (row(&PUBLISHED), row(&NO_LOOK_UP));
        let both = published.zip(without);
        Self {
            published_datagrams_per_second: PUBLISHED_PER_SECOND,
            log_error: published.map(|it| (it.datagrams_per_second / PUBLISHED_PER_SECOND).ln()),
            look_up_mbit_per_s: both
                .map(|(with, without)| without.payload_mbit_per_s - with.payload_mbit_per_s),
            published_look_up_mbit_per_s: PUBLISHED_LOOK_UP_MBIT_PER_S,
            look_up_cycles: both
                .map(|(with, without)| with.cycles_per_datagram - without.cycles_per_datagram),
            blaster_line_busy: row(&BLASTER).map(|it| it.line_busy),
            variants,
        }
    }

    fn print(&self) {
        let published = 240e6 / PUBLISHED_PER_SECOND;
        let gained = PUBLISHED_PER_SECOND
            + PUBLISHED_LOOK_UP_MBIT_PER_S * 1e6 / (8.0 * run::DATAGRAM as f64);
        println!(
            "\nPublished: {published:.0} cycles a datagram; a gain of 3 Mbit/s is {:.0} of them, {:.1}%",
            published - 240e6 / gained,
            100.0 * (1.0 - PUBLISHED_PER_SECOND / gained)
        );
        if let Some(error) = self.log_error {
            println!("Logarithm of predicted over published rate: {error:.3}");
        }
        if let Some((cycles, gain)) = self.look_up_cycles.zip(self.look_up_mbit_per_s) {
            println!("Look-up: {cycles:.0} cycles, a gain of {gain:.1} Mbit/s");
        }
        if let Some(busy) = self.blaster_line_busy {
            println!(
                "Straight into the ring: {:.1} Mbit/s of 100 on the line",
                100.0 * busy
            );
        }
    }
}

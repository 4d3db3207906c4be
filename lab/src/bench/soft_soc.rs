//! Speed of a hart behind caches, buses and DDR, from the table of the simulator's example `hart`.

use super::history::{self, Figure, Run, cell};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use xtask::tools;

/// The section of the document.
pub const TITLE: &str = "\n## Soft SoCs\n";
/// Million instructions per second of a core.
const TARGET: u32 = 120;
const FLOOR: u32 = 60;
/// Before the kernel's name.
const PREFIX: &str = "soft SoC: ";

/// Million instructions per second of each kernel, in the order of the table.
pub fn mips(table: &str) -> Result<Vec<(String, f64)>> {
    let lines = table.lines().filter_map(|line| line.strip_prefix(PREFIX));
    let figures = lines.map(|line| {
        let (name, rest) = line.split_once("  ")?;
        let (_, rest) = rest.split_once(" DDR ")?;
        Some((
            name.to_owned(),
            rest.split_whitespace().next()?.parse().ok()?,
        ))
    });
    let found: Option<Vec<(String, f64)>> = figures.collect();
    found
        .filter(|it| it.iter().any(|(name, _)| name == "all"))
        .with_context(|| format!("no figures of a soft SoC in:\n{table}"))
}

/// A figure per kernel, from the tables of all runs.
///
/// # Errors
/// A table lacks them.
pub fn figures(tables: &[&str]) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> = Vec::new();
    for table in tables {
        for (number, (name, value)) in mips(table)?.into_iter().enumerate() {
            if number == figures.len() {
                figures.push(Figure {
                    what: format!("simulated instructions behind caches and DDR, {name}"),
                    unit: "million/s".to_owned(),
                    ..Figure::default()
                });
            }
            figures[number].ours.push(value);
        }
    }
    Ok(figures)
}

/// The section; `from_ram` is the ESP32-C6's figure of the same runs, `earlier` are the runs before.
///
/// # Errors
/// None that is known: the text is in memory.
pub fn section(figures: &[Figure], from_ram: &Figure, earlier: &[Run]) -> Result<String> {
    let mut text = format!(
        "{TITLE}\nSimulated instructions per second of a hart behind caches, buses and DDR \
         (`boards/rv32-soft-soc/system.toml`), beside the ESP32-C6's of the same runs, `cargo xtask bench \
         --soft-socs` updates this section only: `cargo run --release -p linerate-sim --example hart -- \
         target/kernels/{}/release/linerate-sim-kernels`, median, minimum and maximum, of the time that the \
         thread has a core.\n\n\
         | kernels | million instructions per second | target | floor |\n|---|---:|---:|---:|\n",
        tools::RISCV
    );
    for figure in figures {
        let name = figure.what.split_once("DDR, ");
        let name = name.map_or(figure.what.as_str(), |(_, name)| name);
        writeln!(
            text,
            "| {name}, RV32 soft SoC | {} | {TARGET} | {FLOOR} |",
            cell(&figure.ours)
        )?;
    }
    write!(
        text,
        "| all, ESP32-C6 from RAM | {} | | |\n\n\
         `memcpy` waits for memory every few instructions: each wait passes through caches, buses and the DDR \
         controller.\n{}",
        cell(&from_ram.ours),
        history::table(earlier)
    )?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "all                               RAM   447 MIPS 1.33 cycles/instruction  flash   379 MIPS\n\
        soft SoC: CRC-32, 8 KiB of tables           caches and DDR   151 MIPS 1.33 cycles/instruction\n\
        soft SoC: all                               caches and DDR   142 MIPS 1.33 cycles/instruction\n";

    #[test]
    fn the_figures_of_the_soft_soc_are_found_beside_those_of_the_chip() {
        let found = mips(TABLE).expect("figures");
        assert_eq!(found[0], ("CRC-32, 8 KiB of tables".to_owned(), 151.0));
        assert_eq!(found[1], ("all".to_owned(), 142.0));
        assert!(mips("soft SoC: memcpy  caches and DDR   43 MIPS").is_err());
        let figures = figures(&[TABLE, TABLE]).expect("figures");
        assert_eq!(figures[1].ours, [142.0, 142.0]);
        let text = section(&figures, &figures[0], &[]).expect("text");
        assert!(
            text.contains("| CRC-32, 8 KiB of tables, RV32 soft SoC | 151 (151 to 151) |"),
            "{text}"
        );
    }
}

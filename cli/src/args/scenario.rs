//! What can be written behind `linerate run` and `linerate sensitivity`.

use std::path::PathBuf;

use super::Thresholds;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate run scenarios/niccle.toml\n  \
    linerate run scenarios/niccle.toml --seed 2 --out results/seed-2\n  \
    linerate run scenarios/phy-conformance.toml --scale 0.01   a short version\n  \
    linerate run scenarios/niccle.toml --json - | jq .results[0].metrics\n\n\
    Writes run.json, report.html, report.md, results.csv, junit.xml, results.prom (OpenMetrics),\n\
    results.hdr (HdrHistogram log), captures and waveforms to the --out folder, and trials.ndjson\n\
    while it runs, so that what was measured survives a kill.")]
pub struct Run {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Write the results to this file too; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Folder for everything that is written [default: linerate-out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder with the firmware, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Seed of everything random, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure only the run with this name; may be given several times
    #[arg(long = "run", value_name = "NAME")]
    pub runs: Vec<String>,
    /// Multiply numbers of frames and seconds by this: a short or long version
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub scale: Option<f64>,
    /// What things cost on the chip: a timing table in place of the built-in one, or the console's
    /// log of `cycle_counting`
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Firmwares to run at the same time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Results of an earlier run to be held against: exit code 1 when something got worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Thresholds,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sensitivity scenarios/sensitivity.toml\n  \
    linerate sensitivity scenarios/sensitivity.toml --entry cpu.mmio_load --scale 0.1\n\n\
    Each entry of the timing table that is a guess is changed alone: by one, down and up, and to\n\
    130 percent; the cache's sizes to half and twice. Prints a table (Markdown) of the goodput and\n\
    of the conformance frames lost, and writes the results of every change to the --out folder.")]
pub struct Sensitivity {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Folder for the results [default: linerate-out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder with the firmware, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Change only this entry; may be given several times [default: every guess]
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Multiply numbers of frames and seconds by this
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub scale: Option<f64>,
    /// The timing table to begin from [default: the board's]
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Firmwares to run at the same time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

/// A factor that makes sense.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1_000.0 => Ok(factor),
        _ => Err("a number greater than 0 and at most 1000 is needed".to_owned()),
    }
}

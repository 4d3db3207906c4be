//! Arguments of `linerate run` and `linerate sensitivity`.

use std::path::PathBuf;

use super::Thresholds;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate run scenarios/niccle.toml\n  \
    linerate run scenarios/niccle.toml --seed 2 --out results/seed-2\n  \
    linerate run scenarios/phy-conformance.toml --scale 0.01   a short version\n  \
    linerate run scenarios/niccle.toml --json - | jq .results[0].metrics\n  \
    linerate run matrix.toml --resume                          continue after a kill\n  \
    linerate run matrix.toml --slurm --partition short --throttle 100\n\n\
    Writes run.json, report.html, report.md, results.csv, junit.xml, results.prom (OpenMetrics),\n\
    results.hdr (HdrHistogram log), captures and waveforms to the --out folder. Results are appended\n\
    to trials.ndjson during the run, so that they survive a kill. A scenario with a [matrix] runs each\n\
cell and also writes results.parquet, with a row per result.")]
pub struct Run {
    /// Scenario, a TOML file
    pub scenario: PathBuf,
    /// Also write the results as JSON to this file; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Output folder [default: linerate-out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder with the firmware images, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Random seed, overriding the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure only the run with this name; may be repeated
    #[arg(long = "run", value_name = "NAME")]
    pub runs: Vec<String>,
    /// Multiply frame counts and durations by this factor, for a short or long version
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub scale: Option<f64>,
    /// Timing of the chip: a timing table replacing the built-in one, or a console log of
    /// `cycle_counting`
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Number of firmwares to run in parallel [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Continue an interrupted run of a matrix in the output folder, or begin it
    #[arg(long, conflicts_with = "slurm")]
    pub resume: bool,
    /// Measure only the cell of the matrix with this number; may be repeated
    #[arg(long = "cell", value_name = "N")]
    pub cells: Vec<u64>,
    /// Submit the cells of the matrix to Slurm, as a job array with a folder per cell; `linerate merge`
    /// joins their results
    #[arg(long, conflicts_with_all = ["json", "baseline", "metrics"])]
    pub slurm: bool,
    /// Partition of the job array
    #[arg(long, value_name = "NAME", requires = "slurm")]
    pub partition: Option<String>,
    /// Time limit of each cell, in a format of `sbatch --time`
    #[arg(long, value_name = "TIME", requires = "slurm")]
    pub time: Option<String>,
    /// Maximum number of cells to run at one time on the cluster
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..))]
    pub throttle: Option<u32>,
    /// Further option of `sbatch`, such as `--slurm-option=--mem=2G`; may be repeated
    #[arg(
        long = "slurm-option",
        value_name = "OPTION",
        requires = "slurm",
        allow_hyphen_values = true
    )]
    pub slurm_options: Vec<String>,
    /// Earlier results to compare with; exit code 1 if any got worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Thresholds,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sensitivity scenarios/sensitivity.toml\n  \
    linerate sensitivity scenarios/sensitivity.toml --entry cpu.mmio_load --scale 0.1\n\n\
    Each entry of the timing table of kind `guess` is changed individually: by -1, by +1, and to 130\n\
    percent; cache sizes to half and double. Prints a Markdown table of goodput and lost conformance\n\
    frames, and writes the results of every change to the --out folder.")]
pub struct Sensitivity {
    /// Scenario, a TOML file
    pub scenario: PathBuf,
    /// Output folder [default: linerate-out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder with the firmware images, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Change only this entry; may be repeated [default: all guesses]
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Multiply frame counts and durations by this factor
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub scale: Option<f64>,
    /// Initial timing table [default: the board's]
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Number of firmwares to run in parallel [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate merge linerate-out/NAME --out results             a run with --slurm, when its jobs have ended\n  \
    linerate merge host-1 host-2 --out results                 parts made with --cell\n\n\
    The results must be of the same scenario, firmware and version of linerate. The table is that of a\n\
    run on one machine; cells without results are listed, and the exit code is 1.")]
pub struct Merge {
    /// Folders of runs of cells, or of a run with --slurm
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Folder for the joined run
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Parses a factor in the valid range.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1_000.0 => Ok(factor),
        _ => Err("expected a number greater than 0 and at most 1000".to_owned()),
    }
}

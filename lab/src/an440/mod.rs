//! The matrix of AN 440 on the RV32 soft SoC: 64 cells by execution of `lwIP` on `FreeRTOS`, beside the published ones.
//! docs/an440.md describes it.

mod ablation;
mod axes;
mod cells;
mod changes;
mod claims;
mod datagrams;
mod explain;
mod fit;
mod layers;
mod page;
mod peer;
mod record;
mod run;
mod score;
mod sensitivity;
mod system;

use anyhow::{Context, Result, bail};
use cells::{Cell, Direction, Memory, Optimisation, System};
use linerate_sim::elf::Elf;
use record::Scores;
use run::Measured;
use score::Throughputs;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use system::Parameters;
use xtask::{concurrent, sh, stack};

/// Bytes of a cell after the first, which are not measured: 686 segments.
pub const BYTES: u32 = 1_000_000;
/// The paper's table 4.
const PUBLISHED: &str = "boards/rv32-soft-soc/an440/table4.toml";

/// Arguments of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Bytes of each cell
    #[arg(long, default_value_t = BYTES)]
    bytes: u32,
    /// Only the cells whose name contains each of these words
    #[arg(long)]
    only: Vec<String>,
    /// Also measure with each guess of the board files changed by 30%
    #[arg(long)]
    sensitivity: bool,
    /// Also measure the anomalies with each mechanism that may cause one switched off
    #[arg(long)]
    ablation: bool,
    /// Also divide the cycles of a segment by purpose, waits, masters and row misses; write target/an440/explain.json
    #[arg(long)]
    explain: bool,
    /// Also compare the figures in the paper's text, and its order of optimisations
    #[arg(long)]
    claims: bool,
    /// Also measure UDP in all cells
    #[arg(long)]
    udp: bool,
    /// Also change what the paper names and does not measure, one thing at a time; with WORD, only what has it in its name
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    axes: Option<String>,
    /// Also write target/an440/index.html: the cells as small multiples
    #[arg(long)]
    page: bool,
    /// Additional flags of the compiler, such as -O2
    #[arg(long, allow_hyphen_values = true)]
    flag: Vec<String>,
}

/// What a run of cells needs.
struct Bench {
    elf: Elf,
    bytes: u32,
}

/// Compiler flags of the program that all cells run.
struct Build {
    flags: Vec<String>,
}

impl Build {
    /// The program, or with `further` flags a changed one; `None` without the compiler.
    fn program(&self, further: &[String]) -> Result<Option<PathBuf>> {
        let flags: Vec<&str> = self
            .flags
            .iter()
            .chain(further)
            .map(String::as_str)
            .collect();
        let name = if flags.is_empty() {
            "an440".to_owned()
        } else {
            flags.concat()
        };
        stack::build(&stack::BENCHMARK, &name, &flags)
    }

    /// A bench with a changed program.
    fn with(&self, further: &[String], bytes: u32) -> Result<Option<Bench>> {
        let elf = self.program(further)?;
        elf.map(|elf| Bench::new(&elf, bytes)).transpose()
    }
}

type Results = BTreeMap<Cell, Measured>;

impl Bench {
    fn new(elf: &Path, bytes: u32) -> Result<Self> {
        let elf = std::fs::read(elf).with_context(|| elf.display().to_string())?;
        let elf = Elf::parse(&elf).map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(Self { elf, bytes })
    }

    /// Measures `cells` on all cores.
    fn run(&self, cells: &[Cell], parameters: &Parameters) -> Result<Results> {
        let measured = concurrent::map(cells, concurrent::cores(), |cell| {
            let config = system::config(*cell, parameters)?;
            Ok((
                *cell,
                run::run(*cell, &config, &self.elf, self.bytes, parameters, None)?,
            ))
        });
        measured.into_iter().collect()
    }

    fn throughputs(&self, cells: &[Cell], parameters: &Parameters) -> Result<Throughputs> {
        Ok(throughputs(&self.run(cells, parameters)?))
    }
}

fn throughputs(results: &Results) -> Throughputs {
    results
        .iter()
        .map(|(cell, it)| (*cell, it.mbit_per_s))
        .collect()
}

/// Runs the experiment.
///
/// # Errors
/// The firmware cannot be built, or a cell fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let started = Instant::now();
    let build = Build {
        flags: arguments.flag.clone(),
    };
    let Some(elf) = build.program(&[])? else {
        println!(
            "skipped: no {} (as root: apt-get install {}, or cargo xtask setup)",
            stack::COMPILER,
            stack::PACKAGE
        );
        return Ok(());
    };
    let functions = layers::functions(&elf)?;
    let bench = Bench::new(&elf, arguments.bytes)?;
    let is_wanted = |cell: &Cell| {
        arguments
            .only
            .iter()
            .all(|word| cell.to_string().contains(word.as_str()))
    };
    let cells: Vec<Cell> = Cell::all().into_iter().filter(is_wanted).collect();
    if cells.is_empty() {
        bail!(
            "no cell has these words in its name; one is `{}`",
            Cell::all()[0]
        );
    }
    let published = published()?;
    let unfitted = bench.run(&cells, &Parameters::default())?;
    println!("Nothing fitted, Mbit/s, predicted (published):");
    print_table(&throughputs(&unfitted), &published);
    if published.is_empty() {
        print_causes(&unfitted);
        return Ok(());
    }
    let (parameters, values) = fit::fit(&published, |cells, parameters| {
        bench.throughputs(cells, parameters)
    })?;
    let fitted = bench.run(&cells, &parameters)?;
    println!("\nThree parameters fitted on the eight cells marked *:");
    for value in &values {
        println!("  {}: {}", value.name, value.value);
    }
    print_table(&throughputs(&fitted), &published);
    let scores = Scores::new(&unfitted, &fitted, &published, values);
    scores.print();
    print_causes(&fitted);
    let out = sh::out("an440");
    std::fs::create_dir_all(&out)?;
    std::fs::write(
        out.join("scores.json"),
        serde_json::to_string_pretty(&scores)?,
    )?;
    if arguments.page {
        std::fs::write(
            out.join("index.html"),
            page::page(&fitted, &published, &scores),
        )?;
        println!("page: target/an440/index.html");
    }
    if arguments.claims {
        claims::print(&throughputs(&fitted), &published);
    }
    if arguments.explain {
        explain::run(&bench, &functions, &cells, &parameters)?;
    }
    if arguments.udp {
        datagrams::run(&bench, &throughputs(&fitted), &parameters)?;
    }
    if let Some(wanted) = &arguments.axes {
        axes::run(&bench, &build, &throughputs(&fitted), &parameters, wanted)?;
    }
    if arguments.ablation {
        ablation::run(&bench, &throughputs(&fitted), &parameters)?;
    }
    if arguments.sensitivity {
        sensitivity::run(&bench, &cells, &published, &parameters)?;
    }
    println!(
        "target/an440/scores.json, {:.0} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The published table, Mbit/s.
fn published() -> Result<Throughputs> {
    let path = sh::root().join(PUBLISHED);
    if !path.is_file() {
        return Ok(Throughputs::new());
    }
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let table: toml::Table = text.parse().context(PUBLISHED)?;
    let mut found = Throughputs::new();
    for cell in Cell::all() {
        let row = format!(
            "{} {} {}",
            cell.system.name(),
            cell.direction.name(),
            cell.memory.name()
        );
        let values = table["mbit_per_s"]
            .get(&row)
            .and_then(toml::Value::as_array);
        let value = values.and_then(|it| it.get(cell.optimisation as usize)?.as_float());
        found.insert(
            cell,
            value.with_context(|| format!("{PUBLISHED} has no {cell}"))?,
        );
    }
    Ok(found)
}

fn print_table(predicted: &Throughputs, published: &Throughputs) {
    print!("{:<17}", "");
    for memory in Memory::ALL {
        for optimisation in Optimisation::ALL {
            print!(
                "{:>17}",
                format!("{} {}", memory.name(), optimisation.name())
            );
        }
    }
    println!();
    for system in System::ALL {
        for direction in Direction::ALL {
            print!("{:<17}", format!("{} {}", system.name(), direction.name()));
            for memory in Memory::ALL {
                for optimisation in Optimisation::ALL {
                    let cell = Cell::new(system, direction, memory, optimisation);
                    let mark = if cell.is_fitted() { "*" } else { "" };
                    let text = match (predicted.get(&cell), published.get(&cell)) {
                        (Some(it), Some(published)) => format!("{it:.1} ({published:.1}){mark}"),
                        (Some(it), None) => format!("{it:.1}"),
                        (None, Some(published)) => format!("- ({published:.1})"),
                        _ => "-".to_owned(),
                    };
                    print!("{text:>17}");
                }
            }
            println!();
        }
    }
}

fn print_causes(results: &Results) {
    println!("\nCycles per segment by cause (they add up):");
    println!(
        "{:<32}{:>9}{:>11}{:>9}{:>9}{:>9}{:>9}{:>13}",
        "", "cycles", "execution", "fetch", "data", "direct", "idle", "instructions"
    );
    for (cell, measured) in results {
        let it = measured.per_segment;
        println!(
            "{:<32}{:>9.0}{:>11.0}{:>9.0}{:>9.0}{:>9.0}{:>9.0}{:>13.0}",
            cell.to_string(),
            it.cycles,
            it.execution,
            it.fetch_misses,
            it.data_misses,
            it.direct_accesses,
            it.idle,
            it.instructions
        );
    }
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}"))
}

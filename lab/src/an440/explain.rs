//! Cycles of a segment by purpose and by what the processor waits for, seen instruction by instruction, with the waits of
//! all masters at arbiters and the row misses of the DDR.

use super::Bench;
use super::cells::{Cell, Direction, System};
use super::layers::{Functions, Layer};
use super::system::{self, Parameters};
use anyhow::{Context, Result, bail};
use linerate_sim::chip::soft_soc::{Config, SoftSoc};
use linerate_sim::memsys::{ControllerConfig, DramStatistics, MasterStatistics, PortStatistics};
use std::collections::BTreeMap;
use xtask::{concurrent, sh};

/// Bytes of a cell: 100 segments, as each instruction is a step of its own.
const BYTES: u32 = 145_800;

/// Cycles, and the part of them in which the processor waits.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Spent {
    cycles: f64,
    /// For lines of instructions.
    fetch: f64,
    /// For lines of data.
    data: f64,
    /// For accesses past the cache.
    direct: f64,
}

impl Spent {
    fn add(&mut self, other: Self, weight: f64) {
        self.cycles += other.cycles * weight;
        self.fetch += other.fetch * weight;
        self.data += other.data * weight;
        self.direct += other.direct * weight;
    }
}

/// A cell, per segment.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Explained {
    by_purpose: BTreeMap<&'static str, Spent>,
    idle: f64,
    /// Cycles that the requests of each master waited for an arbiter: while another master, or the master's own posted
    /// write, is served.
    at_arbiters: BTreeMap<String, f64>,
    /// Requests to another row of a bank of the DDR than the open one.
    row_misses: f64,
}

impl Explained {
    fn sum(&self) -> Spent {
        let mut sum = Spent::default();
        for spent in self.by_purpose.values() {
            sum.add(*spent, 1.0);
        }
        sum
    }

    fn add(&mut self, other: &Self, weight: f64) {
        for (purpose, spent) in &other.by_purpose {
            self.by_purpose
                .entry(purpose)
                .or_default()
                .add(*spent, weight);
        }
        for (master, waited) in &other.at_arbiters {
            *self.at_arbiters.entry(master.clone()).or_default() += waited * weight;
        }
        self.idle += other.idle * weight;
        self.row_misses += other.row_misses * weight;
    }

    /// Waits at arbiters of the masters whose name begins with one of `names`.
    fn waited(&self, names: &[&str]) -> f64 {
        let of = |master: &String| names.iter().any(|name| master.starts_with(name));
        let masters = self.at_arbiters.iter().filter(|(master, _)| of(master));
        masters.map(|(_, waited)| waited).sum()
    }
}

/// State before an instruction.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    cycle: u64,
    asleep: u64,
    pc: u32,
    ports: PortStatistics,
}

/// Sums over all instructions of the measured part.
pub struct Observer<'a> {
    functions: &'a Functions,
    period: f64,
    masters: Vec<(String, MasterStatistics)>,
    dram: Option<usize>,
    rows: DramStatistics,
    before: Before,
    spent: [Spent; Layer::ALL.len()],
    idle: u64,
    /// The result, before it is divided by the number of segments.
    total: Explained,
}

impl<'a> Observer<'a> {
    pub fn new(functions: &'a Functions, config: &Config) -> Self {
        let targets = config.topology.targets.iter();
        let is_dram = |target: &_| {
            matches!(
                target,
                &&linerate_sim::memsys::TargetConfig {
                    controller: ControllerConfig::Dram(_),
                    ..
                }
            )
        };
        let names = config.topology.masters.iter().map(|it| it.name.clone());
        Self {
            functions,
            period: config.ports.period as f64,
            masters: names
                .map(|name| (name, MasterStatistics::default()))
                .collect(),
            dram: targets.clone().position(|target| is_dram(&target)),
            rows: DramStatistics::default(),
            before: Before::default(),
            spent: Default::default(),
            idle: 0,
            total: Explained::default(),
        }
    }

    /// At the begin of the measured part.
    pub fn begin(&mut self, soc: &SoftSoc) {
        for (number, (_, counts)) in self.masters.iter_mut().enumerate() {
            *counts = soc.master(number);
        }
        let rows = self.dram.and_then(|dram| soc.dram(dram));
        self.rows = rows.unwrap_or_default();
    }

    /// Before an instruction.
    pub fn before(&mut self, soc: &SoftSoc) {
        self.before = Before {
            cycle: soc.hart().cycle(),
            asleep: soc.asleep_cycles(),
            pc: soc.hart().pc(),
            ports: soc.ports(),
        };
    }

    /// After it.
    pub fn after(&mut self, soc: &SoftSoc) {
        let Before {
            cycle,
            asleep,
            pc,
            ports,
        } = self.before;
        let slept = soc.asleep_cycles() - asleep;
        self.idle += slept;
        let layer = self.functions.at(pc);
        let layer = layer.map_or(Layer::Stack, |it| self.functions.list[it].layer);
        let now = soc.ports();
        let cycles = |after: u64, before: u64| (after - before) as f64 / self.period;
        let spent = Spent {
            cycles: (soc.hart().cycle() - cycle - slept) as f64,
            fetch: cycles(now.fetch_waited, ports.fetch_waited),
            data: cycles(now.data_waited, ports.data_waited),
            direct: cycles(now.direct_waited, ports.direct_waited),
        };
        self.spent[layer as usize].add(spent, 1.0);
    }

    /// At the end of the measured part.
    pub fn end(&mut self, soc: &SoftSoc) {
        let layers = Layer::ALL.iter().zip(self.spent);
        self.total.by_purpose = layers.map(|(layer, it)| (layer.name(), it)).collect();
        self.total.idle = self.idle as f64;
        for (number, (name, before)) in self.masters.iter().enumerate() {
            let waited = soc.master(number).waited - before.waited;
            let all = self.total.at_arbiters.entry(name.clone()).or_default();
            *all += waited as f64 / self.period;
        }
        let rows = self
            .dram
            .and_then(|dram| soc.dram(dram))
            .unwrap_or_default();
        self.total.row_misses = (rows.row_conflicts - self.rows.row_conflicts) as f64;
    }

    /// Per segment, if one takes `cycles`.
    fn explained(&self, cycles: f64) -> Explained {
        let all = self.total.sum().cycles + self.total.idle;
        let mut explained = Explained::default();
        explained.add(&self.total, cycles / all);
        explained
    }
}

/// Observes `cells`, prints the means of each system and direction, and writes target/an440/explain.json.
///
/// # Errors
/// A cell fails, or takes other cycles because it is observed.
pub fn run(
    bench: &Bench,
    functions: &Functions,
    cells: &[Cell],
    parameters: &Parameters,
) -> Result<()> {
    let explained = concurrent::map(cells, concurrent::cores(), |cell| {
        let config = system::config(*cell, parameters)?;
        let mut observer = Observer::new(functions, &config);
        let run =
            |observer| super::run::run(*cell, &config, &bench.elf, BYTES, parameters, observer);
        let (plain, measured) = (run(None)?, run(Some(&mut observer))?);
        if plain.per_segment.cycles.to_bits() != measured.per_segment.cycles.to_bits() {
            bail!("{cell}: the observed run takes other cycles than the same run alone");
        }
        Ok((*cell, observer.explained(measured.per_segment.cycles)))
    });
    let explained: BTreeMap<Cell, Explained> = explained.into_iter().collect::<Result<_>>()?;
    let names = explained.iter().map(|(cell, it)| (cell.to_string(), it));
    let json: BTreeMap<String, &Explained> = names.collect();
    let path = sh::out("an440").join("explain.json");
    std::fs::write(&path, serde_json::to_string_pretty(&json)?)
        .with_context(|| path.display().to_string())?;
    print_tables(&explained);
    println!("target/an440/explain.json");
    Ok(())
}

fn print_tables(explained: &BTreeMap<Cell, Explained>) {
    let mut means: BTreeMap<(System, Direction), Explained> = BTreeMap::new();
    for (cell, it) in explained {
        let key = (cell.system, cell.direction);
        let same = explained
            .keys()
            .filter(|it| (it.system, it.direction) == key);
        let weight = 1.0 / same.count() as f64;
        means.entry(key).or_default().add(it, weight);
    }
    println!(
        "\nCycles of a segment, means of the cells of each system, by what the processor waits for:\n"
    );
    println!(
        "| | all | execution | instructions | cached data | past the cache | asleep | of the waits, at arbiters | DMA and \
         unit at arbiters | DDR row misses |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for ((system, direction), it) in &means {
        let sum = it.sum();
        println!(
            "| {} {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
            system.name(),
            direction.name(),
            sum.cycles + it.idle,
            sum.cycles - sum.fetch - sum.data - sum.direct,
            sum.fetch,
            sum.data,
            sum.direct,
            it.idle,
            it.waited(&["cpu"]),
            it.waited(&["rx_dma", "tx_dma", "checksum"]),
            it.row_misses
        );
    }
    println!("\nThe same by purpose, waits included:\n");
    let names = Layer::ALL.map(Layer::name).join(" | ");
    println!(
        "| | {names} | asleep |\n|---|{}---:|",
        "---:|".repeat(Layer::ALL.len())
    );
    for ((system, direction), it) in &means {
        let spent = Layer::ALL.map(|layer| it.by_purpose.get(layer.name()).copied());
        let spent = spent.map(|it| format!("{:.0}", it.unwrap_or_default().cycles));
        let (system, direction) = (system.name(), direction.name());
        println!(
            "| {system} {direction} | {} | {:.0} |",
            spent.join(" | "),
            it.idle
        );
    }
}

//! Observes the hart instruction by instruction: cycles by function, interrupts off, scheduler locked, tasks.

use super::layers::{Functions, Layer};
use super::run::Firmware;
use anyhow::{Context, Result};
use linerate_sim::chip::soft_soc::SoftSoc;
use std::collections::BTreeMap;

/// `mstatus`, and its bit MIE (RISC-V privileged architecture, 3.1.6).
const MSTATUS: u16 = 0x300;
const MIE: u32 = 1 << 3;

/// A stretch of time in which something held.
#[derive(Debug, Clone, Default)]
struct Stretch {
    since: Option<(u64, u32)>,
    longest: u64,
    /// Address at which the longest began.
    longest_at: u32,
    sum: u64,
}

impl Stretch {
    fn observe(&mut self, holds: bool, cycle: u64, pc: u32) {
        match (holds, self.since) {
            (true, None) => self.since = Some((cycle, pc)),
            (false, Some((since, at))) => {
                self.since = None;
                let length = cycle - since;
                self.sum += length;
                if length > self.longest {
                    (self.longest, self.longest_at) = (length, at);
                }
            }
            _ => {}
        }
    }
}

/// What was observed; cycles are for each datagram unless stated.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Observed {
    pub cycles_by_layer: BTreeMap<&'static str, f64>,
    /// The functions that take most, with their layer.
    pub functions: Vec<(String, &'static str, f64)>,
    pub task_switches: f64,
    /// Longest time with interrupts off, handlers and switches of tasks included, in cycles; the function in which it
    /// began.
    pub longest_interrupts_off: u64,
    pub longest_interrupts_off_in: String,
    pub interrupts_off: f64,
    pub longest_scheduler_locked: u64,
    pub longest_scheduler_locked_in: String,
}

impl Observed {
    pub fn layer(&self, layer: Layer) -> f64 {
        self.cycles_by_layer
            .get(layer.name())
            .copied()
            .unwrap_or_default()
    }

    /// Cycles in which the processor waits: asleep, or reading a status again and again.
    pub fn waiting(&self) -> f64 {
        self.layer(Layer::Asleep) + self.layer(Layer::Spins)
    }
}

pub struct Observer<'a> {
    functions: &'a Functions,
    suspended: u32,
    current_task: u32,
    cycles: Vec<u64>,
    unknown: u64,
    asleep: u64,
    before: (u64, u64, u32),
    task: u32,
    switches: u64,
    interrupts_off: Stretch,
    scheduler_locked: Stretch,
}

impl<'a> Observer<'a> {
    /// # Errors
    /// The firmware lacks the kernel's variables.
    pub fn new(firmware: &'a Firmware, soc: &SoftSoc) -> Result<Self> {
        let variable = |name: &str| {
            let symbol = firmware.elf.symbol(name);
            Ok::<_, anyhow::Error>(symbol.with_context(|| format!("no variable {name}"))?.addr)
        };
        let current_task = variable("pxCurrentTCB")?;
        Ok(Self {
            functions: &firmware.functions,
            suspended: variable("uxSchedulerSuspended")?,
            current_task,
            cycles: vec![0; firmware.functions.list.len()],
            unknown: 0,
            asleep: 0,
            before: (0, 0, 0),
            task: soc.memory().read_u32(current_task).unwrap_or_default(),
            switches: 0,
            interrupts_off: Stretch::default(),
            scheduler_locked: Stretch::default(),
        })
    }

    /// Before a step.
    pub fn before(&mut self, soc: &SoftSoc) {
        self.before = (soc.hart().cycle(), soc.asleep_cycles(), soc.hart().pc());
    }

    /// After it.
    pub fn after(&mut self, soc: &SoftSoc) {
        let (cycle, asleep, pc) = self.before;
        let slept = soc.asleep_cycles() - asleep;
        let now = soc.hart().cycle();
        let spent = now - cycle - slept;
        self.asleep += slept;
        match self.functions.at(pc) {
            Some(function) => self.cycles[function] += spent,
            None => self.unknown += spent,
        }
        let status = soc.hart().csr(MSTATUS).unwrap_or_default();
        self.interrupts_off.observe(status & MIE == 0, now, pc);
        let read = |address| soc.memory().read_u32(address).unwrap_or_default();
        self.scheduler_locked
            .observe(read(self.suspended) != 0, now, pc);
        let task = read(self.current_task);
        self.switches += u64::from(task != self.task);
        self.task = task;
    }

    fn name(&self, pc: u32) -> String {
        let function = self.functions.at(pc);
        function.map_or_else(String::new, |it| self.functions.list[it].name.clone())
    }

    /// The result for `datagrams`.
    pub fn observed(&self, datagrams: f64) -> Observed {
        let mut by_layer: BTreeMap<&'static str, f64> = BTreeMap::new();
        let mut functions: BTreeMap<(&str, &'static str), f64> = BTreeMap::new();
        for (function, cycles) in self.functions.list.iter().zip(&self.cycles) {
            let cycles = *cycles as f64 / datagrams;
            let layer = function.layer.name();
            *by_layer.entry(layer).or_default() += cycles;
            *functions.entry((&function.name, layer)).or_default() += cycles;
        }
        *by_layer.entry(Layer::Asleep.name()).or_default() += self.asleep as f64 / datagrams;
        *by_layer.entry(Layer::Stack.name()).or_default() += self.unknown as f64 / datagrams;
        let mut functions: Vec<_> = functions
            .into_iter()
            .filter(|(_, cycles)| *cycles >= 1.0)
            .map(|((name, layer), cycles)| (name.to_owned(), layer, cycles))
            .collect();
        functions.sort_by(|a, b| b.2.total_cmp(&a.2));
        Observed {
            cycles_by_layer: by_layer,
            functions,
            task_switches: self.switches as f64 / datagrams,
            longest_interrupts_off: self.interrupts_off.longest,
            longest_interrupts_off_in: self.name(self.interrupts_off.longest_at),
            interrupts_off: self.interrupts_off.sum as f64 / datagrams,
            longest_scheduler_locked: self.scheduler_locked.longest,
            longest_scheduler_locked_in: self.name(self.scheduler_locked.longest_at),
        }
    }
}

//! CPU profile: cycles by function and call stack, from the firmware's symbols.
//!
//! The hart runs one instruction at a time while it is profiled, with a deadline of one cycle
//! (`single_step`); its fast path is unaware of it, and a run without a profile has no overhead.
//! Calls and returns are followed by the link registers `ra` and `t0` (RISC-V calling convention,
//! chapter "Integer Register Convention"); interrupts and exceptions open a separate stack until
//! their `mret`. Inlined functions count as part of the function that they were inlined into.

mod activity;
mod functions;
mod single_step;
mod stacks;

use std::ops::Range;

pub use self::activity::{Activity, Work};
use self::functions::Functions;
use self::single_step::SingleStep;
use self::stacks::Stacks;
use crate::elf::Elf;
use crate::mem::Memory;
use crate::rv32::{self, Hart, Kind, Platform};
use crate::time::Instant;

/// Cycles by call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Cycles that were profiled.
    pub cycles: u64,
    /// Every stack that occurred.
    pub stacks: Vec<Stack>,
}

/// A call stack and the cycles spent in its innermost function itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// True if an interrupt or an exception opened it.
    pub interrupt: bool,
    /// Names, demangled, the outermost first.
    pub functions: Vec<String>,
    /// CPU cycles in the innermost function itself.
    pub cycles: u64,
    /// Number of calls by this path.
    pub calls: u64,
}

/// Profiles a hart.
#[derive(Debug)]
pub(crate) struct Profiler {
    functions: Functions,
    stacks: Stacks,
    rom: Range<u32>,
    /// Cycle up to which time is accounted for.
    accounted_until: u64,
    /// The current work and its first cycle.
    current: (u64, Work),
    /// Completed activities, with first and last cycle.
    activities: Vec<(u64, u64, Work)>,
}

impl Profiler {
    /// Profiles a hart that runs `elf` and is at `pc`; `rom_name` names the ROM's functions by
    /// address.
    pub fn new(
        elf: &Elf,
        pc: u32,
        rom: Range<u32>,
        rom_name: impl Fn(u32) -> Option<&'static str>,
    ) -> Self {
        let mut functions = Functions::new(elf, rom.clone(), &rom_name);
        let stacks = Stacks::new(functions.at(pc));
        Self {
            functions,
            stacks,
            rom,
            accounted_until: 0,
            current: (0, Work::Other),
            activities: Vec::new(),
        }
    }

    /// The hart restarts at `entry`, at `cycle`.
    pub fn restart(&mut self, entry: u32, cycle: u64) {
        self.pause(cycle);
        self.stacks.restart(self.functions.at(entry));
    }

    /// Clears the cycles so far.
    pub fn clear(&mut self, cycle: u64) {
        self.stacks.clear();
        self.activities.clear();
        (self.accounted_until, self.current.0) = (cycle, cycle);
    }

    /// Runs `hart` as [`Hart::run`] does.
    pub fn run<P: Platform>(
        &mut self,
        hart: &mut Hart,
        memory: &mut Memory,
        platform: &mut P,
    ) -> rv32::Stop {
        let mut platform = SingleStep::new(platform);
        loop {
            let (pc, instret) = (hart.pc(), hart.instret());
            self.pause(hart.cycle());
            platform.allow_one(hart.cycle());
            let stop = hart.run(memory, &mut platform);
            self.account(pc, instret, hart, memory);
            if stop != rv32::Stop::Deadline || hart.cycle() >= platform.platform_deadline() {
                return stop;
            }
        }
    }

    /// Accounts for time in which the hart did nothing.
    fn pause(&mut self, cycle: u64) {
        let idle = cycle.saturating_sub(self.accounted_until);
        if idle > 0 {
            self.stacks.charge_asleep(idle);
            self.begin(self.accounted_until, Work::Asleep);
            self.accounted_until = cycle;
        }
    }

    /// Accounts for the step that began at `pc`.
    fn account(&mut self, pc: u32, instret: u64, hart: &Hart, memory: &Memory) {
        let (next, cycle) = (hart.pc(), hart.cycle());
        if hart.instret() == instret && next == pc && cycle == self.accounted_until {
            return;
        }
        let spent = cycle - self.accounted_until;
        if hart.instret() == instret && next != pc && !self.rom.contains(&pc) {
            // An interrupt or an exception: entering it is the handler's time.
            let handler = self.functions.at(next);
            self.stacks.trap(handler, pc);
            self.charge(spent);
        } else {
            self.charge(spent);
            self.follow(pc, next, memory);
        }
        self.accounted_until = cycle;
    }

    fn charge(&mut self, cycles: u64) {
        self.stacks.charge(cycles);
        let work = if self.stacks.in_interrupt() {
            Work::Interrupt
        } else {
            self.functions.work(self.stacks.function())
        };
        self.begin(self.accounted_until, work);
    }

    /// `work` begins at `cycle`.
    fn begin(&mut self, cycle: u64, work: Work) {
        let (since, before) = self.current;
        if before != work {
            if cycle > since {
                self.activities.push((since, cycle, before));
            }
            self.current = (cycle, work);
        }
    }

    /// The instruction at `pc` was executed; the next one is at `next`.
    fn follow(&mut self, pc: u32, next: u32, memory: &Memory) {
        if self.rom.contains(&pc) {
            if next != pc {
                self.stacks.return_to(next, &mut self.functions);
            }
            return;
        }
        if matches!(next.wrapping_sub(pc), 2 | 4) {
            self.stacks.move_to(next, &mut self.functions);
            return;
        }
        match control_transfer(pc, memory) {
            ControlTransfer::Call { return_addr } => {
                self.stacks.call(self.functions.at(next), return_addr);
            }
            ControlTransfer::Return => self.stacks.return_to(next, &mut self.functions),
            ControlTransfer::EndOfTrap => self.stacks.end_of_trap(next, &mut self.functions),
            ControlTransfer::Jump => self.stacks.move_to(next, &mut self.functions),
        }
    }

    /// Profile up to `cycle`.
    pub fn profile(&mut self, cycle: u64) -> Profile {
        self.pause(cycle);
        let stacks = self.stacks.list(&self.functions);
        Profile {
            cycles: stacks.iter().map(|stack| stack.cycles).sum(),
            stacks,
        }
    }

    /// Activities since the last call up to `cycle`; `instant` converts a cycle to its start time.
    pub fn activities(&mut self, cycle: u64, instant: impl Fn(u64) -> Instant) -> Vec<Activity> {
        self.pause(cycle);
        let (since, work) = self.current;
        if self.accounted_until > since {
            self.activities.push((since, self.accounted_until, work));
            self.current.0 = self.accounted_until;
        }
        let done = self.activities.drain(..);
        done.map(|(from, to, work)| Activity {
            start: instant(from),
            end: instant(to),
            work,
        })
        .collect()
    }
}

/// Kind of jump by which an instruction leaves sequential code.
enum ControlTransfer {
    /// A call that returns to `return_addr`.
    Call {
        return_addr: u32,
    },
    Return,
    EndOfTrap,
    Jump,
}

/// `ra` and the alternate link register `t0`.
const LINK_REGISTERS: [u8; 2] = [1, 5];

fn control_transfer(pc: u32, memory: &Memory) -> ControlTransfer {
    let Some(word) = memory
        .slice(pc, 4)
        .or_else(|| memory.slice(pc, 2))
        .map(|bytes| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(word)
        })
    else {
        return ControlTransfer::Jump;
    };
    let (instr, len) = rv32::decode(word);
    match instr.kind {
        Kind::Jal | Kind::Jalr if LINK_REGISTERS.contains(&instr.rd) => ControlTransfer::Call {
            return_addr: pc.wrapping_add(len),
        },
        Kind::Jalr if instr.rd == 0 && LINK_REGISTERS.contains(&instr.rs1) => {
            ControlTransfer::Return
        }
        Kind::Mret => ControlTransfer::EndOfTrap,
        _ => ControlTransfer::Jump,
    }
}

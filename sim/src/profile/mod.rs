//! Where the processor's time goes: cycles by function and call stack, from the firmware's symbols.
//!
//! The hart runs one instruction at a time while it is profiled, with a deadline of one cycle
//! (`stepping`); nothing in its fast path knows of it, and a run that is not profiled costs
//! nothing. Calls and returns are followed by the link registers `ra` and `t0` (RISC-V calling
//! convention, chapter "Integer Register Convention"); interrupts and exceptions open a stack of
//! their own until their `mret`. Functions that the compiler inlined belong to the one that they
//! were inlined into.

mod activity;
mod functions;
mod stacks;
mod stepping;

use std::ops::Range;

pub use self::activity::{Activity, Work};
use self::functions::Functions;
use self::stacks::Stacks;
use self::stepping::Stepping;
use crate::elf::Elf;
use crate::mem::Memory;
use crate::rv32::{self, Hart, Kind, Platform};
use crate::time::Instant;

/// Cycles by call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Cycles that were profiled.
    pub cycles: u64,
    /// Every stack that was seen, the outermost function first.
    pub stacks: Vec<Stack>,
}

/// A call stack and what was spent in its innermost function itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Whether an interrupt or an exception opened it.
    pub interrupt: bool,
    /// Names, demangled, the outermost first.
    pub functions: Vec<String>,
    /// CPU cycles in the innermost function itself.
    pub cycles: u64,
    /// How often it was entered this way.
    pub calls: u64,
}

/// Follows a hart.
#[derive(Debug)]
pub(crate) struct Profiler {
    functions: Functions,
    stacks: Stacks,
    rom: Range<u32>,
    /// Up to where cycles are accounted for.
    seen: u64,
    /// Since when what is being done is done.
    since: (u64, Work),
    /// What was done before, by its first and last cycle.
    activities: Vec<(u64, u64, Work)>,
}

impl Profiler {
    /// Follows a hart that runs `elf` and is at `pc`; `rom_name` tells the ROM's functions by
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
            seen: 0,
            since: (0, Work::Rest),
            activities: Vec::new(),
        }
    }

    /// The hart begins at `entry` again, at `cycle`.
    pub fn restart(&mut self, entry: u32, cycle: u64) {
        self.pause(cycle);
        self.stacks.restart(self.functions.at(entry));
    }

    /// Forgets what was spent so far.
    pub fn clear(&mut self, cycle: u64) {
        self.stacks.clear();
        self.activities.clear();
        (self.seen, self.since.0) = (cycle, cycle);
    }

    /// Runs `hart` as [`Hart::run`] does.
    pub fn run<P: Platform>(
        &mut self,
        hart: &mut Hart,
        memory: &mut Memory,
        platform: &mut P,
    ) -> rv32::Stop {
        let mut platform = Stepping::new(platform);
        loop {
            let (pc, instret) = (hart.pc(), hart.instret());
            self.pause(hart.cycle());
            platform.allow_one(hart.cycle());
            let stop = hart.run(memory, &mut platform);
            self.account(pc, instret, hart, memory);
            if stop != rv32::Stop::Deadline || hart.cycle() >= platform.real_deadline() {
                return stop;
            }
        }
    }

    /// Time that passed without the hart doing anything.
    fn pause(&mut self, cycle: u64) {
        let idle = cycle.saturating_sub(self.seen);
        if idle > 0 {
            self.stacks.charge_asleep(idle);
            self.begin(self.seen, Work::Asleep);
            self.seen = cycle;
        }
    }

    /// Takes in the step that began at `pc`.
    fn account(&mut self, pc: u32, instret: u64, hart: &Hart, memory: &Memory) {
        let (next, cycle) = (hart.pc(), hart.cycle());
        if hart.instret() == instret && next == pc && cycle == self.seen {
            return;
        }
        let spent = cycle - self.seen;
        if hart.instret() == instret && next != pc && !self.rom.contains(&pc) {
            // An interrupt or an exception: entering it is the handler's time.
            let handler = self.functions.at(next);
            self.stacks.trap(handler, pc);
            self.charge(spent);
        } else {
            self.charge(spent);
            self.follow(pc, next, memory);
        }
        self.seen = cycle;
    }

    fn charge(&mut self, cycles: u64) {
        self.stacks.charge(cycles);
        let work = if self.stacks.in_interrupt() {
            Work::Interrupt
        } else {
            self.functions.work(self.stacks.function())
        };
        self.begin(self.seen, work);
    }

    /// From `cycle` on `work` is done.
    fn begin(&mut self, cycle: u64, work: Work) {
        let (since, before) = self.since;
        if before != work {
            if cycle > since {
                self.activities.push((since, cycle, before));
            }
            self.since = (cycle, work);
        }
    }

    /// The instruction at `pc` was executed and `next` comes next.
    fn follow(&mut self, pc: u32, next: u32, memory: &Memory) {
        if self.rom.contains(&pc) {
            if next != pc {
                self.stacks.ret(next, &mut self.functions);
            }
            return;
        }
        if matches!(next.wrapping_sub(pc), 2 | 4) {
            self.stacks.settle(next, &mut self.functions);
            return;
        }
        match leaving(pc, memory) {
            Leaving::Call { back } => {
                self.stacks.call(self.functions.at(next), back);
            }
            Leaving::Return => self.stacks.ret(next, &mut self.functions),
            Leaving::EndOfTrap => self.stacks.end_of_trap(next, &mut self.functions),
            Leaving::Jump => self.stacks.settle(next, &mut self.functions),
        }
    }

    /// What was spent up to `cycle`.
    pub fn profile(&mut self, cycle: u64) -> Profile {
        self.pause(cycle);
        let stacks = self.stacks.list(&self.functions);
        Profile {
            cycles: stacks.iter().map(|stack| stack.cycles).sum(),
            stacks,
        }
    }

    /// What was done since the last call and up to `cycle`; `instant` tells when a cycle begins.
    pub fn activities(&mut self, cycle: u64, instant: impl Fn(u64) -> Instant) -> Vec<Activity> {
        self.pause(cycle);
        let (since, work) = self.since;
        if self.seen > since {
            self.activities.push((since, self.seen, work));
            self.since.0 = self.seen;
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

/// How an instruction leaves the straight path.
enum Leaving {
    /// A call that comes back to `back`.
    Call {
        back: u32,
    },
    Return,
    EndOfTrap,
    Jump,
}

/// `ra` and the alternate link register `t0`.
const LINKS: [u8; 2] = [1, 5];

fn leaving(pc: u32, memory: &Memory) -> Leaving {
    let Some(word) = memory
        .slice(pc, 4)
        .or_else(|| memory.slice(pc, 2))
        .map(|bytes| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(word)
        })
    else {
        return Leaving::Jump;
    };
    let (instr, len) = rv32::decode(word);
    match instr.kind {
        Kind::Jal | Kind::Jalr if LINKS.contains(&instr.rd) => Leaving::Call {
            back: pc.wrapping_add(len),
        },
        Kind::Jalr if instr.rd == 0 && LINKS.contains(&instr.rs1) => Leaving::Return,
        Kind::Mret => Leaving::EndOfTrap,
        _ => Leaving::Jump,
    }
}

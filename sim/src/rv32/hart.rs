//! The hart's state and its work between blocks: interrupts, exceptions, calls into the ROM.

use core::ops::{Index, IndexMut, Range};

use super::block::{Translations, UNCACHED};
use super::csr::{Csrs, Identity, MSTATUS_MIE, MSTATUS_MPIE, MSTATUS_MPP};
use super::instr::Kind;
use super::platform::{Platform, RomCall};
use super::predict::Predictor;
use super::timing::Timing;
use super::translate::fetch;
use super::trap::{Cause, Fault, Stop};
use crate::mem::Memory;

/// Configuration of a hart at reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HartConfig {
    /// First instruction.
    pub entry: u32,
    /// Pipeline figures.
    pub timing: Timing,
    /// Values of `mvendorid` to `mhartid`.
    pub identity: Identity,
    /// Initial value of `mstatus.MIE`, which a boot loader may leave set.
    pub interrupts_enabled: bool,
    /// True if `mie` masks the platform's interrupt line of the same number, as in the privileged
    /// architecture (volume II, 3.1.9); false if the chip's own controller is the only mask.
    pub masked_by_mie: bool,
    /// Fetches from here become [`Platform::rom_call`]s.
    pub rom: Range<u32>,
}

impl HartConfig {
    /// Reset at `entry`, interrupts off, no ROM.
    pub fn new(entry: u32, timing: Timing) -> Self {
        Self {
            entry,
            timing,
            identity: Identity::default(),
            interrupts_enabled: false,
            masked_by_mie: false,
            rom: 0..0,
        }
    }
}

/// `x0` to `x31`, followed by as many more as a `u8` can index, so that no index needs a check.
#[derive(Clone, Debug)]
pub(super) struct Registers([u32; 256]);

impl Registers {
    /// The architecture's registers.
    pub(super) fn visible(&self) -> &[u32; 32] {
        self.0.first_chunk().expect("there are more")
    }

    fn visible_mut(&mut self) -> &mut [u32; 32] {
        self.0.first_chunk_mut().expect("there are more")
    }
}

impl Index<u8> for Registers {
    type Output = u32;
    #[inline]
    fn index(&self, index: u8) -> &u32 {
        &self.0[usize::from(index)]
    }
}

impl IndexMut<u8> for Registers {
    #[inline]
    fn index_mut(&mut self, index: u8) -> &mut u32 {
        &mut self.0[usize::from(index)]
    }
}

/// One RV32IMAC hart in machine mode.
#[derive(Debug)]
pub struct Hart {
    pub(super) x: Registers,
    pub(super) pc: u32,
    pub(super) cycle: u64,
    pub(super) instret: u64,
    pub(super) csrs: Csrs,
    pub(super) timing: Timing,
    pub(super) rom: Range<u32>,
    pub(super) waiting: bool,
    /// Address that `lr.w` reserved.
    pub(super) reservation: Option<u32>,
    /// The flash line that the fetch unit holds.
    pub(super) fetch_line: u32,
    pub(super) predictor: Predictor,
    pub(super) code: Translations,
}

/// Reason that the fast path returned.
pub(super) enum Exit {
    /// [`Hart::run`] must check interrupts, the deadline and the ROM.
    Recheck,
    /// An exception.
    Fault(Cause, u32),
}

impl Hart {
    /// A hart fresh out of reset.
    pub fn new(config: HartConfig) -> Self {
        Self {
            x: Registers([0; 256]),
            pc: config.entry & !1,
            cycle: 0,
            instret: 0,
            csrs: Csrs::new(
                config.identity,
                config.interrupts_enabled,
                config.masked_by_mie,
            ),
            predictor: Predictor::new(config.timing.target_buffer_entries),
            timing: config.timing,
            rom: config.rom,
            waiting: false,
            reservation: None,
            fetch_line: UNCACHED,
            code: Translations::new(),
        }
    }

    /// The cycle at which the next instruction begins.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Advances the time to `cycle` without executing anything: for a hart that waits, or is held
    /// in reset. Earlier cycles change nothing.
    pub fn advance_to(&mut self, cycle: u64) {
        self.cycle = self.cycle.max(cycle);
    }

    /// Address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Continues at `pc`.
    pub fn set_pc(&mut self, pc: u32) {
        self.pc = pc & !1;
    }

    /// Registers `x0` to `x31`.
    pub fn regs(&self) -> &[u32; 32] {
        self.x.visible()
    }

    /// Sets register `x[index]`; `x0` stays 0.
    pub fn set_reg(&mut self, index: u8, value: u32) {
        if index & 31 != 0 {
            self.x[index & 31] = value;
        }
    }

    /// Instructions retired.
    pub fn instret(&self) -> u64 {
        self.instret
    }

    /// Value of a CSR that belongs to the hart; `None` if it belongs to the chip.
    pub fn csr(&self, number: u16) -> Option<u32> {
        Csrs::owns(number).then(|| self.csrs.read(number, self.cycle, self.instret))
    }

    /// True if the hart executed `wfi` and is waiting.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Blocks translated so far. A steadily growing number means that the program keeps changing
    /// its code, or writes so close to it that it seems to: simulation is slow then.
    pub fn translations(&self) -> u64 {
        self.code.translated
    }

    /// True if the next instruction is a jump to itself: without an interrupt, the program does
    /// nothing more.
    pub fn is_stuck(&self, memory: &Memory) -> bool {
        fetch(memory, self.pc).is_some_and(|(i, _)| i.kind == Kind::Jal && i.imm == 0)
    }

    /// Runs until the platform's deadline, until the hart waits for an interrupt, or until an
    /// exception that the program cannot handle.
    pub fn run<P: Platform>(&mut self, memory: &mut Memory, platform: &mut P) -> Stop {
        loop {
            let interrupt = self.unmasked_interrupt(platform);
            if self.waiting {
                if interrupt.is_none() {
                    return Stop::Wfi;
                }
                self.waiting = false;
            }
            let deadline = platform.deadline();
            if self.cycle >= deadline {
                return Stop::Deadline;
            }
            if let Some(line) = interrupt
                && self.csrs.mstatus & MSTATUS_MIE != 0
            {
                self.enter_interrupt(line);
                continue;
            }
            let exit = if self.rom.contains(&self.pc) {
                self.call_rom(memory, platform)
            } else {
                self.execute(memory, platform, deadline)
            };
            if let Exit::Fault(cause, value) = exit {
                let fault = Fault {
                    cause,
                    pc: self.pc,
                    value,
                };
                let handler = self.csrs.mtvec & !3;
                let fetchable = memory.kind(handler).is_some() || self.rom.contains(&handler);
                if handler == self.pc || !fetchable {
                    return Stop::Fault(fault);
                }
                self.trap(cause as u32, value);
                self.pc = handler;
                self.cycle += u64::from(self.timing.exception_entry);
            }
        }
    }

    /// The platform's pending interrupt line, unless `mie` masks it.
    #[inline]
    pub(super) fn unmasked_interrupt<P: Platform>(&self, platform: &P) -> Option<u8> {
        let mask = self.csrs.unmasked_lines;
        platform
            .interrupt()
            .filter(|&line| mask >> (line & 31) & 1 != 0)
    }

    fn trap(&mut self, cause: u32, value: u32) {
        let csrs = &mut self.csrs;
        csrs.mepc = self.pc;
        csrs.mcause = cause;
        csrs.mtval = value;
        let enabled = csrs.mstatus & MSTATUS_MIE != 0;
        csrs.mstatus &= !(MSTATUS_MIE | MSTATUS_MPIE);
        csrs.mstatus |= MSTATUS_MPP | if enabled { MSTATUS_MPIE } else { 0 };
    }

    fn enter_interrupt(&mut self, line: u8) {
        self.trap(1 << 31 | u32::from(line), 0);
        let base = self.csrs.mtvec & !3;
        let vectored = self.csrs.mtvec & 1;
        self.pc = base.wrapping_add(vectored * 4 * u32::from(line));
        self.cycle += u64::from(self.timing.interrupt_entry);
    }

    fn call_rom<P: Platform>(&mut self, memory: &mut Memory, platform: &mut P) -> Exit {
        let pc = self.pc;
        match platform.rom_call(pc, self.x.visible_mut(), memory, self.cycle) {
            RomCall::Done { cycles } => {
                self.x[0] = 0;
                self.cycle += cycles;
                self.pc = self.x[1] & !1;
                Exit::Recheck
            }
            RomCall::Wait { until_cycle } => {
                let until = until_cycle.min(platform.deadline());
                self.cycle = until.max(self.cycle + 1);
                Exit::Recheck
            }
            RomCall::Unknown => Exit::Fault(Cause::InstructionAccess, pc),
        }
    }

    /// A block end that is neither branch nor jump; [`Self::run`] checks interrupts next.
    #[cold]
    pub(super) fn system(&mut self, kind: Kind, next: u32, value: u32) -> Exit {
        let cycles = match kind {
            Kind::Mret => {
                let csrs = &mut self.csrs;
                let enable = csrs.mstatus & MSTATUS_MPIE != 0;
                csrs.mstatus &= !(MSTATUS_MIE | MSTATUS_MPP);
                csrs.mstatus |= MSTATUS_MPIE | if enable { MSTATUS_MIE } else { 0 };
                self.pc = csrs.mepc;
                self.timing.mret
            }
            Kind::Wfi => {
                self.waiting = true;
                self.pc = next;
                1
            }
            // Translated code follows every store at once; nothing to do.
            Kind::FenceI => {
                self.pc = next;
                self.timing.fence
            }
            Kind::Ecall => return Exit::Fault(Cause::MachineCall, 0),
            Kind::Ebreak => return Exit::Fault(Cause::Breakpoint, self.pc),
            _ => return Exit::Fault(Cause::IllegalInstruction, value),
        };
        self.cycle += u64::from(cycles);
        self.instret += 1;
        Exit::Recheck
    }
}

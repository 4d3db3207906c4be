//! The hart: its state, and one instruction after the other.

use core::ops::Range;

use super::csr::{Csrs, Identity, MSTATUS_MIE, MSTATUS_MPIE, MSTATUS_MPP};
use super::decode::{decode, length};
use super::instr::{Instr, Kind};
use super::platform::{Platform, RomCall, Width};
use super::timing::Timing;
use super::trap::{Cause, Fault, Stop};
use crate::mem::{Memory, Stored};

/// How a hart comes out of reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HartConfig {
    /// First instruction.
    pub entry: u32,
    /// Pipeline figures.
    pub timing: Timing,
    /// What `mvendorid` to `mhartid` read.
    pub identity: Identity,
    /// Whether `mstatus.MIE` is 1 at first, as a boot loader may leave it.
    pub interrupts_enabled: bool,
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
            rom: 0..0,
        }
    }
}

/// One RV32IMAC hart in machine mode.
#[derive(Debug)]
pub struct Hart {
    x: [u32; 32],
    pc: u32,
    cycle: u64,
    instret: u64,
    csrs: Csrs,
    timing: Timing,
    rom: Range<u32>,
    waiting: bool,
    reservation: Option<u32>,
    last_fault: Option<Fault>,
}

impl Hart {
    /// A hart fresh out of reset.
    pub fn new(config: HartConfig) -> Self {
        Self {
            x: [0; 32],
            pc: config.entry & !1,
            cycle: 0,
            instret: 0,
            csrs: Csrs::new(config.identity, config.interrupts_enabled),
            timing: config.timing,
            rom: config.rom,
            waiting: false,
            reservation: None,
            last_fault: None,
        }
    }

    /// The cycle at which the next instruction begins.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Lets the time pass until `cycle` without executing anything: for a hart that waits, or is
    /// held in reset. Earlier cycles change nothing.
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
        &self.x
    }

    /// Sets register `x[index]`; `x0` stays 0.
    pub fn set_reg(&mut self, index: u8, value: u32) {
        if index != 0 {
            self.x[usize::from(index & 31)] = value;
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

    /// Whether the hart executed `wfi` and waits.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// The last exception, handled by the program or not.
    pub fn last_fault(&self) -> Option<Fault> {
        self.last_fault
    }

    /// Runs until the platform's deadline, until the hart waits for an interrupt, or until an
    /// exception that the program cannot handle.
    pub fn run<P: Platform>(&mut self, memory: &mut Memory, platform: &mut P) -> Stop {
        loop {
            let interrupt = platform.interrupt();
            if self.waiting {
                if interrupt.is_none() {
                    return Stop::Wfi;
                }
                self.waiting = false;
            }
            if let Some(line) = interrupt
                && self.csrs.mstatus & MSTATUS_MIE != 0
            {
                self.enter_interrupt(line);
            }
            if self.cycle >= platform.deadline() {
                return Stop::Deadline;
            }
            if let Err(fault) = self.step(memory, platform) {
                let handler = self.csrs.mtvec & !3;
                self.last_fault = Some(fault);
                if handler == 0 || fault.pc == handler || memory.kind(handler).is_none() {
                    return Stop::Fault(fault);
                }
                self.trap(fault.pc, fault.cause as u32, fault.value);
                self.pc = handler;
                self.cycle += u64::from(self.timing.exception_entry);
            }
        }
    }

    fn trap(&mut self, pc: u32, cause: u32, value: u32) {
        let csrs = &mut self.csrs;
        csrs.mepc = pc;
        csrs.mcause = cause;
        csrs.mtval = value;
        let mie = csrs.mstatus & MSTATUS_MIE;
        csrs.mstatus &= !(MSTATUS_MIE | MSTATUS_MPIE);
        csrs.mstatus |= MSTATUS_MPP | if mie != 0 { MSTATUS_MPIE } else { 0 };
    }

    fn enter_interrupt(&mut self, line: u8) {
        self.trap(self.pc, 1 << 31 | u32::from(line), 0);
        let base = self.csrs.mtvec & !3;
        let vectored = self.csrs.mtvec & 1;
        self.pc = base.wrapping_add(vectored * 4 * u32::from(line));
        self.cycle += u64::from(self.timing.interrupt_entry);
    }

    /// Executes one instruction, or a call into the ROM.
    fn step<P: Platform>(&mut self, memory: &mut Memory, platform: &mut P) -> Result<(), Fault> {
        let pc = self.pc;
        if self.rom.contains(&pc) {
            match platform.rom_call(pc, &mut self.x, memory, self.cycle) {
                RomCall::Done { cycles } => {
                    self.x[0] = 0;
                    self.cycle += cycles;
                    self.pc = self.x[1] & !1;
                }
                RomCall::Wait { until_cycle } => {
                    let until = until_cycle.min(platform.deadline());
                    self.cycle = until.max(self.cycle + 1);
                }
                RomCall::Unknown => {
                    return Err(Fault {
                        cause: Cause::InstructionAccess,
                        pc,
                        value: pc,
                    });
                }
            }
            return Ok(());
        }
        let no_fetch = Fault {
            cause: Cause::InstructionAccess,
            pc,
            value: pc,
        };
        let low = memory.read_u16(pc).ok_or(no_fetch)?;
        let high = if length(low) == 4 {
            memory.read_u16(pc + 2).ok_or(no_fetch)?
        } else {
            0
        };
        let (instr, len) = decode(u32::from(high) << 16 | u32::from(low));
        let mut next = pc.wrapping_add(len);
        self.execute(instr, &mut next, memory, platform)
            .map_err(|(cause, value)| Fault { cause, pc, value })?;
        self.instret += 1;
        self.cycle += 1;
        self.pc = next;
        Ok(())
    }

    #[allow(clippy::too_many_lines)]
    fn execute<P: Platform>(
        &mut self,
        instr: Instr,
        next: &mut u32,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<(), (Cause, u32)> {
        let Instr {
            kind,
            rd,
            rs1,
            rs2,
            imm,
        } = instr;
        let a = self.x[usize::from(rs1 & 31)];
        let b = self.x[usize::from(rs2 & 31)];
        let address = a.wrapping_add(imm as u32);
        let jump = self.pc.wrapping_add(imm as u32);
        let value = match kind {
            Kind::Add => a.wrapping_add(b),
            Kind::Sub => a.wrapping_sub(b),
            Kind::Sll => a << (b & 31),
            Kind::Slt => u32::from((a as i32) < b as i32),
            Kind::Sltu => u32::from(a < b),
            Kind::Xor => a ^ b,
            Kind::Srl => a >> (b & 31),
            Kind::Sra => (a as i32 >> (b & 31)) as u32,
            Kind::Or => a | b,
            Kind::And => a & b,
            Kind::Addi => address,
            Kind::Slti => u32::from((a as i32) < imm),
            Kind::Sltiu => u32::from(a < imm as u32),
            Kind::Xori => a ^ imm as u32,
            Kind::Ori => a | imm as u32,
            Kind::Andi => a & imm as u32,
            Kind::Slli => a << imm,
            Kind::Srli => a >> imm,
            Kind::Srai => (a as i32 >> imm) as u32,
            Kind::Lui => imm as u32,
            Kind::Auipc => jump,
            Kind::Mul => a.wrapping_mul(b),
            Kind::Mulh => (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32,
            Kind::Mulhsu => (i64::from(a as i32).wrapping_mul(i64::from(b)) >> 32) as u32,
            Kind::Mulhu => (u64::from(a) * u64::from(b) >> 32) as u32,
            Kind::Div if b == 0 => u32::MAX,
            Kind::Div => (a as i32).wrapping_div(b as i32) as u32,
            Kind::Divu => a.checked_div(b).unwrap_or(u32::MAX),
            Kind::Rem if b == 0 => a,
            Kind::Rem => (a as i32).wrapping_rem(b as i32) as u32,
            Kind::Remu => a.checked_rem(b).unwrap_or(a),
            Kind::Lb => self.load(address, Width::Byte, memory, platform)? as i8 as u32,
            Kind::Lh => self.load(address, Width::Half, memory, platform)? as i16 as u32,
            Kind::Lw => self.load(address, Width::Word, memory, platform)?,
            Kind::Lbu => self.load(address, Width::Byte, memory, platform)?,
            Kind::Lhu => self.load(address, Width::Half, memory, platform)?,
            Kind::Sb => return self.store(address, Width::Byte, b, memory, platform),
            Kind::Sh => return self.store(address, Width::Half, b, memory, platform),
            Kind::Sw => return self.store(address, Width::Word, b, memory, platform),
            Kind::LrW | Kind::ScW if a & 3 != 0 => {
                let lr = kind == Kind::LrW;
                let cause = if lr {
                    Cause::LoadMisaligned
                } else {
                    Cause::StoreMisaligned
                };
                return Err((cause, a));
            }
            Kind::LrW => {
                self.reservation = Some(a);
                self.load(a, Width::Word, memory, platform)?
            }
            Kind::ScW => {
                if self.reservation.take() == Some(a) {
                    self.store(a, Width::Word, b, memory, platform)?;
                    0
                } else {
                    1
                }
            }
            Kind::AmoswapW
            | Kind::AmoaddW
            | Kind::AmoxorW
            | Kind::AmoandW
            | Kind::AmoorW
            | Kind::AmominW
            | Kind::AmomaxW
            | Kind::AmominuW
            | Kind::AmomaxuW => {
                if a & 3 != 0 {
                    return Err((Cause::StoreMisaligned, a));
                }
                let old = self
                    .load(a, Width::Word, memory, platform)
                    .map_err(|_| (Cause::StoreAccess, a))?;
                let new = match kind {
                    Kind::AmoswapW => b,
                    Kind::AmoaddW => old.wrapping_add(b),
                    Kind::AmoxorW => old ^ b,
                    Kind::AmoandW => old & b,
                    Kind::AmoorW => old | b,
                    Kind::AmominW => (old as i32).min(b as i32) as u32,
                    Kind::AmomaxW => (old as i32).max(b as i32) as u32,
                    Kind::AmominuW => old.min(b),
                    _ => old.max(b),
                };
                self.store(a, Width::Word, new, memory, platform)?;
                old
            }
            Kind::Beq | Kind::Bne | Kind::Blt | Kind::Bge | Kind::Bltu | Kind::Bgeu => {
                let taken = match kind {
                    Kind::Beq => a == b,
                    Kind::Bne => a != b,
                    Kind::Blt => (a as i32) < b as i32,
                    Kind::Bge => a as i32 >= b as i32,
                    Kind::Bltu => a < b,
                    _ => a >= b,
                };
                if taken {
                    *next = jump;
                }
                return Ok(());
            }
            Kind::Jal => core::mem::replace(next, jump),
            Kind::Jalr => core::mem::replace(next, address & !1),
            Kind::Fence | Kind::FenceI => return Ok(()),
            Kind::Csrrw | Kind::Csrrs | Kind::Csrrc => self.csr_access(instr, a, platform)?,
            Kind::Csrrwi | Kind::Csrrsi | Kind::Csrrci => {
                self.csr_access(instr, u32::from(rs1), platform)?
            }
            Kind::Ecall => return Err((Cause::MachineCall, 0)),
            Kind::Ebreak => return Err((Cause::Breakpoint, self.pc)),
            Kind::Mret => {
                let csrs = &mut self.csrs;
                let mpie = csrs.mstatus & MSTATUS_MPIE;
                csrs.mstatus &= !(MSTATUS_MIE | MSTATUS_MPP);
                csrs.mstatus |= MSTATUS_MPIE | if mpie != 0 { MSTATUS_MIE } else { 0 };
                *next = csrs.mepc;
                return Ok(());
            }
            Kind::Wfi => {
                self.waiting = true;
                return Ok(());
            }
            Kind::Illegal => return Err((Cause::IllegalInstruction, imm as u32)),
        };
        self.set_reg(rd, value);
        Ok(())
    }

    fn csr_access<P: Platform>(
        &mut self,
        instr: Instr,
        operand: u32,
        platform: &mut P,
    ) -> Result<u32, (Cause, u32)> {
        let number = instr.imm as u16;
        let writes = matches!(instr.kind, Kind::Csrrw | Kind::Csrrwi) || instr.rs1 != 0;
        let reads = !matches!(instr.kind, Kind::Csrrw | Kind::Csrrwi) || instr.rd != 0;
        let illegal = (Cause::IllegalInstruction, 0);
        if writes && number >> 10 == 3 {
            return Err(illegal);
        }
        let owned = Csrs::owns(number);
        let old = match (reads, owned) {
            (false, _) => 0,
            (true, true) => self.csrs.read(number, self.cycle, self.instret),
            (true, false) => platform.csr_read(number, self.cycle).map_err(|_| illegal)?,
        };
        if writes {
            let new = match instr.kind {
                Kind::Csrrw | Kind::Csrrwi => operand,
                Kind::Csrrs | Kind::Csrrsi => old | operand,
                _ => old & !operand,
            };
            if owned {
                self.csrs.write(number, new, self.cycle, self.instret);
            } else {
                platform
                    .csr_write(number, new, self.cycle)
                    .map_err(|_| illegal)?;
            }
        }
        Ok(old)
    }

    fn load<P: Platform>(
        &mut self,
        addr: u32,
        width: Width,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<u32, (Cause, u32)> {
        let main = match width {
            Width::Byte => memory.load_main::<1>(addr).map(|[b]| u32::from(b)),
            Width::Half => memory
                .load_main(addr)
                .map(|b| u32::from(u16::from_le_bytes(b))),
            Width::Word => memory.load_main(addr).map(u32::from_le_bytes),
        };
        if let Some(value) = main {
            return Ok(value);
        }
        let len = width.bytes();
        if let Some((value, stall)) = memory.load_other(addr, len as usize) {
            self.cycle += u64::from(stall);
            return Ok(value);
        }
        if !addr.is_multiple_of(len) {
            return Err((Cause::LoadMisaligned, addr));
        }
        platform
            .load(addr, width, self.cycle)
            .map_err(|_| (Cause::LoadAccess, addr))
    }

    fn store<P: Platform>(
        &mut self,
        addr: u32,
        width: Width,
        value: u32,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<(), (Cause, u32)> {
        let len = width.bytes();
        let bytes = value.to_le_bytes();
        let mut stored = match width {
            Width::Byte => memory.store_main(addr, [value as u8]),
            Width::Half => memory.store_main(addr, (value as u16).to_le_bytes()),
            Width::Word => memory.store_main(addr, bytes),
        };
        if stored == Stored::Elsewhere {
            stored = memory.store_other(addr, &bytes[..len as usize]);
        }
        match stored {
            Stored::Plain => Ok(()),
            Stored::Marked => {
                if memory.store_effects(addr, len as usize) {
                    platform.watched_store(addr, width, value, self.cycle);
                }
                Ok(())
            }
            Stored::Elsewhere if !addr.is_multiple_of(len) => Err((Cause::StoreMisaligned, addr)),
            Stored::Elsewhere => platform
                .store(addr, width, value, self.cycle)
                .map_err(|_| (Cause::StoreAccess, addr)),
        }
    }
}

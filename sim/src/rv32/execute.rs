//! The straight path: one translated block after the other.
//!
//! Everything that a block costs is added up when it was translated, but for what depends on the
//! past: the branch-target buffer, the cache, and what the chip says. Only an operation that
//! reaches the chip asks for its own cycle; it is found from the operation's place in the block.

use super::block::{Block, Code, Context, Op, UNCACHED, UNLINKED};
use super::csr::{Csrs, MSTATUS_MIE, MSTATUS_MPIE, MSTATUS_MPP};
use super::hart::{Exit, Hart};
use super::instr::{Instr, Kind};
use super::platform::{Platform, Width};
use super::trap::Cause;
use crate::mem::{Memory, Stored};

/// What an operation did that left the fast path.
struct Detour {
    /// The value loaded.
    value: u32,
    /// Cycles that it took longer.
    stall: u32,
}

type Trap = (Cause, u32);

#[inline(always)]
fn reg(x: &[u32; 32], index: u8) -> u32 {
    x[usize::from(index & 31)]
}

#[inline(always)]
fn set(x: &mut [u32; 32], index: u8, value: u32) {
    x[usize::from(index & 31)] = value;
}

/// The upper half of a signed product.
fn mulh(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
}

/// The upper half of the product of a signed and an unsigned number.
fn mulhsu(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b)) >> 32) as u32
}

/// The upper half of an unsigned product.
fn mulhu(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

impl Hart {
    /// Runs blocks until `deadline` or the next thing that only [`Hart::run`] can do. The next
    /// instruction begins before the deadline, and no interrupt is to be taken before it.
    #[allow(clippy::cognitive_complexity)]
    pub(super) fn execute<P: Platform>(
        &mut self,
        memory: &mut Memory,
        platform: &mut P,
        mut deadline: u64,
    ) -> Exit {
        if self.code.is_stale(memory) {
            self.code.flush(memory);
        }
        let Some(mut id) = self.find(self.pc, memory) else {
            return Exit::Fault(Cause::InstructionAccess, self.pc);
        };
        let mut cycle = self.cycle;
        let mut instret = self.instret;
        loop {
            let Some(block) = self.code.blocks.get(id as usize) else {
                return Exit::Border;
            };
            if cycle + u64::from(block.last_begins) >= deadline {
                let pc = block.pc;
                (self.pc, self.cycle, self.instret) = (pc, cycle, instret);
                if cycle >= deadline {
                    return Exit::Border;
                }
                // As far as it goes, instruction by instruction. Of a single one, the first is
                // the last: `last_begins` is 0.
                let Some(single) = self.find_single(pc, memory) else {
                    return Exit::Fault(Cause::InstructionAccess, pc);
                };
                id = single;
                continue;
            }
            if block.lines[1] != self.fetch_line && block.lines[1] != UNCACHED {
                for line in block.lines {
                    if line != self.fetch_line {
                        self.fetch_line = line;
                        cycle += u64::from(memory.cache.access(line));
                    }
                }
                if cycle + u64::from(block.last_begins) >= deadline {
                    // The stall belongs to the first instruction, which had begun in time.
                    if let Some(single) = self.find_single(block.pc, memory) {
                        id = single;
                    }
                }
            }
            let Some(block) = self.code.blocks.get(id as usize) else {
                return Exit::Border;
            };
            let ops = &self.code.ops[block.first_op as usize..block.end_op as usize];
            let mut rest = ops.iter();
            let x = &mut self.x;

            /// Leaves the block before the current operation.
            macro_rules! trap {
                ($trap:expr) => {{
                    let (cause, value) = $trap;
                    let index = block.end_op as usize - rest.len() - 1;
                    let place = self.code.places[index];
                    self.pc = block.pc.wrapping_add(u32::from(place.offset));
                    self.cycle = cycle + u64::from(place.cycles);
                    self.instret = instret + u64::from(place.index);
                    return Exit::Fault(cause, value);
                }};
            }
            macro_rules! place {
                () => {
                    self.code.places[block.end_op as usize - rest.len() - 1]
                };
            }
            /// After an operation that took longer or asked the chip: leaves the block behind it
            /// if the deadline, an interrupt or changed code demands it.
            macro_rules! after {
                ($stall:expr) => {{
                    cycle += u64::from($stall);
                    deadline = platform.deadline();
                    let interrupted =
                        self.csrs.mstatus & MSTATUS_MIE != 0 && platform.interrupt().is_some();
                    if interrupted
                        || cycle + u64::from(block.last_begins) >= deadline
                        || self.code.is_stale(memory)
                    {
                        let place = place!();
                        self.pc = block.pc.wrapping_add(u32::from(place.offset + place.len));
                        self.cycle = cycle + u64::from(place.cycles + place.cost);
                        self.instret = instret + u64::from(place.index) + 1;
                        return Exit::Border;
                    }
                }};
            }
            macro_rules! load {
                ($op:expr, $n:literal, $width:expr, $extend:expr) => {{
                    let addr = reg(x, $op.rs1).wrapping_add($op.imm);
                    if let Some(bytes) = memory.load_main::<$n>(addr) {
                        set(x, $op.rd, $extend(bytes));
                    } else {
                        let at = cycle + u64::from(place!().cycles);
                        match load_elsewhere(addr, $width, memory, platform, at, &self.timing) {
                            Ok(Detour { value, stall }) => {
                                let [a, b, c, d] = value.to_le_bytes();
                                let bytes: [u8; 4] = [a, b, c, d];
                                let mut short = [0; $n];
                                short.copy_from_slice(&bytes[..$n]);
                                set(x, $op.rd, $extend(short));
                                after!(stall);
                            }
                            Err(trap) => trap!(trap),
                        }
                    }
                }};
            }
            macro_rules! store {
                ($op:expr, $ty:ty, $width:expr) => {{
                    let addr = reg(x, $op.rs1).wrapping_add($op.imm);
                    let value = reg(x, $op.rs2);
                    let stored = memory.store_main(addr, (value as $ty).to_le_bytes());
                    if stored != Stored::Plain {
                        let at = cycle + u64::from(place!().cycles);
                        let timing = &self.timing;
                        match store_elsewhere(
                            addr, $width, value, stored, memory, platform, at, timing,
                        ) {
                            Ok(stall) => after!(stall),
                            Err(trap) => trap!(trap),
                        }
                    }
                }};
            }
            macro_rules! alu {
                ($op:expr, $f:expr) => {{
                    let value = $f(reg(x, $op.rs1), reg(x, $op.rs2));
                    set(x, $op.rd, value);
                }};
            }
            macro_rules! alu_imm {
                ($op:expr, $f:expr) => {{
                    let value = $f(reg(x, $op.rs1), $op.imm);
                    set(x, $op.rd, value);
                }};
            }

            while let Some(op) = rest.next() {
                match op.code {
                    Code::Add => alu!(op, |a: u32, b| a.wrapping_add(b)),
                    Code::Sub => alu!(op, |a: u32, b| a.wrapping_sub(b)),
                    Code::Sll => alu!(op, |a: u32, b| a << (b & 31)),
                    Code::Slt => alu!(op, |a, b| u32::from((a as i32) < b as i32)),
                    Code::Sltu => alu!(op, |a: u32, b: u32| u32::from(a < b)),
                    Code::Xor => alu!(op, |a: u32, b| a ^ b),
                    Code::Srl => alu!(op, |a: u32, b| a >> (b & 31)),
                    Code::Sra => alu!(op, |a, b| (a as i32 >> (b & 31)) as u32),
                    Code::Or => alu!(op, |a: u32, b| a | b),
                    Code::And => alu!(op, |a: u32, b| a & b),
                    Code::Addi => alu_imm!(op, |a: u32, b| a.wrapping_add(b)),
                    Code::Slti => alu_imm!(op, |a, b| u32::from((a as i32) < b as i32)),
                    Code::Sltiu => alu_imm!(op, |a: u32, b: u32| u32::from(a < b)),
                    Code::Xori => alu_imm!(op, |a: u32, b| a ^ b),
                    Code::Ori => alu_imm!(op, |a: u32, b| a | b),
                    Code::Andi => alu_imm!(op, |a: u32, b| a & b),
                    Code::Slli => alu_imm!(op, |a: u32, b| a << (b & 31)),
                    Code::Srli => alu_imm!(op, |a: u32, b| a >> (b & 31)),
                    Code::Srai => alu_imm!(op, |a, b| (a as i32 >> (b & 31)) as u32),
                    Code::Const => set(x, op.rd, op.imm),
                    Code::Copy => set(x, op.rd, reg(x, op.rs1)),
                    Code::Mul => alu!(op, |a: u32, b| a.wrapping_mul(b)),
                    Code::Mulh => alu!(op, mulh),
                    Code::Mulhsu => alu!(op, mulhsu),
                    Code::Mulhu => alu!(op, mulhu),
                    Code::Div => alu!(op, |a, b| match b {
                        0 => u32::MAX,
                        _ => (a as i32).wrapping_div(b as i32) as u32,
                    }),
                    Code::Divu => alu!(op, |a: u32, b| a.checked_div(b).unwrap_or(u32::MAX)),
                    Code::Rem => alu!(op, |a, b| match b {
                        0 => a,
                        _ => (a as i32).wrapping_rem(b as i32) as u32,
                    }),
                    Code::Remu => alu!(op, |a: u32, b| a.checked_rem(b).unwrap_or(a)),
                    Code::Lb => load!(op, 1, Width::Byte, |[b]: [u8; 1]| b as i8 as u32),
                    Code::Lbu => load!(op, 1, Width::Byte, |[b]: [u8; 1]| u32::from(b)),
                    Code::Lh => load!(op, 2, Width::Half, |b| i16::from_le_bytes(b) as u32),
                    Code::Lhu => {
                        load!(op, 2, Width::Half, |b| u32::from(u16::from_le_bytes(b)));
                    }
                    Code::Lw => load!(op, 4, Width::Word, u32::from_le_bytes),
                    Code::Sb => store!(op, u8, Width::Byte),
                    Code::Sh => store!(op, u16, Width::Half),
                    Code::Sw => store!(op, u32, Width::Word),
                    Code::ChipRead => {
                        let at = cycle + u64::from(place!().cycles);
                        match platform.csr_read(op.imm as u16, at) {
                            Ok(value) => {
                                set(x, op.rd, value);
                                after!(0u32);
                            }
                            Err(_) => trap!((Cause::IllegalInstruction, 0)),
                        }
                    }
                    Code::Rare => {
                        let place = place!();
                        let at = cycle + u64::from(place.cycles);
                        let count = instret + u64::from(place.index);
                        let mut rare = Rare {
                            x,
                            csrs: &mut self.csrs,
                            reservation: &mut self.reservation,
                            timing: &self.timing,
                            cycle: at,
                            instret: count,
                        };
                        match rare.run(self.code.rare[op.imm as usize], memory, platform) {
                            Ok(stall) => after!(stall),
                            Err(trap) => trap!(trap),
                        }
                    }
                }
            }

            // The straight part is done: its end.
            cycle += u64::from(block.cycles);
            let (a, b) = (reg(x, block.rs1), reg(x, block.rs2));
            let taken = match block.end {
                Kind::Fence => false,
                Kind::Beq => a == b,
                Kind::Bne => a != b,
                Kind::Blt => (a as i32) < b as i32,
                Kind::Bge => a as i32 >= b as i32,
                Kind::Bltu => a < b,
                Kind::Bgeu => a >= b,
                Kind::Jal => {
                    if block.rd != 0 {
                        set(x, block.rd, block.fall_pc);
                    }
                    true
                }
                Kind::Jalr => {
                    let target = a.wrapping_add(block.imm) & !1;
                    if block.rd != 0 {
                        set(x, block.rd, block.fall_pc);
                    }
                    cycle += u64::from(block.taken_cycles);
                    instret += u64::from(block.instructions);
                    (self.pc, self.cycle, self.instret) = (target, cycle, instret);
                    if self.rom.contains(&target) {
                        return Exit::Border;
                    }
                    let Some(next) = self.find(target, memory) else {
                        return Exit::Fault(Cause::InstructionAccess, target);
                    };
                    if self.code.blocks[next as usize].straddled {
                        cycle += u64::from(self.timing.straddled_after_jump);
                    }
                    id = next;
                    continue;
                }
                _ => {
                    self.pc = block.end_pc;
                    self.cycle = cycle;
                    self.instret = instret + u64::from(block.instructions) - 1;
                    let (end, fall_pc, imm) = (block.end, block.fall_pc, block.imm);
                    return self.system(end, fall_pc, imm);
                }
            };
            instret += u64::from(block.instructions);
            let backward = block.backward || block.end == Kind::Jal;
            if backward {
                let known = self.predictor.knows(block.site);
                cycle += u64::from(match (taken, known) {
                    (true, true) => block.hit_cycles,
                    (true, false) => block.taken_cycles,
                    (false, _) => block.fall_cycles,
                });
                if !known {
                    self.predictor.allocate(block.site);
                }
            } else {
                cycle += u64::from(if taken {
                    block.taken_cycles
                } else {
                    block.fall_cycles
                });
                if block.special {
                    let is_branch = block.hit_cycles != 0;
                    let known = self.predictor.knows(block.next_site);
                    if taken && !is_branch && !known {
                        self.predictor.allocate(block.next_site);
                    } else if !taken && is_branch && !known {
                        cycle += u64::from(self.timing.branch_behind_branch);
                    }
                }
            }
            let (next, next_pc) = if taken {
                (block.taken, block.taken_pc)
            } else {
                (block.fall, block.fall_pc)
            };
            if next != UNLINKED {
                id = next;
                continue;
            }
            (self.pc, self.cycle, self.instret) = (next_pc, cycle, instret);
            if self.rom.contains(&next_pc) {
                return Exit::Border;
            }
            let Some(next) = self.find(next_pc, memory) else {
                return Exit::Fault(Cause::InstructionAccess, next_pc);
            };
            let block = &mut self.code.blocks[id as usize];
            *(if taken {
                &mut block.taken
            } else {
                &mut block.fall
            }) = next;
            id = next;
        }
    }

    fn find(&mut self, pc: u32, memory: &mut Memory) -> Option<u32> {
        let Self {
            code,
            timing,
            predictor,
            ..
        } = self;
        code.find(
            pc,
            Context {
                memory,
                timing,
                predictor,
            },
        )
    }

    fn find_single(&mut self, pc: u32, memory: &mut Memory) -> Option<u32> {
        let Self {
            code,
            timing,
            predictor,
            ..
        } = self;
        code.find_single(
            pc,
            Context {
                memory,
                timing,
                predictor,
            },
        )
    }

    /// A block end that is neither branch nor jump; [`Hart::run`] looks at interrupts next.
    #[cold]
    fn system(&mut self, end: Kind, fall_pc: u32, imm: u32) -> Exit {
        match end {
            Kind::Mret => {
                let csrs = &mut self.csrs;
                let enable = csrs.mstatus & MSTATUS_MPIE != 0;
                csrs.mstatus &= !(MSTATUS_MIE | MSTATUS_MPP);
                csrs.mstatus |= MSTATUS_MPIE | if enable { MSTATUS_MIE } else { 0 };
                self.pc = csrs.mepc;
                self.cycle += u64::from(self.timing.mret);
            }
            Kind::Wfi => {
                self.waiting = true;
                self.pc = fall_pc;
                self.cycle += 1;
            }
            // Translated code follows every store at once; nothing is left to do.
            Kind::FenceI => {
                self.pc = fall_pc;
                self.cycle += u64::from(self.timing.fence);
            }
            Kind::Ecall => return Exit::Fault(Cause::MachineCall, 0),
            Kind::Ebreak => return Exit::Fault(Cause::Breakpoint, self.pc),
            _ => return Exit::Fault(Cause::IllegalInstruction, imm),
        }
        self.instret += 1;
        Exit::Border
    }
}

/// A load that the main RAM does not answer, or not in one access.
#[cold]
#[inline(never)]
fn load_elsewhere<P: Platform>(
    addr: u32,
    width: Width,
    memory: &mut Memory,
    platform: &mut P,
    at: u64,
    timing: &super::Timing,
) -> Result<Detour, Trap> {
    let len = width.bytes();
    let misaligned = if addr.is_multiple_of(len) {
        0
    } else {
        timing.misaligned
    };
    if let Some((value, stall)) = memory.load_any(addr, len as usize) {
        return Ok(Detour {
            value,
            stall: stall + misaligned,
        });
    }
    if !addr.is_multiple_of(len) {
        return Err((Cause::LoadMisaligned, addr));
    }
    match platform.load(addr, width, at) {
        Ok(value) => Ok(Detour {
            value,
            stall: timing.mmio_load,
        }),
        Err(_) => Err((Cause::LoadAccess, addr)),
    }
}

/// A store that the main RAM does not take, or that somebody wants to know of.
#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn store_elsewhere<P: Platform>(
    addr: u32,
    width: Width,
    value: u32,
    mut stored: Stored,
    memory: &mut Memory,
    platform: &mut P,
    at: u64,
    timing: &super::Timing,
) -> Result<u32, Trap> {
    let len = width.bytes();
    let aligned = addr.is_multiple_of(len);
    let misaligned = if aligned { 0 } else { timing.misaligned };
    if stored == Stored::Elsewhere {
        stored = memory.store_any(addr, &value.to_le_bytes()[..len as usize]);
    }
    match stored {
        Stored::Plain => Ok(misaligned),
        Stored::Marked => {
            if memory.store_effects(addr, len as usize) {
                platform.watched_store(addr, width, value, at);
            }
            Ok(misaligned)
        }
        Stored::Elsewhere if memory.kind(addr).is_some() => Err((Cause::StoreAccess, addr)),
        Stored::Elsewhere if !aligned => Err((Cause::StoreMisaligned, addr)),
        Stored::Elsewhere => match platform.store(addr, width, value, at) {
            Ok(()) => Ok(timing.mmio_store),
            Err(_) => Err((Cause::StoreAccess, addr)),
        },
    }
}

/// What a rare instruction may touch.
struct Rare<'a> {
    x: &'a mut [u32; 32],
    csrs: &'a mut Csrs,
    reservation: &'a mut Option<u32>,
    timing: &'a super::Timing,
    /// When the instruction begins.
    cycle: u64,
    /// Instructions before it.
    instret: u64,
}

impl Rare<'_> {
    /// Executes `instr`; the answer is by how many cycles it took longer.
    #[inline(never)]
    fn run<P: Platform>(
        &mut self,
        instr: Instr,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        let Instr {
            kind,
            rd,
            rs1,
            rs2,
            imm,
        } = instr;
        let a = reg(self.x, rs1);
        let b = reg(self.x, rs2);
        let (value, stall) = match kind {
            Kind::Csrrw | Kind::Csrrs | Kind::Csrrc => (self.csr(instr, a, platform)?, 0),
            Kind::Csrrwi | Kind::Csrrsi | Kind::Csrrci => {
                (self.csr(instr, u32::from(rs1), platform)?, 0)
            }
            Kind::LrW if a & 3 != 0 => return Err((Cause::LoadMisaligned, a)),
            Kind::LrW => {
                let loaded = self.load(a, memory, platform)?;
                *self.reservation = Some(a);
                loaded
            }
            // A load without destination: only the access counts.
            kind if kind.is_load() => {
                let width = match kind {
                    Kind::Lb | Kind::Lbu => Width::Byte,
                    Kind::Lh | Kind::Lhu => Width::Half,
                    _ => Width::Word,
                };
                let addr = a.wrapping_add(imm as u32);
                let Detour { stall, .. } =
                    load_elsewhere(addr, width, memory, platform, self.cycle, self.timing)?;
                (0, stall)
            }
            _ if a & 3 != 0 => return Err((Cause::StoreMisaligned, a)),
            Kind::ScW => {
                if self.reservation.take() == Some(a) {
                    (0, self.store(a, b, memory, platform)?)
                } else {
                    (1, 0)
                }
            }
            _ => {
                let (old, stall) = self
                    .load(a, memory, platform)
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
                (old, stall + self.store(a, new, memory, platform)?)
            }
        };
        if rd != 0 {
            set(self.x, rd, value);
        }
        Ok(stall)
    }

    fn load<P: Platform>(
        &self,
        addr: u32,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<(u32, u32), Trap> {
        if let Some(bytes) = memory.load_main(addr) {
            return Ok((u32::from_le_bytes(bytes), 0));
        }
        let Detour { value, stall } =
            load_elsewhere(addr, Width::Word, memory, platform, self.cycle, self.timing)?;
        Ok((value, stall))
    }

    fn store<P: Platform>(
        &self,
        addr: u32,
        value: u32,
        memory: &mut Memory,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        match memory.store_main(addr, value.to_le_bytes()) {
            Stored::Plain => Ok(0),
            stored => store_elsewhere(
                addr,
                Width::Word,
                value,
                stored,
                memory,
                platform,
                self.cycle,
                self.timing,
            ),
        }
    }

    fn csr<P: Platform>(
        &mut self,
        instr: Instr,
        operand: u32,
        platform: &mut P,
    ) -> Result<u32, Trap> {
        let number = instr.imm as u16;
        let swap = matches!(instr.kind, Kind::Csrrw | Kind::Csrrwi);
        let writes = swap || instr.rs1 != 0;
        let reads = !swap || instr.rd != 0;
        let illegal = (Cause::IllegalInstruction, 0);
        // The top two bits of the number say "read-only" (volume II, 2.1).
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
}

// The fast path lives off these being small.
const _: () = assert!(size_of::<Op>() == 8 && size_of::<Block>() <= 112);

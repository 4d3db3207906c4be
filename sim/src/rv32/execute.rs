//! The straight path: one translated block after the other.
//!
//! Everything that a block costs was added up when it was translated, but for what depends on the
//! past: the branch-target buffer, the cache, and what the chip says. Only an operation that
//! reaches the chip needs to know its own cycle; it is found from the operation's place.

use super::arith::{div, mulh, mulhsu, mulhu, rem};
use super::block::{Context, NO_SITE, UNCACHED};
use super::csr::MSTATUS_MIE;
use super::elsewhere::{Access, Rare, Trap, load_elsewhere, store_elsewhere};
use super::hart::{Exit, Hart};
use super::op::{Code, SINK};
use super::platform::{IllegalCsr, Platform, Width};
use super::trap::Cause;
use crate::mem::{Memory, Stored};

impl Hart {
    /// Runs blocks until `deadline` or the next thing that only [`Hart::run`] can do. The next
    /// instruction begins before the deadline, and no interrupt is to be taken before it.
    #[expect(
        clippy::cognitive_complexity,
        reason = "one big match, flat on purpose"
    )]
    pub(super) fn execute<P: Platform>(
        &mut self,
        memory: &mut Memory,
        platform: &mut P,
        mut deadline: u64,
    ) -> Exit {
        if self.code.is_stale(memory) {
            self.code.flush(memory);
        }
        let Some(id) = self.find(self.pc, memory) else {
            return Exit::Fault(Cause::InstructionAccess, self.pc);
        };
        let mut cycle = self.cycle;
        let mut instret = self.instret;
        let mut block = &self.code.blocks[id as usize];
        'blocks: loop {
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
                block = &self.code.blocks[single as usize];
            }
            if block.line != UNCACHED && block.line != self.fetch_line {
                let mut stall = 0;
                if block.first_line != block.line && block.first_line != self.fetch_line {
                    stall = memory.cache.access(block.first_line);
                }
                stall += memory.cache.access(block.line);
                self.fetch_line = block.line;
                cycle += u64::from(stall);
                if stall != 0 {
                    // Fetched; whether it still begins in time is another matter.
                    continue;
                }
            }
            let x = &mut self.x;
            let mut rest = block.ops.iter();

            /// Where the current operation lies.
            macro_rules! place {
                () => {
                    block.places[block.ops.len() - rest.len() - 1]
                };
            }
            /// Leaves the block before the current operation.
            macro_rules! trap {
                ($trap:expr) => {{
                    let (cause, value): Trap = $trap;
                    let place = place!();
                    self.pc = block.pc.wrapping_add(u32::from(place.offset));
                    self.cycle = cycle + u64::from(place.cycles);
                    self.instret = instret + u64::from(place.index);
                    return Exit::Fault(cause, value);
                }};
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
                    let addr = x[$op.rs1].wrapping_add($op.imm);
                    if let Some(bytes) = memory.load_main::<$n>(addr) {
                        x[$op.rd] = $extend(bytes);
                    } else if let Some((bytes, stall)) = memory.load_other::<$n>(addr) {
                        x[$op.rd] = $extend(bytes);
                        if stall != 0 {
                            after!(stall);
                        }
                    } else {
                        let at = cycle + u64::from(place!().cycles);
                        let access = Access {
                            addr,
                            width: $width,
                            at,
                        };
                        match load_elsewhere(access, memory, platform, &self.timing) {
                            Ok((value, stall)) => {
                                x[$op.rd] = $extend(low_bytes(value));
                                after!(stall);
                            }
                            Err(trap) => trap!(trap),
                        }
                    }
                }};
            }
            macro_rules! store {
                ($op:expr, $ty:ty, $width:expr) => {{
                    let addr = x[$op.rs1].wrapping_add($op.imm);
                    let value = x[$op.rs2];
                    let stored = memory.store_main(addr, (value as $ty).to_le_bytes());
                    if stored != Stored::Plain {
                        let at = cycle + u64::from(place!().cycles);
                        let access = Access {
                            addr,
                            width: $width,
                            at,
                        };
                        let timing = &self.timing;
                        match store_elsewhere(access, value, stored, memory, platform, timing) {
                            Ok(stall) => after!(stall),
                            Err(trap) => trap!(trap),
                        }
                    }
                }};
            }
            macro_rules! alu {
                ($op:expr, $f:expr) => {
                    x[$op.rd] = $f(x[$op.rs1], x[$op.rs2])
                };
            }
            macro_rules! alu_imm {
                ($op:expr, $f:expr) => {
                    x[$op.rd] = $f(x[$op.rs1], $op.imm)
                };
            }
            macro_rules! side {
                ($op:expr, $f:expr) => {
                    if $f(x[$op.rs1], x[$op.rs2]) {
                        break $op.imm as usize;
                    }
                };
            }
            macro_rules! end {
                ($op:expr, $f:expr) => {
                    break usize::from($f(x[$op.rs1], x[$op.rs2]))
                };
            }
            macro_rules! addi_branch {
                ($op:expr, $f:expr) => {{
                    x[$op.rd] = x[$op.rd].wrapping_add($op.imm);
                    end!($op, $f);
                }};
            }

            // By which edge the block is left.
            let exit: usize = loop {
                let Some(op) = rest.next() else { break 0 };
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
                    Code::Const => x[op.rd] = op.imm,
                    Code::Copy => x[op.rd] = x[op.rs1],
                    Code::CopyCopy => {
                        x[op.rd] = x[op.rs1];
                        x[op.imm as u8] = x[(op.imm >> 8) as u8];
                    }
                    Code::SlliAdd => {
                        x[op.rd] = (x[op.rs1] << (op.imm & 31)).wrapping_add(x[op.rs2]);
                    }
                    Code::SlliOr => x[op.rd] = x[op.rs1] << (op.imm & 31) | x[op.rs2],
                    Code::SrliXor => x[op.rd] = x[op.rs1] >> (op.imm & 31) ^ x[op.rs2],
                    Code::SrliAdd => {
                        x[op.rd] = (x[op.rs1] >> (op.imm & 31)).wrapping_add(x[op.rs2]);
                    }
                    Code::SlliSrli => x[op.rd] = x[op.rs1] << (op.imm & 31) >> (op.rs2 & 31),
                    Code::SrliAndi => x[op.rd] = x[op.rs1] >> (op.rs2 & 31) & op.imm,
                    Code::XorAndi => x[op.rd] = (x[op.rs1] ^ x[op.rs2]) & op.imm,
                    Code::Mul => alu!(op, |a: u32, b| a.wrapping_mul(b)),
                    Code::Mulh => alu!(op, mulh),
                    Code::Mulhsu => alu!(op, mulhsu),
                    Code::Mulhu => alu!(op, mulhu),
                    Code::Div => alu!(op, div),
                    Code::Divu => alu!(op, |a: u32, b| a.checked_div(b).unwrap_or(u32::MAX)),
                    Code::Rem => alu!(op, rem),
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
                        let Ok(value) = platform.csr_read(op.imm as u16, at) else {
                            trap!((Cause::IllegalInstruction, 0));
                        };
                        x[op.rd] = value;
                        after!(0u32);
                    }
                    Code::ChipCsr => {
                        let at = cycle + u64::from(place!().cycles);
                        let (number, funct3) = (op.imm as u16 & 0xfff, op.imm >> 12);
                        let operand = if funct3 & 4 != 0 {
                            u32::from(op.rs1)
                        } else {
                            x[op.rs1]
                        };
                        let done = (|| {
                            let mut old = 0;
                            if funct3 & 3 != 1 || op.rd != SINK {
                                old = platform.csr_read(number, at)?;
                            }
                            let new = match funct3 & 3 {
                                1 => operand,
                                2 => old | operand,
                                _ => old & !operand,
                            };
                            platform.csr_write(number, new, at)?;
                            Ok::<_, IllegalCsr>(old)
                        })();
                        let Ok(old) = done else {
                            trap!((Cause::IllegalInstruction, 0));
                        };
                        x[op.rd] = old;
                        after!(0u32);
                    }
                    Code::Rare => {
                        let place = place!();
                        let mut rare = Rare {
                            x,
                            csrs: &mut self.csrs,
                            reservation: &mut self.reservation,
                            timing: &self.timing,
                            cycle: cycle + u64::from(place.cycles),
                            instret: instret + u64::from(place.index),
                        };
                        match rare.run(block.rare[op.imm as usize], memory, platform) {
                            Ok(stall) => after!(stall),
                            Err(trap) => trap!(trap),
                        }
                    }
                    Code::Line => {
                        if op.imm != self.fetch_line {
                            self.fetch_line = op.imm;
                            let stall = memory.cache.access(op.imm);
                            cycle += u64::from(stall);
                            if stall != 0 && cycle + u64::from(block.last_begins) >= deadline {
                                let place = place!();
                                self.pc = block.pc.wrapping_add(u32::from(place.offset));
                                self.cycle = cycle + u64::from(place.cycles);
                                self.instret = instret + u64::from(place.index);
                                return Exit::Border;
                            }
                        }
                    }
                    Code::SideBeq => side!(op, |a, b| a == b),
                    Code::SideBne => side!(op, |a, b| a != b),
                    Code::SideBlt => side!(op, |a, b| (a as i32) < b as i32),
                    Code::SideBge => side!(op, |a, b| a as i32 >= b as i32),
                    Code::SideBltu => side!(op, |a, b| a < b),
                    Code::SideBgeu => side!(op, |a, b| a >= b),
                    Code::AndiSideBeqz => {
                        x[op.rd] = x[op.rs1] & op.imm;
                        if x[op.rd] == 0 {
                            break usize::from(op.rs2);
                        }
                    }
                    Code::AndiSideBnez => {
                        x[op.rd] = x[op.rs1] & op.imm;
                        if x[op.rd] != 0 {
                            break usize::from(op.rs2);
                        }
                    }
                    Code::Beq => end!(op, |a, b| a == b),
                    Code::Bne => end!(op, |a, b| a != b),
                    Code::Blt => end!(op, |a, b| (a as i32) < b as i32),
                    Code::Bge => end!(op, |a, b| a as i32 >= b as i32),
                    Code::Bltu => end!(op, |a, b| a < b),
                    Code::Bgeu => end!(op, |a, b| a >= b),
                    Code::AddiBeq => addi_branch!(op, |a: u32, b| a == b),
                    Code::AddiBne => addi_branch!(op, |a: u32, b| a != b),
                    Code::AddiBltu => addi_branch!(op, |a: u32, b| a < b),
                    Code::AddiBgeu => addi_branch!(op, |a: u32, b| a >= b),
                    Code::AndiBeqz => {
                        x[op.rd] = x[op.rs1] & op.imm;
                        break usize::from(x[op.rd] == 0);
                    }
                    Code::AndiBnez => {
                        x[op.rd] = x[op.rs1] & op.imm;
                        break usize::from(x[op.rd] != 0);
                    }
                    Code::Jal => {
                        x[op.rd] = block.edges[0].pc;
                        break 1;
                    }
                    Code::Jalr => {
                        let target = x[op.rs1].wrapping_add(op.imm) & !1;
                        x[op.rd] = block.edges[0].pc;
                        cycle += u64::from(block.edges[1].cycles);
                        instret += u64::from(block.edges[1].instructions);
                        (self.pc, self.cycle, self.instret) = (target, cycle, instret);
                        if self.rom.contains(&target) {
                            return Exit::Border;
                        }
                        let Some(next) = self.find(target, memory) else {
                            return Exit::Fault(Cause::InstructionAccess, target);
                        };
                        block = &self.code.blocks[next as usize];
                        if block.straddled {
                            cycle += u64::from(self.timing.straddled_after_jump);
                        }
                        continue 'blocks;
                    }
                    Code::System => {
                        self.pc = block.end_pc;
                        self.cycle = cycle + u64::from(block.last_begins);
                        self.instret = instret + u64::from(block.edges[0].instructions) - 1;
                        let (kind, next) = (block.end.kind, block.edges[0].pc);
                        let value = block.end.imm as u32;
                        return self.system(kind, next, value);
                    }
                }
            };

            let edge = &block.edges[exit];
            let mut cycles = edge.cycles;
            if exit < 2 && block.site != NO_SITE && !self.predictor.knows(block.site) {
                self.predictor.allocate(block.site);
                if exit == 1 {
                    cycles = block.missed;
                }
            }
            if edge.decoded != NO_SITE {
                self.predictor.decode(edge.decoded);
            }
            cycle += u64::from(cycles);
            instret += u64::from(edge.instructions);
            if let Some(next) = self.code.blocks.get(edge.link as usize) {
                block = next;
                continue;
            }
            let (id, pc) = (block.id, edge.pc);
            (self.pc, self.cycle, self.instret) = (pc, cycle, instret);
            if self.rom.contains(&pc) {
                return Exit::Border;
            }
            let Some(next) = self.find(pc, memory) else {
                return Exit::Fault(Cause::InstructionAccess, pc);
            };
            self.code.blocks[id as usize].edges[exit].link = next;
            block = &self.code.blocks[next as usize];
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
}

/// The lowest bytes of a loaded value.
fn low_bytes<const N: usize>(value: u32) -> [u8; N] {
    let bytes = value.to_le_bytes();
    core::array::from_fn(|i| bytes[i])
}

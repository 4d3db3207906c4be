//! Translated code: straight runs of instructions, decoded once, linked to what follows them.

use super::decode::{decode, length};
use super::instr::{Instr, Kind};
use super::predict::Predictor;
use super::timing::Timing;
use crate::mem::{Memory, RegionKind};

/// Longest run of instructions in a block.
const MAX_INSTRUCTIONS: u32 = 64;

/// No block: a link that was not followed yet.
pub(super) const UNLINKED: u32 = u32::MAX;
/// The code does not lie behind the cache.
pub(super) const UNCACHED: u32 = u32::MAX;
/// Not a jump that the branch-target buffer looks after.
pub(super) const NO_SITE: u32 = u32::MAX;

/// What an operation in the straight part of a block does: [`Kind`] without the block ends and
/// without what needs no work, and with operations made of two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Code {
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    Addi,
    Slti,
    Sltiu,
    Xori,
    Ori,
    Andi,
    Slli,
    Srli,
    Srai,
    /// `lui`, `auipc`, `li`, and `lui` + `addi`.
    Const,
    /// `mv`.
    Copy,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
    Div,
    Divu,
    Rem,
    Remu,
    Lb,
    Lh,
    Lw,
    Lbu,
    Lhu,
    Sb,
    Sh,
    Sw,
    /// A CSR of the chip, only read.
    ChipRead,
    /// Everything that is rare: executed from the whole instruction in the side table.
    Rare,
}

/// One operation, eight to a cache line of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) code: Code,
    pub(super) rd: u8,
    pub(super) rs1: u8,
    pub(super) rs2: u8,
    pub(super) imm: u32,
}

/// Where an operation lies: needed only when the hart leaves the fast path there. Relative to its
/// block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Bytes from the block's first instruction.
    pub(super) offset: u16,
    /// Instructions before this one.
    pub(super) index: u16,
    /// Cycles before this one, without stalls.
    pub(super) cycles: u32,
    /// Bytes to the next instruction.
    pub(super) len: u16,
    /// Cycles of the operation, if it is a single instruction.
    pub(super) cost: u32,
}

/// A run of instructions that is entered only at its top.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// First operation in [`Code`]'s arena.
    pub(super) first_op: u32,
    /// One past the last. The place of that index is the block end's.
    pub(super) end_op: u32,
    /// Cycles of the straight part.
    pub(super) cycles: u32,
    /// Cycles before the last instruction.
    pub(super) last_begins: u32,
    /// The cache lines of the first instruction, [`UNCACHED`] if there is no cache. The rest of
    /// the block lies in the second.
    pub(super) lines: [u32; 2],
    /// Instructions, the end included.
    pub(super) instructions: u32,
    /// How the block ends; [`Kind::Fence`] if it just goes on.
    pub(super) end: Kind,
    pub(super) rd: u8,
    pub(super) rs1: u8,
    pub(super) rs2: u8,
    /// A branch predicted taken.
    pub(super) backward: bool,
    /// The first instruction straddles a word.
    pub(super) straddled: bool,
    /// What follows is a matter of rule 4 or 6.
    pub(super) special: bool,
    /// Cycles of the end if it jumps as the buffer said.
    pub(super) hit_cycles: u32,
    /// Cycles of the end if it jumps otherwise.
    pub(super) taken_cycles: u32,
    /// Cycles of the end if it does not jump.
    pub(super) fall_cycles: u32,
    /// This jump in the branch-target buffer.
    pub(super) site: u32,
    /// The jump directly behind a conditional branch.
    pub(super) next_site: u32,
    pub(super) taken_pc: u32,
    pub(super) fall_pc: u32,
    pub(super) taken: u32,
    pub(super) fall: u32,
    pub(super) pc: u32,
    pub(super) end_pc: u32,
    pub(super) imm: u32,
}

/// Block number by address: a table of tables, so that it costs memory only where code is.
#[derive(Debug)]
struct Index {
    pages: Vec<Box<[u32]>>,
    by_page: Box<[u32]>,
}

impl Index {
    const PAGE_SHIFT: u32 = 14;

    fn new() -> Self {
        let by_page = vec![0; 1 << (32 - Self::PAGE_SHIFT)].into_boxed_slice();
        Self {
            pages: Vec::new(),
            by_page,
        }
    }

    fn slot(pc: u32) -> usize {
        (pc as usize & ((1 << Self::PAGE_SHIFT) - 1)) >> 1
    }

    #[inline]
    fn get(&self, pc: u32) -> Option<u32> {
        let page = self.by_page[(pc >> Self::PAGE_SHIFT) as usize];
        let page = self.pages.get((page as usize).wrapping_sub(1))?;
        let id = page[Self::slot(pc)];
        (id != UNLINKED).then_some(id)
    }

    fn set(&mut self, pc: u32, id: u32) {
        let page = &mut self.by_page[(pc >> Self::PAGE_SHIFT) as usize];
        if *page == 0 {
            self.pages
                .push(vec![UNLINKED; 1 << (Self::PAGE_SHIFT - 1)].into_boxed_slice());
            *page = self.pages.len() as u32;
        }
        self.pages[*page as usize - 1][Self::slot(pc)] = id;
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.by_page.fill(0);
    }
}

/// All translated code of a hart.
#[derive(Debug)]
pub(super) struct Translations {
    pub(super) blocks: Vec<Block>,
    pub(super) ops: Vec<Op>,
    pub(super) places: Vec<Place>,
    /// Instructions behind [`Code::Rare`].
    pub(super) rare: Vec<Instr>,
    /// Blocks as long as possible.
    long: Index,
    /// Blocks of one instruction, for the way up to a deadline.
    single: Index,
    /// [`Memory::code_generation`] that this was translated from.
    generation: u64,
}

/// What translating needs to know about the hart.
pub(super) struct Context<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) timing: &'a Timing,
    pub(super) predictor: &'a mut Predictor,
}

impl Translations {
    pub(super) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            ops: Vec::new(),
            places: Vec::new(),
            rare: Vec::new(),
            long: Index::new(),
            single: Index::new(),
            generation: 0,
        }
    }

    /// Whether code changed since it was translated.
    pub(super) fn is_stale(&self, memory: &Memory) -> bool {
        self.generation != memory.code_generation()
    }

    /// Forgets everything.
    pub(super) fn flush(&mut self, memory: &mut Memory) {
        self.blocks.clear();
        self.ops.clear();
        self.places.clear();
        self.rare.clear();
        self.long.clear();
        self.single.clear();
        memory.clear_code();
        self.generation = memory.code_generation();
    }

    /// The block that begins at `pc`; `None` if nothing can be fetched there.
    #[inline]
    pub(super) fn find(&mut self, pc: u32, context: Context<'_>) -> Option<u32> {
        match self.long.get(pc) {
            Some(id) => Some(id),
            None => self.translate(pc, false, context),
        }
    }

    /// The block of the single instruction at `pc`.
    pub(super) fn find_single(&mut self, pc: u32, context: Context<'_>) -> Option<u32> {
        match self.single.get(pc) {
            Some(id) => Some(id),
            None => self.translate(pc, true, context),
        }
    }

    #[cold]
    #[inline(never)]
    fn translate(&mut self, pc: u32, single: bool, context: Context<'_>) -> Option<u32> {
        let block = Translator {
            code: self,
            context,
        }
        .block(pc, single)?;
        let id = self.blocks.len() as u32;
        self.blocks.push(block);
        let index = if single {
            &mut self.single
        } else {
            &mut self.long
        };
        index.set(pc, id);
        Some(id)
    }
}

/// The instruction at `pc` and its length; `None` if it cannot be fetched.
pub(super) fn fetch(memory: &Memory, pc: u32) -> Option<(Instr, u32)> {
    let low = memory.read_u16(pc)?;
    let high = if length(low) == 4 {
        memory.read_u16(pc.wrapping_add(2))?
    } else {
        0
    };
    Some(decode(u32::from(high) << 16 | u32::from(low)))
}

struct Translator<'a, 'b> {
    code: &'a mut Translations,
    context: Context<'b>,
}

impl Translator<'_, '_> {
    fn block(&mut self, pc: u32, single: bool) -> Option<Block> {
        let (mut instr, mut len) = fetch(self.context.memory, pc)?;
        let lines = self.lines(pc, len);
        let first_op = self.code.ops.len() as u32;
        let mut here = pc;
        let mut index = 0;
        let mut cycles = 0;
        let mut last_begins = 0;
        let limit = if single { 1 } else { MAX_INSTRUCTIONS };
        let mut following = fetch(self.context.memory, pc.wrapping_add(len));
        while !instr.kind.ends_block() {
            let cost = self.cycles(instr, following.map(|(next, _)| next));
            let offset = here.wrapping_sub(pc) as u16;
            let place = Place {
                offset,
                index: index as u16,
                cycles,
                len: len as u16,
                cost,
            };
            self.push(instr, here, place, !single);
            last_begins = cycles;
            cycles += cost;
            index += 1;
            here = here.wrapping_add(len);
            match following {
                Some((next, next_len))
                    if index < limit && self.same_line(lines[1], here, next_len) =>
                {
                    (instr, len) = (next, next_len);
                }
                // The block ends before the next instruction.
                _ => {
                    instr = Instr {
                        kind: Kind::Fence,
                        rd: 0,
                        rs1: 0,
                        rs2: 0,
                        imm: 0,
                    };
                    len = 0;
                    break;
                }
            }
            following = fetch(self.context.memory, here.wrapping_add(len));
        }
        let end_op = self.code.ops.len() as u32;
        let offset = here.wrapping_sub(pc);
        // The place of the end.
        self.code.ops.push(Op {
            code: Code::Copy,
            rd: 0,
            rs1: 0,
            rs2: 0,
            imm: 0,
        });
        let place = Place {
            offset: offset as u16,
            index: index as u16,
            cycles,
            len: len as u16,
            cost: 0,
        };
        self.code.places.push(place);
        // The instruction after the end shaped the block, too.
        self.context.memory.mark_code(pc, (offset + len) as usize);
        self.context.memory.mark_code(here.wrapping_add(len), 4);
        let mut block = Block {
            first_op,
            end_op,
            cycles,
            last_begins: if len == 0 { last_begins } else { cycles },
            lines,
            instructions: index + u32::from(len != 0),
            end: instr.kind,
            rd: instr.rd,
            rs1: instr.rs1,
            rs2: instr.rs2,
            backward: false,
            straddled: straddles(self.context.memory, pc),
            special: false,
            hit_cycles: 0,
            taken_cycles: 0,
            fall_cycles: 0,
            site: NO_SITE,
            next_site: NO_SITE,
            taken_pc: here.wrapping_add(instr.imm as u32),
            fall_pc: here.wrapping_add(len),
            taken: UNLINKED,
            fall: UNLINKED,
            pc,
            end_pc: here,
            imm: instr.imm as u32,
        };
        self.end(&mut block, instr, here);
        Some(block)
    }

    /// Fills in what the block's last instruction costs.
    fn end(&mut self, block: &mut Block, instr: Instr, here: u32) {
        let Timing {
            mispredicted,
            jump_hit,
            jump_miss,
            ..
        } = *self.context.timing;
        let timing = *self.context.timing;
        let (taken_pc, fall_pc) = (block.taken_pc, block.fall_pc);
        match instr.kind {
            Kind::Jal => {
                block.site = self.context.predictor.site(here);
                block.hit_cycles = jump_hit + self.lands_on_jump(taken_pc);
                block.taken_cycles =
                    jump_miss + self.straddle(taken_pc, timing.straddled_after_jump);
            }
            Kind::Jalr => block.taken_cycles = timing.indirect_jump,
            kind if kind.is_branch() => {
                let wrong = |this: &mut Self, pc| {
                    mispredicted + this.straddle(pc, timing.straddled_after_branch)
                };
                // A branch to itself counts as backward.
                block.backward = instr.imm <= 0;
                if block.backward {
                    block.site = self.context.predictor.site(here);
                    block.hit_cycles = jump_hit + self.lands_on_jump(taken_pc);
                    block.taken_cycles =
                        jump_miss + self.straddle(taken_pc, timing.straddled_after_jump);
                    block.fall_cycles = wrong(self, fall_pc);
                } else {
                    block.taken_cycles = wrong(self, taken_pc);
                    block.fall_cycles = 1;
                    if let Some((next, _)) = fetch(self.context.memory, fall_pc) {
                        let jump = next.kind == Kind::Jal;
                        let branch = next.kind.is_branch() && next.imm <= 0;
                        if jump || branch {
                            block.special = true;
                            block.next_site = self.context.predictor.site(fall_pc);
                            // Rule 4 is about jumps, rule 6 about branches.
                            block.hit_cycles = u32::from(branch);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Rule 5: what a predicted jump to `pc` costs more.
    fn lands_on_jump(&mut self, pc: u32) -> u32 {
        self.context.memory.mark_code(pc, 4);
        let lands = fetch(self.context.memory, pc).is_some_and(|(i, _)| i.kind == Kind::Jal);
        if lands {
            self.context.timing.jump_to_jump
        } else {
            0
        }
    }

    /// Rule 7: `cycles` if the instruction at `pc` straddles a word.
    fn straddle(&mut self, pc: u32, cycles: u32) -> u32 {
        self.context.memory.mark_code(pc, 4);
        let straddles = straddles(self.context.memory, pc);
        if straddles { cycles } else { 0 }
    }

    /// Cycles of an instruction in the straight part of a block.
    fn cycles(&self, instr: Instr, next: Option<Instr>) -> u32 {
        let timing = self.context.timing;
        match instr.kind {
            kind if kind.is_load() => {
                let used = next.is_some_and(|next| next.uses(instr.rd));
                1 + if used { timing.load_use } else { 0 }
            }
            Kind::Mul => timing.mul,
            Kind::Mulh | Kind::Mulhsu | Kind::Mulhu => timing.mulh,
            Kind::Div | Kind::Divu | Kind::Rem | Kind::Remu => timing.div,
            Kind::Csrrw
            | Kind::Csrrs
            | Kind::Csrrc
            | Kind::Csrrwi
            | Kind::Csrrsi
            | Kind::Csrrci => timing.csr,
            Kind::Fence => timing.fence,
            kind if kind as u8 >= Kind::LrW as u8 && kind as u8 <= Kind::AmomaxuW as u8 => {
                timing.amo
            }
            _ => 1,
        }
    }

    /// The cache lines that an instruction lies in.
    fn lines(&self, pc: u32, len: u32) -> [u32; 2] {
        let memory = &*self.context.memory;
        if memory.kind(pc) == Some(RegionKind::Flash) {
            let shift = memory.cache().line_shift();
            [pc >> shift, pc.wrapping_add(len - 1) >> shift]
        } else {
            [UNCACHED; 2]
        }
    }

    /// Whether the instruction at `pc` lies in `line` as the block does so far.
    fn same_line(&self, line: u32, pc: u32, len: u32) -> bool {
        self.lines(pc, len) == [line; 2]
    }

    /// Appends what the instruction at `pc` does, if anything.
    fn push(&mut self, instr: Instr, pc: u32, place: Place, fuse: bool) {
        let code = match instr.kind {
            Kind::Fence => return,
            kind if kind as u8 <= Kind::Remu as u8 && instr.rd == 0 => return,
            Kind::Add => Code::Add,
            Kind::Sub => Code::Sub,
            Kind::Sll => Code::Sll,
            Kind::Slt => Code::Slt,
            Kind::Sltu => Code::Sltu,
            Kind::Xor => Code::Xor,
            Kind::Srl => Code::Srl,
            Kind::Sra => Code::Sra,
            Kind::Or => Code::Or,
            Kind::And => Code::And,
            Kind::Addi => Code::Addi,
            Kind::Slti => Code::Slti,
            Kind::Sltiu => Code::Sltiu,
            Kind::Xori => Code::Xori,
            Kind::Ori => Code::Ori,
            Kind::Andi => Code::Andi,
            Kind::Slli => Code::Slli,
            Kind::Srli => Code::Srli,
            Kind::Srai => Code::Srai,
            Kind::Lui | Kind::Auipc => Code::Const,
            Kind::Mul => Code::Mul,
            Kind::Mulh => Code::Mulh,
            Kind::Mulhsu => Code::Mulhsu,
            Kind::Mulhu => Code::Mulhu,
            Kind::Div => Code::Div,
            Kind::Divu => Code::Divu,
            Kind::Rem => Code::Rem,
            Kind::Remu => Code::Remu,
            Kind::Lb if instr.rd != 0 => Code::Lb,
            Kind::Lh if instr.rd != 0 => Code::Lh,
            Kind::Lw if instr.rd != 0 => Code::Lw,
            Kind::Lbu if instr.rd != 0 => Code::Lbu,
            Kind::Lhu if instr.rd != 0 => Code::Lhu,
            Kind::Sb => Code::Sb,
            Kind::Sh => Code::Sh,
            Kind::Sw => Code::Sw,
            Kind::Csrrs | Kind::Csrrc | Kind::Csrrsi | Kind::Csrrci
                if instr.rs1 == 0 && instr.rd != 0 && !super::csr::Csrs::owns(instr.imm as u16) =>
            {
                Code::ChipRead
            }
            _ => Code::Rare,
        };
        let Instr {
            rd, rs1, rs2, imm, ..
        } = instr;
        let mut op = Op {
            code,
            rd,
            rs1,
            rs2,
            imm: imm as u32,
        };
        match code {
            Code::Const if instr.kind == Kind::Auipc => op.imm = pc.wrapping_add(op.imm),
            Code::Addi if rs1 == 0 => op.code = Code::Const,
            Code::Addi if imm == 0 => op.code = Code::Copy,
            Code::Add if rs1 == 0 => (op.code, op.rs1) = (Code::Copy, rs2),
            Code::Add if rs2 == 0 => op.code = Code::Copy,
            Code::Rare => {
                op.imm = self.code.rare.len() as u32;
                self.code.rare.push(instr);
            }
            _ => {}
        }
        if fuse && self.fuse(&op, place) {
            return;
        }
        self.code.ops.push(op);
        self.code.places.push(place);
    }

    /// Merges the operation into the one before it if one will do. Only operations that cannot
    /// leave the block are merged, so that nobody can tell.
    fn fuse(&mut self, op: &Op, place: Place) -> bool {
        if place.index == 0 {
            return false;
        }
        let Some(last) = self.code.ops.last_mut() else {
            return false;
        };
        // `lui` or `auipc`, then `addi` to the same register.
        if last.code == Code::Const
            && op.code == Code::Addi
            && last.rd == op.rs1
            && last.rd == op.rd
        {
            last.imm = last.imm.wrapping_add(op.imm);
            return true;
        }
        false
    }
}

/// Whether the instruction at `pc` has 32 bits and straddles a word.
pub(super) fn straddles(memory: &Memory, pc: u32) -> bool {
    pc & 2 != 0 && memory.read_u16(pc).is_some_and(|half| length(half) == 4)
}

//! Translation of a straight run of instructions, and its statically known cycles.

use super::block::{Block, Context, Edge, EdgeDetails, NO_SITE, Translations, UNCACHED};
use super::decode::{decode, length};
use super::instr::{Instr, Kind};
use super::op::{Code, EDGE_MASK, Op, OpInfo};
use super::sequence::fuse_sequences;
use super::timing::Timing;
use crate::mem::{Memory, RegionKind};

/// Longest run of instructions in a block.
const MAX_INSTRUCTIONS: u32 = 64;
/// Most operations in a block: each instruction may begin two cache lines and link a jump, and
/// there is an end.
pub(super) const MAX_OPS: usize = 4 * MAX_INSTRUCTIONS as usize + 1;

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

/// True if the instruction at `pc` has 32 bits and straddles a word.
fn straddles(memory: &Memory, pc: u32) -> bool {
    pc & 2 != 0 && memory.read_u16(pc).is_some_and(|half| length(half) == 4)
}

/// Translates from `pc` to the next jump, or the single instruction there, into `code` as its next
/// block. `None` if nothing can be fetched.
pub(super) fn translate(
    pc: u32,
    single: bool,
    code: &mut Translations,
    context: Context<'_>,
) -> Option<Block> {
    let (first, len) = fetch(context.memory, pc)?;
    let first_lines = lines(context.memory, pc, len);
    let mut translator = Translator {
        context,
        pc,
        fuse: !single,
        line: first_lines[1],
        first: code.op_infos.len(),
        first_edge: code.edges.len() as u32,
        sides: Vec::new(),
        ops: Vec::new(),
        code,
    };
    let limit = if single { 1 } else { MAX_INSTRUCTIONS };
    let mut cursor = Cursor {
        pc,
        instr: first,
        len,
        index: 0,
        cycles: 0,
    };
    while !cursor.instr.kind.ends_block() || cursor.instr.is_forward() {
        let next_pc = cursor.pc.wrapping_add(cursor.len);
        let next = fetch(translator.context.memory, next_pc);
        let cost = cost(
            translator.context.timing,
            cursor.instr,
            next.map(|(next, _)| next),
        );
        translator.push(cursor, cost);
        match next {
            Some((instr, len)) if cursor.index + 1 < limit => {
                let (index, cycles) = (cursor.index + 1, cursor.cycles + cost);
                cursor = Cursor {
                    pc: next_pc,
                    instr,
                    len,
                    index,
                    cycles,
                };
            }
            _ => return Some(translator.finish(cursor, cost, first_lines)),
        }
    }
    translator.push(cursor, 0);
    Some(translator.finish(cursor, 0, first_lines))
}

/// The instruction being translated.
#[derive(Clone, Copy)]
struct Cursor {
    pc: u32,
    instr: Instr,
    len: u32,
    /// Instructions before it.
    index: u32,
    /// Cycles before it.
    cycles: u32,
}

/// Cycles of an instruction in the straight part of a block: rule 1.
fn cost(timing: &Timing, instr: Instr, next: Option<Instr>) -> u32 {
    match instr.kind {
        kind if kind.is_load() => {
            let used = next.is_some_and(|next| next.uses(instr.rd));
            1 + if used { timing.load_use } else { 0 }
        }
        Kind::Mul => timing.mul,
        Kind::Mulh | Kind::Mulhsu | Kind::Mulhu => timing.mulh,
        Kind::Div | Kind::Divu | Kind::Rem | Kind::Remu => timing.div,
        kind if kind.is_csr() => timing.csr,
        kind if kind.is_atomic() => timing.amo,
        Kind::Fence => timing.fence,
        _ => 1,
    }
}

/// The first and last cache line of an instruction.
fn lines(memory: &Memory, pc: u32, len: u32) -> [u32; 2] {
    if matches!(memory.kind(pc), Some(RegionKind::Flash | RegionKind::Timed)) {
        let shift = memory.cache().line_shift();
        [pc >> shift, pc.wrapping_add(len - 1) >> shift]
    } else {
        [UNCACHED; 2]
    }
}

/// An edge that is not linked yet.
fn edge(pc: u32, cycles: u32, instructions: u32) -> Edge {
    Edge {
        expires: 0,
        cycles,
        instructions,
        next: 0,
        last_begins: 0,
        pc,
    }
}

struct Translator<'a> {
    context: Context<'a>,
    code: &'a mut Translations,
    /// Start of the block: address, operation, edge.
    pc: u32,
    first: usize,
    first_edge: u32,
    fuse: bool,
    /// The cache line that the last instruction ends in.
    line: u32,
    /// Edges of the branches within the block.
    sides: Vec<(Edge, EdgeDetails)>,
    ops: Vec<Op>,
}

impl Translator<'_> {
    /// Appends the operation of an instruction, if any.
    fn push(&mut self, cursor: Cursor, cost: u32) {
        let info = OpInfo {
            pc: cursor.pc,
            next: cursor.pc.wrapping_add(cursor.len),
            block: self.code.blocks.len() as u32,
            index: cursor.index,
            cycles: cursor.cycles,
            cost,
        };
        for line in lines(self.context.memory, cursor.pc, cursor.len) {
            if line != self.line && cursor.index > 0 {
                self.line = line;
                self.append(Op::with_imm(Code::Line, line), info);
            }
        }
        let ram = self.context.memory.main_base();
        let Some(mut op) = Op::new(cursor.instr, cursor.pc, cursor.cycles, ram) else {
            return;
        };
        match cursor.instr.kind {
            _ if matches!(op.code, Code::Rare | Code::System) => {
                op.imm = self.code.rare_instrs.len() as u32;
                self.code.rare_instrs.push(cursor.instr);
            }
            _ if cursor.instr.is_forward() => {
                // The first two edges are the end's.
                op.imm = self.first_edge + 2 + self.sides.len() as u32;
                let edge = self.side_edge(cursor);
                self.sides.push(edge);
            }
            kind if kind.is_branch() => op.imm = self.first_edge,
            Kind::Jal => {
                if cursor.instr.rd != 0 {
                    let link = Op {
                        rd: op.rd,
                        ..Op::with_imm(Code::Const, info.next)
                    };
                    self.append(link, info);
                }
                op.imm = self.first_edge + 1;
            }
            Kind::Jalr => op.imm = op.imm << 20 | self.first_edge & EDGE_MASK,
            _ => {}
        }
        if self.fuse
            && let Some(last) = self.ops.last_mut()
            && let Some(fused) = last.fused_with(op)
        {
            *last = fused;
            return;
        }
        self.append(op, info);
    }

    fn append(&mut self, op: Op, info: OpInfo) {
        self.ops.push(op);
        self.code.op_infos.push(info);
    }

    /// The edge of a taken branch that was predicted not taken: rules 2 and 4.
    fn side_edge(&mut self, cursor: Cursor) -> (Edge, EdgeDetails) {
        let target = cursor.pc.wrapping_add(cursor.instr.imm as u32);
        let next = cursor.pc.wrapping_add(cursor.len);
        let cycles = cursor.cycles + self.mispredicted(target);
        let details = EdgeDetails {
            decoded_site: self.jump_site(next),
            ..self.unpredicted_edge()
        };
        (edge(target, cycles, cursor.index + 1), details)
    }

    /// Details of an edge that does not involve the branch-target buffer.
    fn unpredicted_edge(&self) -> EdgeDetails {
        EdgeDetails {
            linked: false,
            site: NO_SITE,
            cycles_if_missed: 0,
            decoded_site: NO_SITE,
            held_line: self.line,
            lines: [UNCACHED; 2],
        }
    }

    /// The block whose last instruction is `last`; it costs `cost`, if it is no jump.
    fn finish(mut self, last: Cursor, cost: u32, lines: [u32; 2]) -> Block {
        let fall_pc = last.pc.wrapping_add(last.len);
        let taken_pc = last.pc.wrapping_add(last.instr.imm as u32);
        let bytes = fall_pc.wrapping_sub(self.pc);
        self.context.memory.mark_code(self.pc, bytes as usize);
        if !last.instr.kind.ends_block() {
            // The cost of the last instruction depends on the next one. After a jump there may be
            // data that changes all the time.
            self.context.memory.mark_code(fall_pc, 4);
        }
        let (cycles, instructions) = (last.cycles + cost, last.index + 1);
        let mut fall = edge(fall_pc, cycles, instructions);
        let mut taken = edge(taken_pc, cycles, instructions);
        let mut details = [self.unpredicted_edge(); 2];
        let timing = *self.context.timing;
        match last.instr.kind {
            Kind::Jalr => taken.cycles += timing.indirect_jump,
            // Rules 3 and 5.
            kind if kind == Kind::Jal || (kind.is_branch() && !last.instr.is_forward()) => {
                let to_jump = self.jump_site(taken_pc);
                let site = self.context.predictor.site(last.pc);
                (details[0].site, details[1].site) = (site, site);
                details[1].cycles_if_missed = cycles
                    + timing.jump_miss
                    + self.straddled(taken_pc, timing.straddled_after_jump);
                taken.cycles += timing.jump_hit;
                if to_jump != NO_SITE {
                    taken.cycles += timing.jump_to_jump;
                }
                if kind != Kind::Jal {
                    fall.cycles += self.mispredicted(fall_pc);
                    (details[0].cycles_if_missed, details[0].decoded_site) = (fall.cycles, to_jump);
                }
            }
            _ => {}
        }
        if !last.instr.kind.ends_block() || last.instr.is_forward() {
            let info = OpInfo {
                pc: last.pc,
                next: fall_pc,
                block: self.code.blocks.len() as u32,
                index: last.index,
                cycles: last.cycles,
                cost,
            };
            self.append(Op::with_imm(Code::FallThrough, self.first_edge), info);
        }
        if self.fuse {
            fuse_sequences(&mut self.ops);
        }
        let room = self.first..self.first + self.ops.len();
        self.code.ops[room].copy_from_slice(&self.ops);
        self.code.edges.extend([fall, taken]);
        self.code.edge_details.extend(details);
        for (edge, details) in self.sides {
            self.code.edges.push(edge);
            self.code.edge_details.push(details);
        }
        Block {
            first: self.first as u32,
            last_begins: last.cycles,
            lines,
            straddled: straddles(self.context.memory, self.pc),
        }
    }

    /// Rules 2 and 6.
    fn mispredicted(&mut self, pc: u32) -> u32 {
        let Timing {
            mispredicted,
            straddled_after_branch,
            ..
        } = *self.context.timing;
        mispredicted + self.straddled(pc, straddled_after_branch)
    }

    /// Rule 6: `cycles` if the instruction at `pc` straddles a word.
    fn straddled(&mut self, pc: u32, cycles: u32) -> u32 {
        self.context.memory.mark_code(pc, 4);
        if straddles(self.context.memory, pc) {
            cycles
        } else {
            0
        }
    }

    /// The direct jump at `pc` in the branch-target buffer, or [`NO_SITE`] if there is none. The
    /// block depends on the code there from now on.
    fn jump_site(&mut self, pc: u32) -> u32 {
        self.context.memory.mark_code(pc, 4);
        match fetch(self.context.memory, pc) {
            Some((
                Instr {
                    kind: Kind::Jal, ..
                },
                _,
            )) => self.context.predictor.site(pc),
            _ => NO_SITE,
        }
    }
}

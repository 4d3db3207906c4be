//! Translation of a straight run of instructions, and what is known beforehand about its cycles.

use super::block::{Block, Context, Edge, NO_SITE, UNCACHED, UNLINKED};
use super::decode::{decode, length};
use super::instr::{Instr, Kind};
use super::op::{Code, Op, Place};
use super::timing::Timing;
use crate::mem::{Memory, RegionKind};

/// Longest run of instructions in a block.
const MAX_INSTRUCTIONS: u32 = 64;

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

/// Whether the instruction at `pc` has 32 bits and straddles a word.
fn straddles(memory: &Memory, pc: u32) -> bool {
    pc & 2 != 0 && memory.read_u16(pc).is_some_and(|half| length(half) == 4)
}

/// Translates from `pc` to the next jump, a single instruction if asked to. `None` if nothing can
/// be fetched.
pub(super) fn translate(pc: u32, single: bool, id: u32, context: Context<'_>) -> Option<Block> {
    let (first, len) = fetch(context.memory, pc)?;
    let first_lines = lines(context.memory, pc, len);
    let mut translator = Translator {
        context,
        pc,
        fuse: !single,
        line: first_lines[1],
        edges: Vec::new(),
        ops: Vec::new(),
        places: Vec::new(),
        rare: Vec::new(),
    };
    let limit = if single { 1 } else { MAX_INSTRUCTIONS };
    let mut here = Here {
        pc,
        instr: first,
        len,
        index: 0,
        cycles: 0,
    };
    while !here.instr.kind.ends_block() || here.instr.is_forward() {
        let next_pc = here.pc.wrapping_add(here.len);
        let next = fetch(translator.context.memory, next_pc);
        let cost = cost(
            translator.context.timing,
            here.instr,
            next.map(|(next, _)| next),
        );
        translator.push(here, cost);
        match next {
            Some((instr, len)) if here.index + 1 < limit => {
                let (index, cycles) = (here.index + 1, here.cycles + cost);
                here = Here {
                    pc: next_pc,
                    instr,
                    len,
                    index,
                    cycles,
                };
            }
            _ => return Some(translator.finish(here, cost, first_lines, id)),
        }
    }
    translator.push(here, 0);
    Some(translator.finish(here, 0, first_lines, id))
}

/// One instruction on the way.
#[derive(Clone, Copy)]
struct Here {
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

/// The cache lines that an instruction lies in.
fn lines(memory: &Memory, pc: u32, len: u32) -> [u32; 2] {
    if memory.kind(pc) == Some(RegionKind::Flash) {
        let shift = memory.cache().line_shift();
        [pc >> shift, pc.wrapping_add(len - 1) >> shift]
    } else {
        [UNCACHED; 2]
    }
}

struct Translator<'a> {
    context: Context<'a>,
    /// Where the block begins.
    pc: u32,
    fuse: bool,
    /// The cache line that the last instruction ends in.
    line: u32,
    /// What branches in between lead to.
    edges: Vec<Edge>,
    ops: Vec<Op>,
    places: Vec<Place>,
    rare: Vec<Instr>,
}

impl Translator<'_> {
    /// Appends what an instruction does, if anything.
    fn push(&mut self, here: Here, cost: u32) {
        let place = Place {
            offset: here.pc.wrapping_sub(self.pc) as u16,
            len: here.len as u16,
            index: here.index,
            cycles: here.cycles,
            cost,
        };
        for line in lines(self.context.memory, here.pc, here.len) {
            if line != self.line && here.index > 0 {
                self.line = line;
                self.append(
                    Op {
                        code: Code::Line,
                        rd: 0,
                        rs1: 0,
                        rs2: 0,
                        imm: line,
                    },
                    place,
                );
            }
        }
        let Some(mut op) = Op::new(here.instr, here.pc) else {
            return;
        };
        if op.code == Code::Rare {
            op.imm = self.rare.len() as u32;
            self.rare.push(here.instr);
        }
        if here.instr.is_forward() {
            // The first two edges are the end's.
            op.imm = 2 + self.edges.len() as u32;
            let edge = self.side_edge(here);
            self.edges.push(edge);
        }
        if self.fuse
            && let Some(last) = self.ops.last_mut()
            && let Some(fused) = last.fused_with(op)
        {
            *last = fused;
            return;
        }
        self.append(op, place);
    }

    fn append(&mut self, op: Op, place: Place) {
        self.ops.push(op);
        self.places.push(place);
    }

    /// Where a branch leads that was predicted not taken: rules 2 and 4.
    fn side_edge(&mut self, here: Here) -> Edge {
        let target = here.pc.wrapping_add(here.instr.imm as u32);
        let next = here.pc.wrapping_add(here.len);
        Edge {
            pc: target,
            link: UNLINKED,
            cycles: here.cycles + self.mispredicted(target),
            instructions: here.index + 1,
            decoded: self.jump_site(next),
        }
    }

    /// The block whose last instruction is `last`; it costs `cost`, if it is no jump.
    fn finish(mut self, last: Here, cost: u32, lines: [u32; 2], id: u32) -> Block {
        let fall_pc = last.pc.wrapping_add(last.len);
        let taken_pc = last.pc.wrapping_add(last.instr.imm as u32);
        let bytes = fall_pc.wrapping_sub(self.pc);
        self.context.memory.mark_code(self.pc, bytes as usize);
        if !last.instr.kind.ends_block() {
            // What follows decided on the cost of the last instruction. Behind a jump may be data
            // that changes all the time.
            self.context.memory.mark_code(fall_pc, 4);
        }
        let (cycles, instructions) = (last.cycles + cost, last.index + 1);
        let edge = |pc| Edge {
            pc,
            link: UNLINKED,
            cycles,
            instructions,
            decoded: NO_SITE,
        };
        let (mut fall, mut taken) = (edge(fall_pc), edge(taken_pc));
        let (mut site, mut missed) = (NO_SITE, 0);
        let timing = *self.context.timing;
        match last.instr.kind {
            Kind::Jalr => taken.cycles += timing.indirect_jump,
            // Rules 3 and 5.
            kind if kind == Kind::Jal || (kind.is_branch() && !last.instr.is_forward()) => {
                let to_jump = self.jump_site(taken_pc);
                site = self.context.predictor.site(last.pc);
                missed = cycles
                    + timing.jump_miss
                    + self.straddled(taken_pc, timing.straddled_after_jump);
                taken.cycles += timing.jump_hit;
                if to_jump != NO_SITE {
                    taken.cycles += timing.jump_to_jump;
                }
                if kind != Kind::Jal {
                    fall.cycles += self.mispredicted(fall_pc);
                    fall.decoded = to_jump;
                }
            }
            _ => {}
        }
        Block {
            ops: self.ops.into(),
            edges: [fall, taken].into_iter().chain(self.edges).collect(),
            last_begins: last.cycles,
            line: lines[1],
            site,
            missed,
            first_line: lines[0],
            straddled: straddles(self.context.memory, self.pc),
            id,
            pc: self.pc,
            end_pc: last.pc,
            end: last.instr,
            places: self.places.into(),
            rare: self.rare.into(),
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

    /// The direct jump at `pc` in the branch-target buffer, or [`NO_SITE`] if there is none. What
    /// lies there shapes the block from now on.
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

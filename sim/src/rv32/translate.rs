//! Translation of a straight run of instructions, and what is known beforehand about its cycles.

use super::block::{Block, Context, Edge, Follow, UNCACHED, UNLINKED};
use super::decode::{decode, length};
use super::instr::{Instr, Kind};
use super::op::{Code, Op, Place};
use super::timing::Timing;
use crate::mem::{Memory, RegionKind};

/// Longest run of instructions in a block.
const MAX_INSTRUCTIONS: u32 = 64;

/// Not a jump that the branch-target buffer looks after.
const NO_SITE: u32 = u32::MAX;

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

/// Translates from `pc` to the next jump, a single instruction if asked to, and within one cache
/// line. `None` if nothing can be fetched.
pub(super) fn translate(pc: u32, single: bool, id: u32, context: Context<'_>) -> Option<Block> {
    let (first, len) = fetch(context.memory, pc)?;
    let lines = lines(context.memory, pc, len);
    let mut translator = Translator {
        context,
        pc,
        fuse: !single,
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
    while !here.instr.kind.ends_block() {
        let next_pc = here.pc.wrapping_add(here.len);
        let next = fetch(translator.context.memory, next_pc);
        let cost = cost(
            translator.context.timing,
            here.instr,
            next.map(|(next, _)| next),
        );
        translator.push(here, cost);
        match next {
            Some((instr, len))
                if here.index + 1 < limit && translator.in_line(lines[1], next_pc, len) =>
            {
                let (index, cycles) = (here.index + 1, here.cycles + cost);
                here = Here {
                    pc: next_pc,
                    instr,
                    len,
                    index,
                    cycles,
                };
            }
            _ => return Some(translator.finish(here, cost, lines, id)),
        }
    }
    translator.push(here, 0);
    Some(translator.finish(here, 0, lines, id))
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
    ops: Vec<Op>,
    places: Vec<Place>,
    rare: Vec<Instr>,
}

impl Translator<'_> {
    /// Whether the instruction at `pc` lies in `line` as the block does so far.
    fn in_line(&self, line: u32, pc: u32, len: u32) -> bool {
        lines(self.context.memory, pc, len) == [line; 2]
    }

    /// Appends what an instruction does, if anything.
    fn push(&mut self, here: Here, cost: u32) {
        let Some(mut op) = Op::new(here.instr, here.pc) else {
            return;
        };
        if op.code == Code::Rare {
            op.imm = self.rare.len() as u32;
            self.rare.push(here.instr);
        }
        if self.fuse
            && let Some(last) = self.ops.last_mut()
            && let Some(fused) = last.fused_with(op)
        {
            *last = fused;
            return;
        }
        self.ops.push(op);
        self.places.push(Place {
            offset: here.pc.wrapping_sub(self.pc) as u16,
            len: here.len as u16,
            index: here.index,
            cycles: here.cycles,
            cost,
        });
    }

    /// The block whose last instruction is `last`; it costs `cost`, if it is no jump.
    fn finish(mut self, last: Here, cost: u32, lines: [u32; 2], id: u32) -> Block {
        let fall_pc = last.pc.wrapping_add(last.len);
        let taken_pc = last.pc.wrapping_add(last.instr.imm as u32);
        // The instruction behind the block shaped it, too.
        let bytes = fall_pc.wrapping_sub(self.pc);
        self.context.memory.mark_code(self.pc, bytes as usize);
        self.context.memory.mark_code(fall_pc, 4);
        let edge = |pc| Edge {
            pc,
            link: UNLINKED,
            cycles: last.cycles + cost,
        };
        let mut block = Block {
            ops: self.ops.as_slice().into(),
            edges: [edge(fall_pc), edge(taken_pc)],
            last_begins: last.cycles,
            instructions: last.index + 1,
            line: lines[1],
            follow: Follow::Plain,
            straddled: straddles(self.context.memory, self.pc),
            site: NO_SITE,
            wrong_site: NO_SITE,
            missed: 0,
            first_line: lines[0],
            id,
            pc: self.pc,
            end_pc: last.pc,
            end: last.instr,
            places: self.places.as_slice().into(),
            rare: self.rare.as_slice().into(),
        };
        match last.instr.kind {
            Kind::Jalr => block.edges[1].cycles += self.context.timing.indirect_jump,
            Kind::Jal => self.buffered(&mut block),
            // A branch to itself counts as backward.
            kind if kind.is_branch() && last.instr.imm <= 0 => {
                self.buffered(&mut block);
                block.edges[0].cycles += self.mispredicted(fall_pc);
            }
            kind if kind.is_branch() => {
                block.edges[0].cycles += 1;
                block.edges[1].cycles += self.mispredicted(taken_pc);
                self.before(&mut block);
            }
            _ => {}
        }
        block
    }

    /// A jump, or a branch predicted taken: rules 3, 4 and 5.
    fn buffered(&mut self, block: &mut Block) {
        let Timing {
            jump_hit,
            jump_miss,
            jump_to_jump,
            straddled_after_jump,
            ..
        } = *self.context.timing;
        let target = block.edges[1].pc;
        block.follow = Follow::Buffered;
        block.site = self.context.predictor.site(block.end_pc);
        block.missed =
            block.edges[1].cycles + jump_miss + self.straddled(target, straddled_after_jump);
        block.edges[1].cycles += jump_hit;
        if self.is_jump(target) {
            block.edges[1].cycles += jump_to_jump;
            if block.end.kind.is_branch() {
                block.follow = Follow::BufferedToJump;
                block.wrong_site = self.context.predictor.site(target);
            }
        }
    }

    /// What is right behind a branch predicted not taken: rule 4.
    fn before(&mut self, block: &mut Block) {
        let next_pc = block.edges[0].pc;
        if self.is_jump(next_pc) {
            block.follow = Follow::BeforeJump;
            block.wrong_site = self.context.predictor.site(next_pc);
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

    /// Whether the instruction at `pc` is a direct jump. It shapes the block from now on.
    fn is_jump(&mut self, pc: u32) -> bool {
        self.context.memory.mark_code(pc, 4);
        fetch(self.context.memory, pc).is_some_and(|(next, _)| next.kind == Kind::Jal)
    }
}

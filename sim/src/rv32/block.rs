//! Translated code: straight runs of instructions, decoded once, linked to their successors.

use super::block_index::BlockIndex;
use super::instr::Instr;
use super::op::{Op, OpInfo};
use super::predict::Predictor;
use super::timing::Timing;
use super::translate::{MAX_OPS, translate};
use crate::mem::Memory;

/// No block.
pub(super) const UNLINKED: u32 = u32::MAX;
/// The code is not cached.
pub(super) const UNCACHED: u32 = u32::MAX;
/// Not a jump that the branch-target buffer tracks.
pub(super) const NO_SITE: u32 = u32::MAX;

/// Capacity in operations, a power of two: an index reduced modulo it needs no bounds check.
pub(super) const OP_CAPACITY: usize = 1 << 16;

/// An exit of a block: the part that the fast path needs.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Edge {
    /// These fields are valid while the branch-target buffer has made fewer allocations than this;
    /// afterwards, [`EdgeDetails`] applies. An edge without details never expires; one that is not
    /// linked yet has already expired.
    pub(super) expires: u64,
    /// Cycles from the block's start to this exit; for a jump in the branch-target buffer, as
    /// predicted.
    pub(super) cycles: u32,
    /// Instructions from the block's start.
    pub(super) instructions: u32,
    /// The first operation of the next block.
    pub(super) next: u32,
    /// [`Block::last_begins`] of the next block.
    pub(super) last_begins: u32,
    /// Address of the next block.
    pub(super) pc: u32,
}

/// State of an edge with respect to the branch-target buffer and the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeDetails {
    pub(super) linked: bool,
    /// The block's end in the branch-target buffer, or [`NO_SITE`].
    pub(super) site: u32,
    /// Cycles from the block's start if its end is not in the buffer.
    pub(super) cycles_if_missed: u32,
    /// The jump that was decoded on the wrong path, or [`NO_SITE`].
    pub(super) decoded_site: u32,
    /// The cache line that the fetch unit held before, or [`UNCACHED`] if unknown.
    pub(super) held_line: u32,
    /// [`Block::lines`] of the next block.
    pub(super) lines: [u32; 2],
}

impl EdgeDetails {
    /// Value of [`Edge::expires`] if the block's end is in the buffer until `resident_until`.
    #[inline]
    pub(super) fn expires(&self, resident_until: u64) -> u64 {
        let [_, line] = self.lines;
        if !self.linked
            || self.decoded_site != NO_SITE
            || line != UNCACHED && line != self.held_line
        {
            0
        } else if self.site == NO_SITE {
            u64::MAX
        } else {
            resident_until
        }
    }
}

/// A run of instructions that is entered only at its top. It continues past branches that are
/// predicted not taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its first operation.
    pub(super) first: u32,
    /// Cycles before the last instruction.
    pub(super) last_begins: u32,
    /// The cache lines that the first instruction starts and ends in, or [`UNCACHED`].
    pub(super) lines: [u32; 2],
    /// The first instruction straddles a word.
    pub(super) straddled: bool,
}

/// All translated code of a hart.
#[derive(Debug)]
pub(super) struct Translations {
    /// The operations of all blocks, contiguous.
    pub(super) ops: Box<[Op; OP_CAPACITY]>,
    /// Instruction and cost of each operation.
    pub(super) op_infos: Vec<OpInfo>,
    /// The edges of all blocks; for each block: fall-through at its end, taken at its end, taken
    /// within.
    pub(super) edges: Vec<Edge>,
    /// Details of each edge, by the same index.
    pub(super) edge_details: Vec<EdgeDetails>,
    pub(super) blocks: Vec<Block>,
    /// Rare instructions, executed from their decoded form.
    pub(super) rare_instrs: Vec<Instr>,
    /// Blocks as long as possible.
    pub(super) long: BlockIndex,
    /// Blocks of one instruction, to stop exactly at a deadline.
    single: BlockIndex,
    /// [`Memory::code_generation`] at translation.
    generation: u64,
    /// Number of flushes.
    flushes: u64,
    /// Blocks translated so far, including discarded ones.
    pub(super) translated: u64,
}

/// Parts of the hart that translation needs.
pub(super) struct Context<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) timing: &'a Timing,
    pub(super) predictor: &'a mut Predictor,
}

impl Translations {
    pub(super) fn new() -> Self {
        let ops = vec![Op::FILLER; OP_CAPACITY].into_boxed_slice();
        Self {
            ops: ops.try_into().expect("that size"),
            op_infos: Vec::new(),
            edges: Vec::new(),
            edge_details: Vec::new(),
            blocks: Vec::new(),
            rare_instrs: Vec::new(),
            long: BlockIndex::new(),
            single: BlockIndex::new(),
            generation: 0,
            flushes: 0,
            translated: 0,
        }
    }

    /// True if code changed since it was translated.
    #[inline]
    pub(super) fn is_stale(&self, memory: &Memory) -> bool {
        self.generation != memory.code_generation()
    }

    /// Discards all translated code.
    #[cold]
    pub(super) fn flush(&mut self, memory: &mut Memory) {
        self.op_infos.clear();
        self.edges.clear();
        self.edge_details.clear();
        self.blocks.clear();
        self.rare_instrs.clear();
        self.long.clear();
        self.single.clear();
        memory.clear_code();
        self.generation = memory.code_generation();
        self.flushes += 1;
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

    /// Links edge number `edge` to its target block: as [`Self::find`], but permanently.
    pub(super) fn link(&mut self, edge: usize, context: Context<'_>) -> Option<u32> {
        let flushes = self.flushes;
        let pc = self.edges.get(edge)?.pc;
        let id = self.find(pc, context)?;
        if self.flushes == flushes {
            let block = self.blocks[id as usize];
            let (edge, details) = (&mut self.edges[edge], &mut self.edge_details[edge]);
            (edge.next, edge.last_begins) = (block.first, block.last_begins);
            (details.linked, details.lines) = (true, block.lines);
            edge.expires = details.expires(0);
        }
        Some(id)
    }

    #[cold]
    #[inline(never)]
    fn translate(&mut self, pc: u32, single: bool, context: Context<'_>) -> Option<u32> {
        if self.op_infos.len() + MAX_OPS > OP_CAPACITY {
            self.flush(context.memory);
        }
        self.translated += 1;
        let block = translate(pc, single, self, context)?;
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

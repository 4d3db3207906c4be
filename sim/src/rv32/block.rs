//! Translated code: straight runs of instructions, decoded once, linked to what follows them.

use super::index::Index;
use super::instr::Instr;
use super::op::{Op, Place};
use super::predict::Predictor;
use super::timing::Timing;
use super::translate::{MAX_OPS, translate};
use crate::mem::Memory;

/// No block.
pub(super) const UNLINKED: u32 = u32::MAX;
/// The code does not lie behind the cache.
pub(super) const UNCACHED: u32 = u32::MAX;
/// Not a jump that the branch-target buffer looks after.
pub(super) const NO_SITE: u32 = u32::MAX;

/// Operations that there is room for, a power of two: an index that is cut to it needs no check.
pub(super) const OPS: usize = 1 << 16;

/// Where a block can go: what the straight path needs on the way.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Edge {
    /// The edge is as it says here while the branch-target buffer has made fewer allocations than
    /// this; afterwards, [`Turn`] has to be looked at. So an edge with nothing to look at never
    /// expires, and one that is not linked yet has expired at once.
    pub(super) expires: u64,
    /// Cycles from the block's start if it leaves this way; if the branch-target buffer has a say,
    /// then as it predicted.
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

/// What an edge means to the branch-target buffer and to the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) linked: bool,
    /// The block's end in the branch-target buffer, or [`NO_SITE`].
    pub(super) site: u32,
    /// Cycles from the block's start if the buffer did not know its end.
    pub(super) missed: u32,
    /// The jump that was decoded on the wrong path, or [`NO_SITE`].
    pub(super) decoded: u32,
    /// The cache line that the fetch unit holds before, or [`UNCACHED`] if that is unknown.
    pub(super) held: u32,
    /// [`Block::lines`] of the next block.
    pub(super) lines: [u32; 2],
}

impl Turn {
    /// When [`Edge::expires`], if the buffer knows the block's end until `known_until`.
    #[inline]
    pub(super) fn expires(&self, known_until: u64) -> u64 {
        let [_, line] = self.lines;
        if !self.linked || self.decoded != NO_SITE || line != UNCACHED && line != self.held {
            0
        } else if self.site == NO_SITE {
            u64::MAX
        } else {
            known_until
        }
    }
}

/// A run of instructions that is entered only at its top. It goes on behind branches that are
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
    /// The operations of all blocks, one after the other.
    pub(super) ops: Box<[Op; OPS]>,
    /// Where each operation lies.
    pub(super) places: Vec<Place>,
    /// The edges of all blocks: behind the end of one; taken by the end; taken in between.
    pub(super) edges: Vec<Edge>,
    /// What else there is to know about each edge.
    pub(super) turns: Vec<Turn>,
    pub(super) blocks: Vec<Block>,
    /// The instructions that are executed from the whole instruction.
    pub(super) rare: Vec<Instr>,
    /// Blocks as long as possible.
    pub(super) long: Index,
    /// Blocks of one instruction, for the way up to a deadline.
    single: Index,
    /// [`Memory::code_generation`] that this was translated from.
    generation: u64,
    /// How often everything was forgotten.
    flushes: u64,
    /// Blocks translated so far, the forgotten ones included.
    pub(super) translated: u64,
}

/// What translating needs to know about the hart.
pub(super) struct Context<'a> {
    pub(super) memory: &'a mut Memory,
    pub(super) timing: &'a Timing,
    pub(super) predictor: &'a mut Predictor,
}

impl Translations {
    pub(super) fn new() -> Self {
        let ops = vec![Op::NOTHING; OPS].into_boxed_slice();
        Self {
            ops: ops.try_into().expect("that size"),
            places: Vec::new(),
            edges: Vec::new(),
            turns: Vec::new(),
            blocks: Vec::new(),
            rare: Vec::new(),
            long: Index::new(),
            single: Index::new(),
            generation: 0,
            flushes: 0,
            translated: 0,
        }
    }

    /// Whether code changed since it was translated.
    #[inline]
    pub(super) fn is_stale(&self, memory: &Memory) -> bool {
        self.generation != memory.code_generation()
    }

    /// Forgets everything.
    #[cold]
    pub(super) fn flush(&mut self, memory: &mut Memory) {
        self.places.clear();
        self.edges.clear();
        self.turns.clear();
        self.blocks.clear();
        self.rare.clear();
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

    /// Links edge number `edge` to the block where it leads: the same as [`Self::find`], once and
    /// for all.
    pub(super) fn link(&mut self, edge: usize, context: Context<'_>) -> Option<u32> {
        let flushes = self.flushes;
        let pc = self.edges.get(edge)?.pc;
        let id = self.find(pc, context)?;
        if self.flushes == flushes {
            let block = self.blocks[id as usize];
            let (edge, turn) = (&mut self.edges[edge], &mut self.turns[edge]);
            (edge.next, edge.last_begins) = (block.first, block.last_begins);
            (turn.linked, turn.lines) = (true, block.lines);
            edge.expires = turn.expires(0);
        }
        Some(id)
    }

    #[cold]
    #[inline(never)]
    fn translate(&mut self, pc: u32, single: bool, context: Context<'_>) -> Option<u32> {
        if self.places.len() + MAX_OPS > OPS {
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

//! Translated code: straight runs of instructions, decoded once, linked to what follows them.

use super::instr::Instr;
use super::op::{Op, Place};
use super::predict::Predictor;
use super::timing::Timing;
use super::translate::translate;
use crate::mem::Memory;

/// No block: a link that was not followed yet.
pub(super) const UNLINKED: u32 = u32::MAX;
/// The code does not lie behind the cache.
pub(super) const UNCACHED: u32 = u32::MAX;
/// Not a jump that the branch-target buffer looks after.
pub(super) const NO_SITE: u32 = u32::MAX;

/// Where a block can go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) pc: u32,
    /// The block there, or [`UNLINKED`].
    pub(super) link: u32,
    /// Cycles from the block's start if it leaves this way; if the branch-target buffer has a say,
    /// then as it predicted.
    pub(super) cycles: u32,
    /// Instructions from the block's start.
    pub(super) instructions: u32,
    /// The jump that was decoded on the wrong path, or [`NO_SITE`].
    pub(super) decoded: u32,
}

/// A run of instructions that is entered only at its top. It goes on behind branches that are
/// predicted not taken.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) ops: Box<[Op]>,
    /// Behind the end; taken by the end; taken by branches in between.
    pub(super) edges: Box<[Edge]>,
    /// Cycles before the last instruction.
    pub(super) last_begins: u32,
    /// The cache line that the first instruction ends in, or [`UNCACHED`].
    pub(super) line: u32,
    /// The end in the branch-target buffer, or [`NO_SITE`].
    pub(super) site: u32,
    /// Cycles of the whole block if its end jumps and the buffer did not know it.
    pub(super) missed: u32,
    /// The cache line that the first instruction starts in.
    pub(super) first_line: u32,
    /// The first instruction straddles a word.
    pub(super) straddled: bool,
    pub(super) id: u32,
    pub(super) pc: u32,
    /// Address of the last instruction.
    pub(super) end_pc: u32,
    /// The last instruction.
    pub(super) end: Instr,
    pub(super) places: Box<[Place]>,
    /// What [`super::op::Code::Rare`] executes.
    pub(super) rare: Box<[Instr]>,
}

/// Block number by address: a table of tables, so that it costs memory only where code is.
#[derive(Debug)]
struct Index {
    pages: Vec<Box<[u32; Index::SLOTS]>>,
    /// Number of the page plus one, 0 if there is none.
    by_page: Box<[u32; 1 << (32 - Index::PAGE_SHIFT)]>,
}

impl Index {
    const PAGE_SHIFT: u32 = 14;
    const SLOTS: usize = 1 << (Self::PAGE_SHIFT - 1);

    fn new() -> Self {
        let by_page = vec![0; 1 << (32 - Self::PAGE_SHIFT)].into_boxed_slice();
        Self {
            pages: Vec::new(),
            by_page: by_page.try_into().expect("that size"),
        }
    }

    #[inline]
    fn get(&self, pc: u32) -> Option<u32> {
        let page = self.by_page[(pc >> Self::PAGE_SHIFT) as usize];
        let page = self.pages.get((page as usize).wrapping_sub(1))?;
        let id = page[(pc as usize >> 1) % Self::SLOTS];
        (id != UNLINKED).then_some(id)
    }

    fn set(&mut self, pc: u32, id: u32) {
        let page = &mut self.by_page[(pc >> Self::PAGE_SHIFT) as usize];
        if *page == 0 {
            let slots = vec![UNLINKED; Self::SLOTS].into_boxed_slice();
            self.pages.push(slots.try_into().expect("that size"));
            *page = self.pages.len() as u32;
        }
        self.pages[*page as usize - 1][(pc as usize >> 1) % Self::SLOTS] = id;
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
    /// Blocks as long as possible.
    long: Index,
    /// Blocks of one instruction, for the way up to a deadline.
    single: Index,
    /// [`Memory::code_generation`] that this was translated from.
    generation: u64,
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
        Self {
            blocks: Vec::new(),
            long: Index::new(),
            single: Index::new(),
            generation: 0,
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
        self.blocks.clear();
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
        let id = self.blocks.len() as u32;
        self.translated += 1;
        self.blocks.push(translate(pc, single, id, context)?);
        let index = if single {
            &mut self.single
        } else {
            &mut self.long
        };
        index.set(pc, id);
        Some(id)
    }
}

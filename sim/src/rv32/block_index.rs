//! Block numbers by address.

use super::block::UNLINKED;

/// A two-level table, which takes memory only where there is code.
#[derive(Debug)]
pub(super) struct BlockIndex {
    pages: Vec<Box<[u32; BlockIndex::SLOTS]>>,
    /// Number of the page plus one, 0 if there is none.
    by_page: Box<[u32; 1 << (32 - BlockIndex::PAGE_SHIFT)]>,
}

impl BlockIndex {
    const PAGE_SHIFT: u32 = 14;
    const SLOTS: usize = 1 << (Self::PAGE_SHIFT - 1);

    pub(super) fn new() -> Self {
        let by_page = vec![0; 1 << (32 - Self::PAGE_SHIFT)].into_boxed_slice();
        Self {
            pages: Vec::new(),
            by_page: by_page.try_into().expect("that size"),
        }
    }

    /// The block that begins at `pc`.
    #[inline]
    pub(super) fn get(&self, pc: u32) -> Option<u32> {
        let page = self.by_page[(pc >> Self::PAGE_SHIFT) as usize];
        let page = self.pages.get((page as usize).wrapping_sub(1))?;
        let id = page[(pc as usize >> 1) % Self::SLOTS];
        (id != UNLINKED).then_some(id)
    }

    pub(super) fn set(&mut self, pc: u32, id: u32) {
        let page = &mut self.by_page[(pc >> Self::PAGE_SHIFT) as usize];
        if *page == 0 {
            let slots = vec![UNLINKED; Self::SLOTS].into_boxed_slice();
            self.pages.push(slots.try_into().expect("that size"));
            *page = self.pages.len() as u32;
        }
        self.pages[*page as usize - 1][(pc as usize >> 1) % Self::SLOTS] = id;
    }

    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.by_page.fill(0);
    }
}

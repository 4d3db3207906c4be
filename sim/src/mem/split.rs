//! The memories as the hart's straight path sees them: no search, no questions asked twice.

use super::Stored;
use super::cache::Cache;
use super::region::{GRANULE_SHIFT, Region, RegionKind, chunk};

/// The main RAM.
#[derive(Debug)]
pub(crate) struct Main<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) marks: &'a [u8],
}

impl Main<'_> {
    /// An aligned load of `N` bytes (1, 2 or 4) at `offset`.
    #[inline]
    pub(crate) fn load<const N: usize>(&self, offset: u32) -> Option<[u8; N]> {
        let chunk = chunk::<N>(offset);
        self.bytes.as_chunks::<N>().0.get(chunk).copied()
    }

    /// An aligned store of `N` bytes (1, 2 or 4) at `offset`.
    #[inline]
    pub(crate) fn store<const N: usize>(&mut self, offset: u32, value: [u8; N]) -> Stored {
        let chunks = self.bytes.as_chunks_mut::<N>().0;
        let Some(bytes) = chunks.get_mut(chunk::<N>(offset)) else {
            return Stored::Elsewhere;
        };
        *bytes = value;
        match self.marks.get((offset >> GRANULE_SHIFT) as usize) {
            Some(0) => Stored::Plain,
            _ => Stored::Marked,
        }
    }
}

/// The other regions, and the cache in front of those that are flash.
#[derive(Debug)]
pub(crate) struct Others<'a> {
    /// Where the main RAM begins.
    pub(super) main_base: u32,
    pub(super) regions: &'a [Region],
    pub(crate) cache: &'a mut Cache,
}

impl Others<'_> {
    /// An aligned load of `N` bytes (1, 2 or 4) at `offset` from where the main RAM begins, and the
    /// cycles that it waits for the cache.
    #[inline(never)]
    pub(crate) fn load<const N: usize>(&mut self, offset: u32) -> Option<([u8; N], u32)> {
        let addr = self.main_base.wrapping_add(offset);
        self.regions.iter().find_map(|region| {
            let chunk = chunk::<N>(addr.wrapping_sub(region.base));
            let bytes = *region.bytes.as_chunks().0.get(chunk)?;
            let stall = match region.kind {
                RegionKind::Ram => 0,
                RegionKind::Flash => self.cache.access(addr >> self.cache.line_shift()),
            };
            Some((bytes, stall))
        })
    }
}

//! The memories as the hart's fast path sees them: no search, no repeated checks.

use super::StoreOutcome;
use super::cache::Cache;
use super::region::{GRANULE_SHIFT, Region, RegionKind, chunk_index};

/// The main RAM.
#[derive(Debug)]
pub(crate) struct MainRam<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) marks: &'a [u8],
}

impl MainRam<'_> {
    /// An aligned load of `N` bytes (1, 2 or 4) at `offset`.
    #[inline]
    pub(crate) fn load<const N: usize>(&self, offset: u32) -> Option<[u8; N]> {
        let chunk = chunk_index::<N>(offset);
        self.bytes.as_chunks::<N>().0.get(chunk).copied()
    }

    /// An aligned store of `N` bytes (1, 2 or 4) at `offset`.
    #[inline]
    pub(crate) fn store<const N: usize>(&mut self, offset: u32, value: [u8; N]) -> StoreOutcome {
        let chunks = self.bytes.as_chunks_mut::<N>().0;
        let Some(bytes) = chunks.get_mut(chunk_index::<N>(offset)) else {
            return StoreOutcome::NotStored;
        };
        *bytes = value;
        match self.marks.get((offset >> GRANULE_SHIFT) as usize) {
            Some(0) => StoreOutcome::Plain,
            _ => StoreOutcome::Marked,
        }
    }
}

/// The other regions, and the cache in front of those that are flash.
#[derive(Debug)]
pub(crate) struct OtherRegions<'a> {
    /// Base address of the main RAM.
    pub(super) main_base: u32,
    pub(super) regions: &'a [Region],
    pub(crate) cache: &'a mut Cache,
}

impl OtherRegions<'_> {
    /// An aligned load of `N` bytes (1, 2 or 4) at `offset` from where the main RAM begins, and the
    /// cycles that it waits for the cache.
    #[inline(never)]
    pub(crate) fn load<const N: usize>(&mut self, offset: u32) -> Option<([u8; N], u32)> {
        let addr = self.main_base.wrapping_add(offset);
        self.regions.iter().find_map(|region| {
            let chunk = chunk_index::<N>(addr.wrapping_sub(region.base));
            let bytes = *region.bytes.as_chunks().0.get(chunk)?;
            let stall = match region.kind {
                RegionKind::Ram | RegionKind::Timed => 0,
                RegionKind::Flash => self.cache.access(addr >> self.cache.line_shift()),
            };
            Some((bytes, stall))
        })
    }
}

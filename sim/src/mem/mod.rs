//! The memories that a hart accesses directly: RAM, and flash behind a cache.
//!
//! Everything else (peripherals, ROM) is reached through [`crate::rv32::Platform`]. The main RAM is
//! the first region and the fast path; the others are searched in order.

mod cache;
mod region;
mod split;

pub use cache::{Cache, CacheConfig};
pub use region::{RegionConfig, RegionKind, Window};

pub(crate) use split::{MainRam, OtherRegions};

use core::ops::Range;

use region::{GRANULE_SHIFT, MARK_WATCH, Region};

/// An address range that no region covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory at {addr:#010x} for {len} bytes")]
pub struct Unmapped {
    /// First address.
    pub addr: u32,
    /// Length in bytes.
    pub len: usize,
}

/// Outcome of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreOutcome {
    /// Stored, without further effect.
    Plain,
    /// Stored in a marked granule: see [`Memory::note_marked_store`].
    Marked,
    /// Nothing was stored: no RAM there.
    NotStored,
}

/// All memories of a chip.
#[derive(Debug)]
pub struct Memory {
    /// The first region: the fast path.
    main: Region,
    others: Vec<Region>,
    /// Second addresses of regions.
    windows: Vec<Window>,
    pub(crate) cache: Cache,
    watched: Vec<Range<u32>>,
    /// Counts the changes of translated code.
    code_generation: u64,
}

impl Memory {
    /// Zeroed memory of these regions, the most used RAM first, with the flash regions behind a
    /// cache.
    ///
    /// # Panics
    /// If `regions` is empty, two regions overlap, or one does not begin and end at a multiple of
    /// 64 bytes: a chip's memory map is fixed, not input.
    pub fn new(regions: &[RegionConfig], cache: CacheConfig) -> Self {
        for (i, a) in regions.iter().enumerate() {
            for b in &regions[..i] {
                let (a0, a1) = (u64::from(a.base), u64::from(a.base) + u64::from(a.size));
                let (b0, b1) = (u64::from(b.base), u64::from(b.base) + u64::from(b.size));
                assert!(a1 <= b0 || b1 <= a0, "regions {a:?} and {b:?} overlap");
            }
        }
        let (first, rest) = regions.split_first().expect("a chip has memory");
        Self {
            main: Region::new(*first),
            others: rest.iter().map(|r| Region::new(*r)).collect(),
            windows: Vec::new(),
            cache: Cache::new(cache),
            watched: Vec::new(),
            code_generation: 0,
        }
    }

    /// The memory of a platform that times its accesses ([`RegionConfig::timed`]): instructions are
    /// fetched in lines of `fetch_line` bytes, and `windows` are further addresses of the regions.
    ///
    /// # Panics
    /// As [`Self::new`], and if `fetch_line` is no power of two of at least 4.
    pub fn timed(regions: &[RegionConfig], windows: &[Window], fetch_line: u32) -> Self {
        let line = CacheConfig {
            size: fetch_line,
            ways: 1,
            line: fetch_line,
            miss_cycles: 0,
        };
        Self {
            windows: windows.to_vec(),
            ..Self::new(regions, line)
        }
    }

    /// The address in a region that `addr` stands for: `addr` itself outside of all windows.
    #[inline]
    pub(crate) fn resolve(&self, addr: u32) -> u32 {
        let window = self.windows.iter().find_map(|window| window.target(addr));
        window.unwrap_or(addr)
    }

    fn regions(&self) -> impl Iterator<Item = &Region> {
        core::iter::once(&self.main).chain(&self.others)
    }

    fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        core::iter::once(&mut self.main).chain(&mut self.others)
    }

    /// The `len` bytes from `addr`, if one region holds them all.
    pub fn slice(&self, addr: u32, len: usize) -> Option<&[u8]> {
        let addr = self.resolve(addr);
        self.regions()
            .find_map(|r| r.offset(addr, len).map(|o| &r.bytes[o..o + len]))
    }

    /// Kind of the region at `addr`; `None` if there is none.
    pub fn kind(&self, addr: u32) -> Option<RegionKind> {
        let addr = self.resolve(addr);
        self.regions()
            .find(|r| r.offset(addr, 1).is_some())
            .map(|r| r.kind)
    }

    /// The byte at `addr`, without cost in time.
    pub fn read_u8(&self, addr: u32) -> Option<u8> {
        self.slice(addr, 1).map(|b| b[0])
    }

    /// The little-endian halfword at `addr` (any alignment), without cost in time.
    pub fn read_u16(&self, addr: u32) -> Option<u16> {
        self.slice(addr, 2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
    }

    /// The little-endian word at `addr` (any alignment), without cost in time.
    pub fn read_u32(&self, addr: u32) -> Option<u32> {
        self.slice(addr, 4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Writes bytes anywhere, flash included, without cost in time: for the loader, ROM calls and
    /// tests. Translated code follows; watches do not fire.
    ///
    /// # Errors
    /// [`Unmapped`] if no single region holds the whole range; nothing is written then.
    pub fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), Unmapped> {
        let mut changed_code = false;
        let done = self.regions_mut().any(|region| {
            let Some(offset) = region.offset(addr, bytes.len()) else {
                return false;
            };
            region.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
            changed_code = region.holds_code(offset, bytes.len());
            true
        });
        self.code_generation += u64::from(changed_code);
        done.then_some(()).ok_or(Unmapped {
            addr,
            len: bytes.len(),
        })
    }

    /// Writes one little-endian word: see [`Self::write`].
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_u32(&mut self, addr: u32, value: u32) -> Result<(), Unmapped> {
        self.write(addr, &value.to_le_bytes())
    }

    /// Reports every store of the hart that overlaps `range` to
    /// [`crate::rv32::Platform::watched_store`]. Ranges outside of RAM are ignored.
    pub fn watch(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        let len = (range.end - range.start) as usize;
        for region in self.regions_mut() {
            if let Some(offset) = region.offset(range.start, len) {
                region.mark(offset, len, MARK_WATCH);
            }
        }
        self.watched.push(range);
    }

    /// The cache in front of the flash regions.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The cache, for the chip to invalidate or replace.
    pub fn cache_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }

    /// Counts the changes of translated code.
    #[inline]
    pub(crate) fn code_generation(&self) -> u64 {
        self.code_generation
    }

    /// Marks `len` bytes from `addr` as translated, so that a store there is detected.
    pub(crate) fn mark_code(&mut self, addr: u32, len: usize) {
        for region in self.regions_mut() {
            if let Some(offset) = region.offset(addr, len) {
                region.mark_code(offset, len);
            }
        }
    }

    /// Removes all marks of translated code.
    pub(crate) fn clear_code(&mut self) {
        for region in self.regions_mut() {
            region.clear_code();
        }
    }

    /// Base address of the main RAM.
    #[inline]
    pub(crate) fn main_base(&self) -> u32 {
        self.main.base
    }

    /// The main RAM, and the rest.
    #[inline]
    pub(crate) fn split(&mut self) -> (MainRam<'_>, OtherRegions<'_>) {
        let Self {
            main,
            others,
            cache,
            ..
        } = self;
        let main_base = main.base;
        let main = MainRam {
            bytes: &mut main.bytes,
            marks: &main.marks,
        };
        (
            main,
            OtherRegions {
                main_base,
                regions: others,
                cache,
            },
        )
    }

    /// An aligned load of `N` bytes (1, 2 or 4) from the main RAM.
    #[inline]
    pub(crate) fn load_main<const N: usize>(&mut self, addr: u32) -> Option<[u8; N]> {
        let offset = addr.wrapping_sub(self.main.base);
        self.split().0.load(offset)
    }

    /// An aligned store of `N` bytes (1, 2 or 4) into the main RAM.
    #[inline]
    pub(crate) fn store_main<const N: usize>(&mut self, addr: u32, value: [u8; N]) -> StoreOutcome {
        let offset = addr.wrapping_sub(self.main.base);
        self.split().0.store(offset, value)
    }

    /// A load of up to four bytes from any region; returns the value and the stall cycles of the
    /// cache.
    pub(crate) fn load_any(&mut self, addr: u32, len: usize) -> Option<(u32, u32)> {
        let addr = self.resolve(addr);
        let Self {
            main,
            others,
            cache,
            ..
        } = self;
        core::iter::once(main).chain(others).find_map(|region| {
            let offset = region.offset(addr, len)?;
            let mut value = [0; 4];
            value[..len].copy_from_slice(&region.bytes[offset..offset + len]);
            let stall = match region.kind {
                RegionKind::Ram | RegionKind::Timed => 0,
                RegionKind::Flash => cache.access_range(addr, len as u32),
            };
            Some((u32::from_le_bytes(value), stall))
        })
    }

    /// A store into any RAM.
    pub(crate) fn store_any(&mut self, addr: u32, bytes: &[u8]) -> StoreOutcome {
        let addr = self.resolve(addr);
        for region in self.regions_mut() {
            let Some(offset) = region.offset(addr, bytes.len()) else {
                continue;
            };
            if region.kind == RegionKind::Flash {
                return StoreOutcome::NotStored;
            }
            region.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
            // A misaligned store may reach into the next granule.
            let last = (offset + bytes.len() - 1) >> GRANULE_SHIFT;
            let mark = region.marks[offset >> GRANULE_SHIFT] | region.marks[last];
            return if mark == 0 {
                StoreOutcome::Plain
            } else {
                StoreOutcome::Marked
            };
        }
        StoreOutcome::NotStored
    }

    /// Handles a store into a marked granule; returns true if it is watched. Changed code
    /// increments [`Self::code_generation`].
    pub(crate) fn note_marked_store(&mut self, addr: u32, len: usize) -> bool {
        let addr = self.resolve(addr);
        let code = self
            .regions()
            .any(|r| r.offset(addr, len).is_some_and(|o| r.holds_code(o, len)));
        self.code_generation += u64::from(code);
        self.watched
            .iter()
            .any(|range| addr < range.end && range.start < addr + len as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        let regions = [
            RegionConfig::ram(0x4080_0000, 0x1000),
            RegionConfig::flash(0x4200_0000, 0x1000),
        ];
        Memory::new(&regions, CacheConfig::default())
    }

    #[test]
    fn accesses_end_where_the_region_ends() {
        let mut memory = memory();
        assert_eq!(memory.read_u32(0x4080_0ffc), Some(0));
        assert_eq!(memory.read_u32(0x4080_0ffd), None);
        assert_eq!(memory.read_u8(0x407f_ffff), None);
        assert_eq!(memory.slice(0x4080_1000, 0), Some(&[][..]));
        let error = memory.write(0x4200_0ffe, &[1, 2, 3]).unwrap_err();
        assert_eq!(error.to_string(), "no memory at 0x42000ffe for 3 bytes");
        assert_eq!(
            memory.store_main(0x4080_0ffe, [1u8; 4]),
            StoreOutcome::NotStored
        );
        assert_eq!(memory.load_main::<4>(0xffff_ffff), None);
    }

    #[test]
    fn stores_to_translated_code_are_noticed_to_the_halfword() {
        let mut memory = memory();
        memory.mark_code(0x4080_0010, 4);
        assert_eq!(
            memory.store_main(0x4080_0014, [0u8; 4]),
            StoreOutcome::Marked
        );
        assert!(!memory.note_marked_store(0x4080_0014, 4));
        assert_eq!(memory.code_generation(), 0);
        memory.note_marked_store(0x4080_0012, 2);
        assert_eq!(memory.code_generation(), 1);
        memory.clear_code();
        assert_eq!(
            memory.store_main(0x4080_0012, [0u8; 2]),
            StoreOutcome::Plain
        );
    }

    #[test]
    fn a_store_that_straddles_into_a_watched_granule_is_noticed() {
        let mut memory = memory();
        memory.watch(0x4080_0040..0x4080_0044);
        assert_eq!(
            memory.store_main(0x4080_003e, [0u8; 4]),
            StoreOutcome::NotStored
        );
        assert_eq!(
            memory.store_any(0x4080_003e, &[0u8; 4]),
            StoreOutcome::Marked
        );
        assert!(memory.note_marked_store(0x4080_003e, 4));
        assert!(!memory.note_marked_store(0x4080_003c, 4));
    }

    #[test]
    fn a_window_is_another_address_of_the_same_memory() {
        let regions = [RegionConfig::timed(0x1000, 0x1000)];
        let window = Window {
            base: 0x8000_0000,
            size: 0x8000_0000,
            target: 0,
        };
        let mut memory = Memory::timed(&regions, &[window], 32);
        assert_eq!(memory.store_any(0x8000_1004, &[1, 2]), StoreOutcome::Plain);
        assert_eq!(memory.read_u16(0x1004), Some(0x0201));
        assert_eq!(memory.load_any(0x8000_1004, 4), Some((0x0201, 0)));
        assert_eq!(memory.kind(0x8000_0000), None);
        memory.watch(0x1004..0x1008);
        assert_eq!(memory.store_any(0x8000_1004, &[1]), StoreOutcome::Marked);
        assert!(memory.note_marked_store(0x8000_1004, 1));
    }

    #[test]
    fn flash_is_not_written_by_stores() {
        let mut memory = memory();
        assert_eq!(memory.store_any(0x4200_0000, &[1]), StoreOutcome::NotStored);
        memory.write_u32(0x4200_0000, 7).unwrap();
        assert_eq!(memory.read_u32(0x4200_0000), Some(7));
    }
}

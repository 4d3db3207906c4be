//! One range of memory, and marks on its contents.

/// Kind of memory of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// Read and written by the hart, without wait states.
    Ram,
    /// Read by the hart through the cache; a store is an access fault.
    Flash,
    /// Read and written by the hart, after the time that its platform states
    /// ([`crate::rv32::Platform::TIMES_MEMORY`]).
    Timed,
}

/// Position and kind of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionConfig {
    /// First address.
    pub base: u32,
    /// Size in bytes.
    pub size: u32,
    /// Kind of memory.
    pub kind: RegionKind,
}

impl RegionConfig {
    /// `size` bytes of RAM from `base`.
    pub const fn ram(base: u32, size: u32) -> Self {
        Self {
            base,
            size,
            kind: RegionKind::Ram,
        }
    }

    /// `size` bytes of RAM from `base` whose accesses the platform times.
    pub const fn timed(base: u32, size: u32) -> Self {
        Self {
            base,
            size,
            kind: RegionKind::Timed,
        }
    }

    /// `size` bytes of flash, mapped from `base`.
    pub const fn flash(base: u32, size: u32) -> Self {
        Self {
            base,
            size,
            kind: RegionKind::Flash,
        }
    }
}

/// Further addresses of memory, such as those that bypass a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First address.
    pub base: u32,
    /// Size in bytes.
    pub size: u32,
    /// The address that the first one stands for.
    pub target: u32,
}

impl Window {
    /// The address that `addr` stands for, if it is in the window.
    #[inline]
    pub fn target(&self, addr: u32) -> Option<u32> {
        let offset = addr.wrapping_sub(self.base);
        (offset < self.size).then(|| self.target.wrapping_add(offset))
    }
}

/// A store in this granule may change translated code: check further.
const MARK_CODE: u8 = 1;
/// A store in this granule may be watched: check further.
pub(super) const MARK_WATCH: u8 = 2;
/// Bytes of RAM under one mark, as a shift.
pub(super) const GRANULE_SHIFT: u32 = 6;

/// Index of the chunk of `N` bytes at `offset`. Rotating moves the bits that must be 0 to the top,
/// so that the single range check also fails for a misaligned address.
#[inline]
pub(super) fn chunk_index<const N: usize>(offset: u32) -> usize {
    offset.rotate_right(N.trailing_zeros()) as usize
}

/// One region and the marks on its contents.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) base: u32,
    pub(super) kind: RegionKind,
    pub(super) bytes: Box<[u8]>,
    /// One byte of `MARK_*` bits for each granule.
    pub(super) marks: Box<[u8]>,
    /// One bit for each halfword that was translated.
    code: Box<[u64]>,
}

impl Region {
    pub(super) fn new(config: RegionConfig) -> Self {
        let size = config.size as usize;
        assert!(
            config.base.is_multiple_of(64) && size.is_multiple_of(64),
            "{config:?} is not aligned to 64 bytes"
        );
        Self {
            base: config.base,
            kind: config.kind,
            bytes: vec![0; size].into_boxed_slice(),
            marks: vec![0; size.div_ceil(1 << GRANULE_SHIFT)].into_boxed_slice(),
            code: vec![0; size.div_ceil(128)].into_boxed_slice(),
        }
    }

    /// Offset of `addr` if the region contains the `len` bytes from there.
    #[inline]
    pub(super) fn offset(&self, addr: u32, len: usize) -> Option<usize> {
        let offset = addr.wrapping_sub(self.base) as usize;
        (offset <= self.bytes.len() && len <= self.bytes.len() - offset).then_some(offset)
    }

    pub(super) fn mark(&mut self, offset: usize, len: usize, mark: u8) {
        if len == 0 {
            return;
        }
        let granules = (offset >> GRANULE_SHIFT)..=((offset + len - 1) >> GRANULE_SHIFT);
        for granule in &mut self.marks[granules] {
            *granule |= mark;
        }
    }

    pub(super) fn mark_code(&mut self, offset: usize, len: usize) {
        self.mark(offset, len, MARK_CODE);
        for half in (offset / 2)..(offset + len).div_ceil(2) {
            self.code[half / 64] |= 1 << (half % 64);
        }
    }

    pub(super) fn holds_code(&self, offset: usize, len: usize) -> bool {
        ((offset / 2)..(offset + len).div_ceil(2))
            .any(|half| self.code[half / 64] >> (half % 64) & 1 != 0)
    }

    pub(super) fn clear_code(&mut self) {
        for mark in &mut self.marks {
            *mark &= !MARK_CODE;
        }
        self.code.fill(0);
    }
}

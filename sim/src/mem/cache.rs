//! The cache in front of the flash: tags only, no contents.

/// Geometry and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Capacity in bytes, a power of two.
    pub size: u32,
    /// Lines in a set.
    pub ways: u32,
    /// Bytes in a line, a power of two of at least 4.
    pub line: u32,
    /// CPU cycles that the hart waits for a miss.
    pub miss_cycles: u32,
}

impl Default for CacheConfig {
    /// 32 KiB, 4 ways, lines of 32 B, misses for free.
    fn default() -> Self {
        Self {
            size: 32 * 1024,
            ways: 4,
            line: 32,
            miss_cycles: 0,
        }
    }
}

/// No address has this line number.
const NO_LINE: u32 = u32::MAX;

/// Instructions and data together, least recently used replaced first.
#[derive(Debug)]
pub struct Cache {
    config: CacheConfig,
    line_shift: u32,
    set_mask: u32,
    /// The most recently used line number of each set: checked first.
    latest: Box<[u32]>,
    /// The other ways of each set side by side, the more recently used ones first.
    older: Box<[u32]>,
    misses: u64,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Panics
    /// If the geometry is not made of powers of two: a chip's cache is fixed, not input.
    pub fn new(config: CacheConfig) -> Self {
        assert!(
            config.line.is_power_of_two() && config.line >= 4,
            "line of {} B",
            config.line
        );
        assert!(config.ways > 0, "no ways");
        let sets = config.size / config.line / config.ways;
        assert!(sets.is_power_of_two(), "{sets} sets");
        Self {
            config,
            line_shift: config.line.trailing_zeros(),
            set_mask: sets - 1,
            latest: vec![NO_LINE; sets as usize].into_boxed_slice(),
            older: vec![NO_LINE; (sets * (config.ways - 1)) as usize].into_boxed_slice(),
            misses: 0,
        }
    }

    /// Geometry and cost.
    pub fn config(&self) -> CacheConfig {
        self.config
    }

    /// Lines fetched from flash so far.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Empties the cache.
    pub fn invalidate(&mut self) {
        self.latest.fill(NO_LINE);
        self.older.fill(NO_LINE);
    }

    /// Bytes in a line, as a shift.
    #[inline]
    pub(crate) fn line_shift(&self) -> u32 {
        self.line_shift
    }

    /// Reads line number `line`; returns the cycles that the hart waits.
    #[inline]
    pub(crate) fn access(&mut self, line: u32) -> u32 {
        match self.latest.get((line & self.set_mask) as usize) {
            Some(&latest) if latest == line => 0,
            _ => self.access_older(line),
        }
    }

    #[inline(never)]
    fn access_older(&mut self, line: u32) -> u32 {
        let set = (line & self.set_mask) as usize;
        let others = self.config.ways as usize - 1;
        let older = &mut self.older[set * others..(set + 1) * others];
        let found = older.iter().position(|&l| l == line);
        let depth = found.map_or(others, |way| way + 1);
        let latest = core::mem::replace(&mut self.latest[set], line);
        older[..depth].rotate_right(usize::from(depth > 0));
        if let Some(first) = older.first_mut() {
            *first = latest;
        }
        if found.is_some() {
            return 0;
        }
        self.misses += 1;
        self.config.miss_cycles
    }

    /// Reads `len` bytes from `addr`.
    pub(crate) fn access_range(&mut self, addr: u32, len: u32) -> u32 {
        let first = addr >> self.line_shift;
        let last = (addr + len - 1) >> self.line_shift;
        let mut stall = self.access(first);
        if last != first {
            stall += self.access(last);
        }
        stall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> Cache {
        Cache::new(CacheConfig {
            size: 256,
            ways: 2,
            line: 32,
            miss_cycles: 10,
        })
    }

    #[test]
    fn the_least_recently_used_line_goes_first() {
        let mut cache = cache();
        // Lines 0, 4 and 8 share set 0 of four.
        assert_eq!(
            [0, 4, 0, 8, 0, 4].map(|l| cache.access(l)),
            [10, 10, 0, 10, 0, 10]
        );
        assert_eq!(cache.misses(), 4);
    }

    #[test]
    fn an_access_over_a_line_end_reads_both_lines() {
        let mut cache = cache();
        assert_eq!(cache.access_range(30, 4), 20);
        assert_eq!(cache.access_range(32, 4), 0);
        cache.invalidate();
        assert_eq!(cache.access_range(0, 4), 10);
    }
}

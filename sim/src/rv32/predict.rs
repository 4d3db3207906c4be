//! The branch-target buffer: the set of jumps in it.

use std::collections::BTreeMap;

/// A buffer whose oldest entry is replaced first.
///
/// A jump is in the buffer if fewer than its capacity were allocated since: only the number of each
/// jump's last allocation is stored.
#[derive(Debug)]
pub(super) struct Predictor {
    entries: u64,
    /// Allocations so far, plus `entries`.
    allocations: u64,
    /// Number of the last allocation of each jump that was ever translated, 0 if never.
    allocated: Vec<u64>,
    sites: BTreeMap<u32, u32>,
}

impl Predictor {
    pub(super) fn new(entries: u32) -> Self {
        let entries = u64::from(entries);
        Self {
            entries,
            allocations: entries,
            allocated: Vec::new(),
            sites: BTreeMap::new(),
        }
    }

    /// The number of the jump at `pc`; it never changes.
    pub(super) fn site(&mut self, pc: u32) -> u32 {
        let next = self.allocated.len() as u32;
        let site = *self.sites.entry(pc).or_insert(next);
        if site == next {
            self.allocated.push(0);
        }
        site
    }

    /// True if the jump is in the buffer.
    #[inline]
    pub(super) fn contains(&self, site: u32) -> bool {
        self.allocated
            .get(site as usize)
            .is_some_and(|n| self.allocations - n < self.entries)
    }

    /// Allocations so far, plus a constant.
    #[inline]
    pub(super) fn allocations(&self) -> u64 {
        self.allocations
    }

    /// The jump stays in the buffer at least until this number of allocations.
    #[inline]
    pub(super) fn resident_until(&self, site: u32) -> u64 {
        let last = self.allocated.get(site as usize);
        last.map_or(0, |n| n + self.entries)
    }

    /// A jump is decoded: it is in the buffer afterwards.
    #[inline]
    pub(super) fn decode(&mut self, site: u32) {
        if !self.contains(site) {
            self.allocate(site);
        }
    }

    /// Puts a jump that is not in the buffer into it.
    #[inline]
    pub(super) fn allocate(&mut self, site: u32) {
        if let Some(number) = self.allocated.get_mut(site as usize) {
            self.allocations += 1;
            *number = self.allocations;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_replaced_first() {
        let mut buffer = Predictor::new(2);
        let [a, b, c] = [0x100, 0x104, 0x102].map(|pc| buffer.site(pc));
        assert_eq!(buffer.site(0x104), b);
        assert!(!buffer.contains(a));
        buffer.allocate(a);
        buffer.allocate(b);
        assert!(buffer.contains(a) && buffer.contains(b));
        buffer.allocate(c);
        assert!(!buffer.contains(a) && buffer.contains(b) && buffer.contains(c));
    }
}

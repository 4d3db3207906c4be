//! Memory of the queue: the only place that turns word offsets into references.

use core::cell::UnsafeCell;
use core::ptr;

/// `WORDS` words shared by a producer and a consumer that use disjoint ranges of it.
///
/// Under loom each word has a shadow cell, so that the checker observes all accesses: the queue
/// reports each range when it gains it and when it gives it up.
pub(super) struct Storage<const WORDS: usize> {
    words: UnsafeCell<[u32; WORDS]>,
    #[cfg(loom)]
    shadow: [loom::cell::UnsafeCell<()>; WORDS],
}

// SAFETY: every access goes through the unsafe methods below, whose callers promise to own the
// words they touch; the queue hands each word from one side to the other with release/acquire.
unsafe impl<const WORDS: usize> Sync for Storage<WORDS> {}

impl<const WORDS: usize> Storage<WORDS> {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        // Zeroes, so that the bytes of a grant are initialised and a static is placed in .bss.
        Self {
            words: UnsafeCell::new([0; WORDS]),
        }
    }

    #[cfg(loom)]
    pub(super) fn new() -> Self {
        let shadow = core::array::from_fn(|_| loom::cell::UnsafeCell::new(()));
        Self {
            words: UnsafeCell::new([0; WORDS]),
            shadow,
        }
    }

    /// # Safety
    /// `at <= WORDS`.
    #[inline(always)]
    unsafe fn word(&self, at: usize) -> *mut u32 {
        debug_assert!(at <= WORDS);
        // SAFETY: the caller keeps `at` inside or one past the end of the array.
        unsafe { self.words.get().cast::<u32>().add(at) }
    }

    /// # Safety
    /// The caller owns word `at`, and `at < WORDS`.
    #[inline(always)]
    pub(super) unsafe fn read(&self, at: usize) -> u32 {
        self.touch_shared(at, 1);
        // SAFETY: in bounds and owned, as promised.
        unsafe { ptr::read(self.word(at)) }
    }

    /// # Safety
    /// The caller owns word `at`, and `at < WORDS`.
    #[inline(always)]
    pub(super) unsafe fn write(&self, at: usize, value: u32) {
        self.touch(at, 1);
        // SAFETY: in bounds and owned, as promised.
        unsafe { ptr::write(self.word(at), value) }
    }

    /// The address of the words from `at`.
    ///
    /// # Safety
    /// `at <= WORDS`; code that dereferences it owns the words that it accesses.
    #[inline(always)]
    pub(super) unsafe fn pointer(&self, at: usize) -> *mut u32 {
        // SAFETY: as promised.
        unsafe { self.word(at) }
    }

    /// Reports to the checker that the caller may now write `count` words from `at`, or could until
    /// now.
    #[inline(always)]
    #[cfg_attr(not(loom), allow(clippy::unused_self))]
    pub(super) fn touch(&self, at: usize, count: usize) {
        #[cfg(loom)]
        self.shadow[at..at + count]
            .iter()
            .for_each(|cell| cell.with_mut(|_| ()));
        let _ = (at, count);
    }

    #[inline(always)]
    #[cfg_attr(not(loom), allow(clippy::unused_self))]
    fn touch_shared(&self, at: usize, count: usize) {
        #[cfg(loom)]
        self.shadow[at..at + count]
            .iter()
            .for_each(|cell| cell.with(|_| ()));
        let _ = (at, count);
    }
}

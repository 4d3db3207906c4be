//! Buffer for one frame outside of a queue.

use super::WORD;

/// `WORDS` words of memory, accessible as bytes (to fill) and as words (to check).
#[repr(transparent)]
pub struct Buffer<const WORDS: usize>([u32; WORDS]);

impl<const WORDS: usize> Buffer<WORDS> {
    /// All zeroes.
    pub const fn new() -> Self {
        Self([0; WORDS])
    }

    /// The words, in memory order.
    #[inline(always)]
    pub fn words_mut(&mut self) -> &mut [u32; WORDS] {
        &mut self.0
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the same initialised memory, whose bytes are all valid and less aligned.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), WORDS * WORD) }
    }

    /// The bytes, mutable.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and every byte pattern is a valid word.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), WORDS * WORD) }
    }
}

impl<const WORDS: usize> Default for Buffer<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

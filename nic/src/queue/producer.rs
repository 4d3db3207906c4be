//! The interrupt's end of the queue.

use super::{HEADER_WORDS, Queue, SKIP, WORD, place, words_of};
use crate::sync::Ordering;
use core::ops::{Deref, DerefMut};

/// The end that writes, usually owned by the receive interrupt.
pub struct Producer<'q, const WORDS: usize> {
    queue: &'q Queue<WORDS>,
    /// The producer's own copy of `queue.write`.
    write: usize,
}

impl<'q, const WORDS: usize> Producer<'q, WORDS> {
    pub(super) fn new(queue: &'q Queue<WORDS>) -> Self {
        Self { queue, write: 0 }
    }

    /// Reserves room for a frame of up to `longest` bytes; `None` if there is none.
    ///
    /// The bytes initially hold arbitrary data. Costs two loads and two or three comparisons, and
    /// stores nothing, so a grant dropped unused costs nothing more.
    #[inline(always)]
    pub fn grant(&mut self, longest: usize) -> Option<Grant<'_, 'q, WORDS>> {
        // Acquire: the consumer has finished with the words that it released.
        let read = self.queue.read.load(Ordering::Acquire);
        let at = place::<WORDS>(self.write, read, longest)?;
        self.queue.storage.touch(at, words_of(longest));
        Some(Grant {
            producer: self,
            at,
            longest,
        })
    }

    /// The queue, for its statistics.
    pub fn queue(&self) -> &'q Queue<WORDS> {
        self.queue
    }
}

/// `longest`, in a cold function: only callers that exceed it pay for the check.
#[cold]
#[inline(never)]
fn most(longest: usize) -> usize {
    longest
}

/// Reserved room in the queue. [`commit`](Self::commit) makes it a frame; dropping it cancels.
#[must_use = "a grant that is not committed stores nothing"]
pub struct Grant<'p, 'q, const WORDS: usize> {
    producer: &'p mut Producer<'q, WORDS>,
    /// The word of the frame's header.
    at: usize,
    longest: usize,
}

impl<const WORDS: usize> Grant<'_, '_, WORDS> {
    /// Passes the first `len` bytes to the consumer as one frame; a `len` beyond the grant is
    /// limited to the grant.
    #[inline(always)]
    pub fn commit(self, len: usize) {
        let Self {
            producer,
            at,
            longest,
        } = self;
        let len = if len > longest { most(longest) } else { len };
        let storage = &producer.queue.storage;
        let used = words_of(len);
        storage.touch(at, words_of(longest));
        // SAFETY: `place` found the words from `at` on free and in bounds, and they belong to the
        // producer until `write` moves past them.
        unsafe { storage.write(at, len as u32) };
        if at != producer.write {
            // SAFETY: `at` is 0 and `write` is the free word that the consumer reads next.
            unsafe { storage.write(producer.write, SKIP) };
        }
        let next = if at + used == WORDS { 0 } else { at + used };
        producer.write = next;
        // Release: header and bytes are stored before the consumer sees them.
        producer.queue.write.store(next, Ordering::Release);
    }

    /// The granted bytes as whole words in memory order.
    #[inline(always)]
    pub fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as in `deref_mut`; the words are aligned, being the storage's.
        unsafe {
            let data = self.producer.queue.storage.pointer(self.at + HEADER_WORDS);
            core::slice::from_raw_parts_mut(data, self.longest / WORD)
        }
    }

    /// Cancels the grant; the same as dropping it.
    #[inline(always)]
    pub fn cancel(self) {}
}

impl<const WORDS: usize> Deref for Grant<'_, '_, WORDS> {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the granted words follow the header inside the storage, are initialised (the
        // storage starts as zeroes), and belong to this grant alone during its lifetime.
        unsafe {
            let data = self.producer.queue.storage.pointer(self.at + HEADER_WORDS);
            core::slice::from_raw_parts(data.cast(), self.longest)
        }
    }
}

impl<const WORDS: usize> DerefMut for Grant<'_, '_, WORDS> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes this the only reference.
        unsafe {
            let data = self.producer.queue.storage.pointer(self.at + HEADER_WORDS);
            core::slice::from_raw_parts_mut(data.cast(), self.longest)
        }
    }
}

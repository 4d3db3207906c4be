//! The main thread's end of the queue.

use super::{HEADER_WORDS, Queue, SKIP, WORD, used_words, words_of};
use crate::sync::Ordering;
use core::ops::{Deref, DerefMut};

/// The end that reads, usually owned by the main thread.
pub struct Consumer<'q, const WORDS: usize> {
    queue: &'q Queue<WORDS>,
    /// The consumer's own copy of `queue.read`.
    read: usize,
}

impl<'q, const WORDS: usize> Consumer<'q, WORDS> {
    pub(super) fn new(queue: &'q Queue<WORDS>) -> Self {
        Self { queue, read: 0 }
    }

    /// The oldest frame, or `None` when the queue is empty.
    #[inline]
    pub fn read(&mut self) -> Option<Frame<'_, 'q, WORDS>> {
        // Acquire: makes the header and bytes visible that the producer stored before.
        let write = self.queue.write.load(Ordering::Acquire);
        if write == self.read {
            return None;
        }
        // SAFETY: between `read` and `write` all words are the consumer's, and `read` is a header.
        let mut header = unsafe { self.queue.storage.read(self.read) };
        let mut at = self.read;
        if header == SKIP {
            // A skip is stored together with the frame at the start.
            at = 0;
            // SAFETY: as above.
            header = unsafe { self.queue.storage.read(at) };
        }
        self.queue.storage.touch(at, words_of(header as usize));
        Some(Frame {
            consumer: self,
            at,
            len: header as usize,
        })
    }

    /// True if there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.queue.write.load(Ordering::Acquire) == self.read
    }

    /// The queue, for its statistics.
    pub fn queue(&self) -> &'q Queue<WORDS> {
        self.queue
    }
}

/// A frame in the memory of the queue; dropping it releases the memory.
///
/// The consumer may modify it, so that a frame can be aligned and decoded in place.
pub struct Frame<'c, 'q, const WORDS: usize> {
    consumer: &'c mut Consumer<'q, WORDS>,
    /// The word of the frame's header.
    at: usize,
    /// Length in bytes.
    len: usize,
}

impl<const WORDS: usize> Frame<'_, '_, WORDS> {
    /// Leaves the frame in the queue as it is now: the next [`Consumer::read`] returns it again.
    #[inline]
    pub fn keep(self) {
        core::mem::forget(self);
    }

    /// The frame as words in memory order, the last one padded with whatever was there: for work
    /// by whole words, since the bytes start on a word boundary.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: the frame's words lie inside the storage, are initialised, and belong to the
        // consumer until the frame is dropped; `&mut self` makes this the only reference.
        unsafe {
            let data = self.consumer.queue.storage.pointer(self.at + HEADER_WORDS);
            core::slice::from_raw_parts_mut(data, self.len.div_ceil(WORD))
        }
    }
}

impl<const WORDS: usize> Deref for Frame<'_, '_, WORDS> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: as in `words_mut`, for reading.
        unsafe {
            let data = self.consumer.queue.storage.pointer(self.at + HEADER_WORDS);
            core::slice::from_raw_parts(data.cast(), self.len)
        }
    }
}

impl<const WORDS: usize> DerefMut for Frame<'_, '_, WORDS> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `words_mut`.
        unsafe {
            let data = self.consumer.queue.storage.pointer(self.at + HEADER_WORDS);
            core::slice::from_raw_parts_mut(data.cast(), self.len)
        }
    }
}

impl<const WORDS: usize> Drop for Frame<'_, '_, WORDS> {
    #[inline]
    fn drop(&mut self) {
        // The queue fills until a frame is released, so the maximum is reached here.
        let queue = self.consumer.queue;
        let in_use = used_words::<WORDS>(queue.write.load(Ordering::Relaxed), self.consumer.read);
        if in_use > queue.high_water.load(Ordering::Relaxed) {
            queue.high_water.store(in_use, Ordering::Relaxed);
        }
        let used = words_of(self.len);
        self.consumer.queue.storage.touch(self.at, used);
        let next = if self.at + used == WORDS {
            0
        } else {
            self.at + used
        };
        self.consumer.read = next;
        // Release: the consumer is done with the words before the producer reuses them.
        self.consumer.queue.read.store(next, Ordering::Release);
    }
}

//! The receive queue: frames of variable length, from an interrupt to the main thread.
//!
//! A single-producer single-consumer ring in which each frame is contiguous (a bip buffer). The
//! producer requests room for the longest frame ([`Producer::grant`]), fills it, and commits the
//! part it used ([`Grant::commit`]). Dropping the grant cancels it: nothing was stored, so an
//! interrupt that turns out to be a link pulse costs two loads and two comparisons. The consumer
//! reads frames in order ([`Consumer::read`]); dropping a [`Frame`] releases its room.
//!
//! # Layout
//! The memory is an array of `WORDS` 32-bit words. A frame is a header word (its length in bytes)
//! and its bytes, padded to a whole word, so that data always starts on a word boundary. `write`
//! belongs to the producer, `read` to the consumer:
//!
//! ```text
//! write >= read:   |  free  |read  frames  write|    free     |
//! write <  read:   |frames write|  free  |read frames|SKIP|   |
//! ```
//!
//! `write == read` means empty, so at least one word stays free. If the longest frame does not fit
//! after `write` but fits before `read`, it goes to the start, and on *commit* a `SKIP` header
//! directs the consumer there. Only commit stores anything, and there is no end marker shared by
//! both sides: each side writes one variable and reads that of the other.
//!
//! # Capacity
//! A frame of `n` bytes takes [`words_of`]`(n)`. Since a frame is never split, room for up to one
//! longest frame is lost at the end of the ring: a queue sized for `k + 1` of them always takes
//! `k`, in any mixture of lengths ([`Queue::guaranteed_frames`]); [`Queue::words_for`] is the
//! inverse.
//!
//! # Why not bbqueue
//! See `nic/README.md` for the measurements and how to repeat them.

mod buffer;
mod consumer;
mod producer;
mod storage;

pub use buffer::Buffer;
pub use consumer::{Consumer, Frame};
pub use producer::{Grant, Producer};

use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use storage::Storage;

/// A header with this value directs the consumer to the start of the ring.
const SKIP: u32 = u32::MAX;
/// Words before the bytes of each frame.
const HEADER_WORDS: usize = 1;
const WORD: usize = size_of::<u32>();
/// Maximum number of words of a queue: a header holds the length of the longest frame, and is not a `SKIP`.
pub const MAX_WORDS: usize = u32::MAX as usize / WORD;

/// Number of words that a frame of `bytes` takes in a queue, header included.
#[inline(always)]
pub const fn words_of(bytes: usize) -> usize {
    HEADER_WORDS + bytes.div_ceil(WORD)
}

/// A receive queue in `WORDS` words of memory, meant to be a `static`.
///
/// `WORDS` is at least 2, a frame's header and its first word, and at most [`MAX_WORDS`]. Other sizes do not
/// compile:
///
/// ```compile_fail,E0080
/// static QUEUE: linerate_nic::queue::Queue<0> = linerate_nic::queue::Queue::new();
/// ```
///
/// ```compile_fail,E0080
/// static QUEUE: linerate_nic::queue::Queue<1> = linerate_nic::queue::Queue::new();
/// ```
///
/// ```compile_fail,E0080
/// use linerate_nic::queue::{MAX_WORDS, Queue};
/// let _ = Box::new(Queue::<{ MAX_WORDS + 1 }>::new());
/// ```
///
/// ```
/// use linerate_nic::queue::Queue;
/// const LONGEST: usize = 1532;
/// static QUEUE: Queue<{ Queue::<0>::words_for(9, LONGEST) }> = Queue::new();
///
/// let (mut producer, mut consumer) = QUEUE.split().unwrap();
/// let mut grant = producer.grant(LONGEST).unwrap();
/// grant[..5].copy_from_slice(b"frame");
/// grant.commit(5);
/// assert_eq!(*consumer.read().unwrap(), *b"frame");
/// assert!(consumer.read().is_none());
/// ```
pub struct Queue<const WORDS: usize> {
    storage: Storage<WORDS>,
    /// Position of the next header. Written by the producer.
    write: AtomicUsize,
    /// Position of the oldest header. Written by the consumer.
    read: AtomicUsize,
    /// Most words in use at any release. Written by the consumer.
    high_water: AtomicUsize,
    taken: AtomicBool,
}

impl<const WORDS: usize> Queue<WORDS> {
    /// With fewer words, positions in the queue would wrap below zero; with more, lengths beyond 32 bits.
    const CHECKED: () = assert!(WORDS > HEADER_WORDS && WORDS <= MAX_WORDS);

    /// An empty queue.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        let () = Self::CHECKED;
        Self {
            storage: Storage::new(),
            write: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            high_water: AtomicUsize::new(0),
            taken: AtomicBool::new(false),
        }
    }

    /// An empty queue (not `const`: loom's atomics are not).
    #[cfg(loom)]
    pub fn new() -> Self {
        let () = Self::CHECKED;
        Self {
            storage: Storage::new(),
            write: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            high_water: AtomicUsize::new(0),
            taken: AtomicBool::new(false),
        }
    }

    /// Number of words of a queue that always takes `frames` frames of up to `longest` bytes.
    pub const fn words_for(frames: usize, longest: usize) -> usize {
        (frames + 1) * words_of(longest)
    }

    /// Number of frames of up to `longest` bytes that this queue always takes, whatever the
    /// previous lengths, counted from the oldest one not yet released to the one being received.
    pub const fn guaranteed_frames(longest: usize) -> usize {
        (WORDS / words_of(longest)).saturating_sub(1)
    }

    /// The two ends. Each exists once: the second call returns `None`.
    pub fn split(&self) -> Option<(Producer<'_, WORDS>, Consumer<'_, WORDS>)> {
        if self.taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        Some((Producer::new(self), Consumer::new(self)))
    }

    /// Size of the memory for frames and their headers, in bytes.
    pub const fn capacity_bytes(&self) -> usize {
        WORDS * WORD
    }

    /// Bytes in use now: frames, their headers, and space left unused at a wrap.
    ///
    /// Exact on the sides of producer and consumer, a snapshot elsewhere.
    pub fn used_bytes(&self) -> usize {
        used_words::<WORDS>(
            self.write.load(Ordering::Acquire),
            self.read.load(Ordering::Acquire),
        ) * WORD
    }

    /// High-water mark: most bytes in use at once, as counted by [`used_bytes`](Self::used_bytes).
    pub fn high_water_bytes(&self) -> usize {
        let so_far = self.high_water.load(Ordering::Relaxed) * WORD;
        so_far.max(self.used_bytes())
    }

    /// True if a grant of `longest` bytes would succeed now.
    ///
    /// On the consumer's side, `true` stays true until the producer commits.
    pub fn fits(&self, longest: usize) -> bool {
        place::<WORDS>(
            self.write.load(Ordering::Acquire),
            self.read.load(Ordering::Acquire),
            longest,
        )
        .is_some()
    }
}

impl<const WORDS: usize> Default for Queue<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

/// Position of the header of a frame of up to `longest` bytes; `None` if there is no room.
///
/// `write` and `read` are less than `WORDS`. The result plus [`words_of`]`(longest)` is at most
/// `WORDS`, and never equals `read` modulo `WORDS` (that would look empty).
#[inline(always)]
fn place<const WORDS: usize>(write: usize, read: usize, longest: usize) -> Option<usize> {
    if longest > WORDS.saturating_sub(HEADER_WORDS) * WORD {
        return None;
    }
    let need = words_of(longest);
    if write >= read {
        // Using the last word wraps `write` to 0, which must not equal a `read` of 0.
        if need <= WORDS - write - usize::from(read == 0) {
            return Some(write);
        }
        return (need < read).then_some(0);
    }
    (need < read - write).then_some(write)
}

#[inline(always)]
fn used_words<const WORDS: usize>(write: usize, read: usize) -> usize {
    if write >= read {
        write - read
    } else {
        WORDS - read + write
    }
}

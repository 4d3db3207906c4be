//! The messages that were received on a channel and not read yet.
//!
//! A message is its length and its octets. A fragment is decoded into the free memory behind everything that is
//! committed, and becomes part of the FIFO when its check is right. One fragment whose predecessor is missing can be
//! kept at the end of the free memory.

use crate::ring;
use crate::wire::LENGTH;

/// Offsets are stored in 16 bits and calculated in those of a register, which takes fewer instructions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReceiveFifo<B> {
    memory: B,
    /// Index of the oldest message.
    head: u16,
    /// Octets of whole messages, with their lengths.
    used: u16,
    /// Octets of the message that is not whole, with its length; 0 without one.
    partial: u16,
    kept: Kept,
}

/// A fragment whose predecessor is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kept {
    /// Index of its first octet.
    at: u16,
    /// Its length.
    len: u16,
    flags: u8,
}

impl Kept {
    /// There is one.
    const IS_KEPT: u8 = 1;
    const IS_FIRST: u8 = 2;
    const IS_LAST: u8 = 4;
    const NONE: Self = Self {
        at: 0,
        len: 0,
        flags: 0,
    };

    const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> ReceiveFifo<B> {
    pub(crate) const fn new(memory: B) -> Self {
        Self {
            memory,
            head: 0,
            used: 0,
            partial: 0,
            kept: Kept::NONE,
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.memory.as_ref().len()
    }

    /// Octets of all messages, with their lengths: the offset behind them.
    fn committed(&self) -> usize {
        usize::from(self.used) + usize::from(self.partial)
    }

    pub(crate) fn free(&self) -> usize {
        self.capacity() - self.committed()
    }

    /// Octets of whole messages, with their lengths.
    pub(crate) const fn used(&self) -> u16 {
        self.used
    }

    /// Octets between the committed ones and the payload of a fragment.
    const fn gap(is_first: bool) -> usize {
        if is_first { LENGTH } else { 0 }
    }

    /// True if a fragment of `len` octets fits.
    pub(crate) fn has_room(&self, is_first: bool, len: usize) -> bool {
        // A kept fragment without octets takes no memory, wherever it is.
        let free = if self.kept.len > 0 {
            let capacity = self.capacity();
            let begin = ring::wrap(capacity, usize::from(self.head) + self.committed());
            ring::distance(capacity, begin, self.kept.at.into())
        } else {
            self.free()
        };
        len + Self::gap(is_first) <= free
    }

    /// True if a fragment is kept whose predecessor is missing.
    pub(crate) const fn keeps(&self) -> bool {
        self.kept.has(Kept::IS_KEPT)
    }

    /// Keeps the stored fragment, for which there is room, until its predecessor is committed.
    pub(crate) fn keep(&mut self, is_first: bool, is_last: bool, len: usize) {
        let from = self.committed() + Self::gap(is_first);
        let to = self.capacity() - len;
        for at in (0..len).rev() {
            self.copy(to + at, from + at);
        }
        let first = if is_first { Kept::IS_FIRST } else { 0 };
        let last = if is_last { Kept::IS_LAST } else { 0 };
        self.kept = Kept {
            at: ring::wrap(self.capacity(), usize::from(self.head) + to) as u16,
            len: len as u16,
            flags: Kept::IS_KEPT | first | last,
        };
    }

    /// Commits the kept fragment, if there is one; returns the octets that it takes.
    pub(crate) fn commit_kept(&mut self) -> Option<usize> {
        let kept = core::mem::replace(&mut self.kept, Kept::NONE);
        let (is_first, len) = (kept.has(Kept::IS_FIRST), usize::from(kept.len));
        if !kept.has(Kept::IS_KEPT) || !self.has_room(is_first, len) {
            return None;
        }
        for at in 0..len {
            let octet = ring::get(self.memory.as_ref(), usize::from(kept.at) + at);
            self.store(is_first, at, octet);
        }
        self.commit(is_first, kept.has(Kept::IS_LAST), len);
        Some(Self::gap(is_first) + len)
    }

    /// Stores an octet of the fragment that is being received, without committing it.
    pub(crate) fn store(&mut self, is_first: bool, at: usize, octet: u8) {
        if self.has_room(is_first, at + 1) {
            let behind = self.committed() + Self::gap(is_first) + at;
            self.put(behind, octet);
        }
    }

    /// Makes the stored fragment of `len` octets part of the FIFO. One that continues no message is dropped; one that
    /// begins a message replaces a message without an end.
    pub(crate) fn commit(&mut self, is_first: bool, is_last: bool, len: usize) {
        if is_first {
            self.move_back(LENGTH + len);
            self.partial = LENGTH as u16;
        } else if self.partial == 0 {
            return;
        }
        self.partial += len as u16;
        if is_last {
            let at = usize::from(self.head) + usize::from(self.used);
            let len = usize::from(self.partial) - LENGTH;
            ring::put_u16(self.memory.as_mut(), at, len);
            self.used += self.partial;
            self.partial = 0;
        }
    }

    /// Drops the message that is not whole, and the kept fragment.
    pub(crate) fn drop_partial(&mut self) {
        self.partial = 0;
        self.kept = Kept::NONE;
    }

    /// Drops the message that is not whole, and moves `len` stored octets into its place.
    fn move_back(&mut self, len: usize) {
        if self.partial > 0 {
            for at in LENGTH..len {
                self.copy(usize::from(self.used) + at, self.committed() + at);
            }
        }
    }

    /// Length of the oldest message.
    pub(crate) fn message_len(&self) -> Option<usize> {
        (self.used > 0).then(|| ring::get_u16(self.memory.as_ref(), self.head.into()))
    }

    /// The oldest message in two parts, of which the second is empty unless it wraps.
    pub(crate) fn message(&self) -> Option<(&[u8], &[u8])> {
        let len = self.message_len()?;
        let memory = self.memory.as_ref();
        let begin = ring::wrap(memory.len(), usize::from(self.head) + LENGTH);
        let (before, from) = memory.split_at_checked(begin)?;
        let one = from.get(..len).unwrap_or(from);
        Some((one, before.get(..len - one.len())?))
    }

    /// Removes the oldest message.
    pub(crate) fn remove(&mut self) {
        if let Some(len) = self.message_len() {
            let taken = LENGTH + len;
            self.head = ring::wrap(self.capacity(), usize::from(self.head) + taken) as u16;
            self.used -= taken as u16;
        }
    }

    /// Copies an octet, by offsets.
    fn copy(&mut self, to: usize, from: usize) {
        let octet = ring::get(self.memory.as_ref(), usize::from(self.head) + from);
        self.put(to, octet);
    }

    fn put(&mut self, offset: usize, octet: u8) {
        let at = usize::from(self.head) + offset;
        ring::put(self.memory.as_mut(), at, octet);
    }
}

//! The messages that were received on a channel and not read yet.
//!
//! A message is its length and its octets. A fragment is decoded into the free memory behind everything that is
//! committed, and becomes part of the FIFO when its check is right. One fragment whose predecessor is missing can be
//! kept at the end of the free memory.

use crate::ring;
use crate::wire::LENGTH;

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

    pub(crate) fn capacity(&self) -> u16 {
        ring::capacity(self.memory.as_ref())
    }

    pub(crate) fn free(&self) -> u16 {
        self.capacity() - self.used - self.partial
    }

    /// Octets of whole messages, with their lengths.
    pub(crate) const fn used(&self) -> u16 {
        self.used
    }

    /// Octets between the committed ones and the payload of a fragment.
    const fn gap(is_first: bool) -> u16 {
        if is_first { LENGTH } else { 0 }
    }

    /// True if a fragment of `len` octets fits.
    pub(crate) fn has_room(&self, is_first: bool, len: usize) -> bool {
        // A kept fragment without octets takes no memory, wherever it is.
        let free = if self.kept.len > 0 {
            let capacity = self.capacity();
            let begin = ring::index(capacity, self.head, self.used + self.partial);
            ring::distance(capacity, begin, self.kept.at)
        } else {
            self.free()
        };
        len + usize::from(Self::gap(is_first)) <= usize::from(free)
    }

    /// True if a fragment is kept whose predecessor is missing.
    pub(crate) const fn keeps(&self) -> bool {
        self.kept.has(Kept::IS_KEPT)
    }

    /// Keeps the stored fragment, for which there is room, until its predecessor is committed.
    pub(crate) fn keep(&mut self, is_first: bool, is_last: bool, len: u16) {
        let from = self.used + self.partial + Self::gap(is_first);
        let to = self.capacity() - len;
        for at in (0..len).rev() {
            let octet = self.get(from + at);
            self.put(to + at, octet);
        }
        let first = if is_first { Kept::IS_FIRST } else { 0 };
        let last = if is_last { Kept::IS_LAST } else { 0 };
        self.kept = Kept {
            at: ring::index(self.capacity(), self.head, to),
            len,
            flags: Kept::IS_KEPT | first | last,
        };
    }

    /// Commits the kept fragment, if there is one; returns the octets that it takes.
    pub(crate) fn commit_kept(&mut self) -> Option<u16> {
        let kept = core::mem::replace(&mut self.kept, Kept::NONE);
        let is_first = kept.has(Kept::IS_FIRST);
        if !kept.has(Kept::IS_KEPT) || !self.has_room(is_first, kept.len.into()) {
            return None;
        }
        for at in 0..kept.len {
            let memory = self.memory.as_ref();
            let octet = ring::get(memory, ring::index(self.capacity(), kept.at, at));
            self.store(is_first, at.into(), octet);
        }
        self.commit(is_first, kept.has(Kept::IS_LAST), kept.len);
        Some(Self::gap(is_first) + kept.len)
    }

    /// Stores an octet of the fragment that is being received, without committing it.
    pub(crate) fn store(&mut self, is_first: bool, at: usize, octet: u8) {
        if self.has_room(is_first, at + 1) {
            let behind = self.used + self.partial + Self::gap(is_first) + at as u16;
            self.put(behind, octet);
        }
    }

    /// Makes the stored fragment of `len` octets part of the FIFO. One that continues no message is dropped; one that
    /// begins a message replaces a message without an end.
    pub(crate) fn commit(&mut self, is_first: bool, is_last: bool, len: u16) {
        if is_first {
            self.move_back(LENGTH + len);
            self.partial = LENGTH;
        } else if self.partial == 0 {
            return;
        }
        self.partial += len;
        if is_last {
            let capacity = self.capacity();
            let at = ring::index(capacity, self.head, self.used);
            ring::put_u16(self.memory.as_mut(), at, self.partial - LENGTH);
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
    fn move_back(&mut self, len: u16) {
        if self.partial > 0 {
            for at in LENGTH..len {
                let octet = self.get(self.used + self.partial + at);
                self.put(self.used + at, octet);
            }
        }
    }

    /// Length of the oldest message.
    pub(crate) fn message_len(&self) -> Option<usize> {
        (self.used > 0).then(|| ring::get_u16(self.memory.as_ref(), self.head).into())
    }

    /// The oldest message in two parts, of which the second is empty unless it wraps.
    pub(crate) fn message(&self) -> Option<(&[u8], &[u8])> {
        let len = self.message_len()?;
        let memory = self.memory.as_ref();
        let begin = usize::from(ring::index(self.capacity(), self.head, LENGTH));
        let (before, from) = memory.split_at_checked(begin)?;
        let one = from.get(..len).unwrap_or(from);
        Some((one, before.get(..len - one.len())?))
    }

    /// Removes the oldest message.
    pub(crate) fn remove(&mut self) {
        if let Some(len) = self.message_len() {
            let taken = LENGTH + len as u16;
            self.head = ring::index(self.capacity(), self.head, taken);
            self.used -= taken;
        }
    }

    fn get(&self, offset: u16) -> u8 {
        let memory = self.memory.as_ref();
        ring::get(
            memory,
            ring::index(ring::capacity(memory), self.head, offset),
        )
    }

    fn put(&mut self, offset: u16, octet: u8) {
        let at = ring::index(self.capacity(), self.head, offset);
        ring::put(self.memory.as_mut(), at, octet);
    }
}

//! The messages that were received on a channel and not read yet.
//!
//! A message is its length and its octets. A fragment is decoded into the free memory behind everything that is
//! committed, and becomes part of the FIFO when its check is right.

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
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> ReceiveFifo<B> {
    pub(crate) const fn new(memory: B) -> Self {
        Self {
            memory,
            head: 0,
            used: 0,
            partial: 0,
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
        len + usize::from(Self::gap(is_first)) <= usize::from(self.free())
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

    /// Drops the message that is not whole.
    pub(crate) fn drop_partial(&mut self) {
        self.partial = 0;
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

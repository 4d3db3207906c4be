//! The messages of a channel that are to be sent, and those whose acknowledgment is due.
//!
//! Fragments are not stored: the same message is always cut at the same places.

use crate::ring;
use crate::wire::LENGTH;

/// A fragment of a message in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fragment {
    /// Index of its first octet in the memory.
    pub(crate) at: u16,
    pub(crate) len: u16,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

impl Fragment {
    /// Octets that it takes of the peer's FIFO.
    pub(crate) const fn cost(self) -> u16 {
        if self.is_first {
            self.len + LENGTH
        } else {
            self.len
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TransmitQueue<B> {
    memory: B,
    /// Index of the oldest message.
    head: u16,
    /// Octets of all messages, with their lengths.
    used: u16,
    /// Acknowledged octets of the oldest message.
    acknowledged: u16,
    /// The message to be sent next, in octets behind the oldest, and those of its octets that were sent.
    next: u16,
    sent: u16,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> TransmitQueue<B> {
    pub(crate) const fn new(memory: B) -> Self {
        Self {
            memory,
            head: 0,
            used: 0,
            acknowledged: 0,
            next: 0,
            sent: 0,
        }
    }

    fn capacity(&self) -> u16 {
        ring::capacity(self.memory.as_ref())
    }

    fn index(&self, offset: u16) -> u16 {
        ring::index(self.capacity(), self.head, offset)
    }

    /// Octet at an index of the memory.
    pub(crate) fn octet(&self, at: u16, offset: u16) -> u8 {
        let memory = self.memory.as_ref();
        ring::get(memory, ring::index(ring::capacity(memory), at, offset))
    }

    /// Longest message for which there is memory now.
    pub(crate) fn room(&self) -> Option<u16> {
        (self.capacity() - self.used).checked_sub(LENGTH)
    }

    /// Octets that the messages in the queue take.
    pub(crate) const fn used(&self) -> u16 {
        self.used
    }

    /// Appends a message of `len` octets for which there is room.
    pub(crate) fn push(&mut self, len: u16, octet: impl Fn(usize) -> u8) {
        let at = self.index(self.used);
        ring::put_u16(self.memory.as_mut(), at, len);
        self.used += LENGTH;
        for number in 0..len {
            let at = self.index(self.used);
            ring::put(self.memory.as_mut(), at, octet(number.into()));
            self.used += 1;
        }
    }

    /// The fragment to be sent next, of at most `max` octets.
    pub(crate) fn next(&self, max: u16) -> Option<Fragment> {
        (self.next < self.used).then(|| self.fragment(self.next, self.sent, max))
    }

    /// Length of the message to be sent next.
    pub(crate) fn next_len(&self) -> u16 {
        self.len_at(self.next)
    }

    fn len_at(&self, message: u16) -> u16 {
        ring::get_u16(self.memory.as_ref(), self.index(message))
    }

    fn fragment(&self, message: u16, done: u16, max: u16) -> Fragment {
        let rest = self.len_at(message) - done;
        let len = rest.min(max);
        Fragment {
            at: self.index(ring_offset(message, done)),
            len,
            is_first: done == 0,
            is_last: len == rest,
        }
    }

    /// Counts the next fragment as sent.
    pub(crate) fn on_sent(&mut self, fragment: Fragment) {
        self.sent += fragment.len;
        if fragment.is_last {
            self.next = ring_offset(self.next, self.sent);
            self.sent = 0;
        }
    }

    /// Removes the oldest fragment, which the peer has; returns it.
    pub(crate) fn on_acknowledged(&mut self, max: u16) -> Fragment {
        let fragment = self.fragment(0, self.acknowledged, max);
        self.acknowledged += fragment.len;
        if fragment.is_last {
            self.remove_oldest();
        }
        fragment
    }

    /// Continues with the oldest fragment that is not acknowledged.
    pub(crate) fn rewind(&mut self) {
        self.next = 0;
        self.sent = self.acknowledged;
    }

    /// Continues with the first fragment of the oldest message.
    pub(crate) fn restart(&mut self) {
        self.acknowledged = 0;
        self.rewind();
    }

    /// Drops every message of which a fragment was sent; returns their number.
    pub(crate) fn drop_sent(&mut self) -> u32 {
        let mut dropped = 0;
        while self.used > 0 && (self.next > 0 || self.sent > 0) {
            self.remove_oldest();
            dropped += 1;
        }
        self.restart();
        dropped
    }

    /// Drops every message; returns their number.
    pub(crate) fn clear(&mut self) -> u32 {
        let mut dropped = 0;
        while self.used > 0 {
            self.drop_oldest();
            dropped += 1;
        }
        dropped
    }

    /// Drops the oldest message, of which nothing is on its way.
    pub(crate) fn drop_oldest(&mut self) {
        self.remove_oldest();
        self.restart();
    }

    fn remove_oldest(&mut self) {
        let taken = ring_offset(0, self.len_at(0));
        self.head = self.index(taken);
        self.used -= taken;
        self.acknowledged = 0;
        if self.next >= taken {
            self.next -= taken;
        } else {
            self.next = 0;
            self.sent = 0;
        }
    }
}

/// Offset of octet `done` of the message at offset `message`.
const fn ring_offset(message: u16, done: u16) -> u16 {
    message + LENGTH + done
}

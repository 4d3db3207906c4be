//! The messages of a channel that are to be sent, and those whose acknowledgment is due.
//!
//! Fragments are not stored: the same message is always cut at the same places.

use crate::ring;
use crate::wire::LENGTH;

/// A fragment of a message in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fragment {
    /// Index of its first octet in the memory.
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

impl Fragment {
    /// Octets that it takes of the peer's FIFO.
    pub(crate) const fn cost(self) -> usize {
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

    fn capacity(&self) -> usize {
        self.memory.as_ref().len()
    }

    /// Index of the octet at an offset behind the oldest message.
    fn index(&self, offset: usize) -> usize {
        ring::wrap(self.capacity(), usize::from(self.head) + offset)
    }

    /// Octet at an index of the memory.
    pub(crate) fn octet(&self, at: usize) -> u8 {
        ring::get(self.memory.as_ref(), at)
    }

    /// Longest message for which there is memory now.
    pub(crate) fn room(&self) -> Option<usize> {
        (self.capacity() - usize::from(self.used)).checked_sub(LENGTH)
    }

    /// Octets that the messages in the queue take.
    pub(crate) const fn used(&self) -> u16 {
        self.used
    }

    /// Appends a message of `len` octets for which there is room.
    pub(crate) fn push(&mut self, len: usize, octet: impl Fn(usize) -> u8) {
        let at = usize::from(self.head) + usize::from(self.used);
        let memory = self.memory.as_mut();
        ring::put_u16(memory, at, len);
        for number in 0..len {
            ring::put(memory, at + LENGTH + number, octet(number));
        }
        self.used += (LENGTH + len) as u16;
    }

    /// The fragment to be sent next, of at most `max` octets.
    pub(crate) fn next(&self, max: usize) -> Option<Fragment> {
        (self.next < self.used).then(|| self.fragment(self.next.into(), self.sent.into(), max))
    }

    /// Length of the message to be sent next.
    pub(crate) fn next_len(&self) -> usize {
        self.len_at(self.next.into())
    }

    fn len_at(&self, message: usize) -> usize {
        ring::get_u16(self.memory.as_ref(), usize::from(self.head) + message)
    }

    fn fragment(&self, message: usize, done: usize, max: usize) -> Fragment {
        let rest = self.len_at(message) - done;
        let len = rest.min(max);
        Fragment {
            at: self.index(message + LENGTH + done),
            len,
            is_first: done == 0,
            is_last: len == rest,
        }
    }

    /// Counts the next fragment as sent.
    pub(crate) fn on_sent(&mut self, fragment: Fragment) {
        self.sent += fragment.len as u16;
        if fragment.is_last {
            self.next += LENGTH as u16 + self.sent;
            self.sent = 0;
        }
    }

    /// Removes the oldest fragment, which the peer has; returns it.
    pub(crate) fn on_acknowledged(&mut self, max: usize) -> Fragment {
        let fragment = self.fragment(0, self.acknowledged.into(), max);
        self.acknowledged += fragment.len as u16;
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
        let len = LENGTH + self.len_at(0);
        self.head = self.index(len) as u16;
        let taken = len as u16;
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

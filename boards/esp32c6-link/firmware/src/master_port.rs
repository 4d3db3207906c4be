//! The link's port on SPI 2 as the master: a transfer begins when the program has enough octets for it, or has no more.

use crate::counts::{Count, add};
use crate::master::{LONGEST, Master};
use crate::port::Octets;
use crate::ring::Ring;

/// Octets that the program has not read: what two transfers bring, and as much again.
const UNREAD: usize = 4 * LONGEST;

/// The master, and the octets between it and the program.
pub struct MasterPort {
    master: Master,
    received: Ring<UNREAD>,
    to_send: Ring<LONGEST>,
}

impl MasterPort {
    /// A port of this master.
    pub const fn new(master: Master) -> Self {
        Self {
            master,
            received: Ring::new(),
            to_send: Ring::new(),
        }
    }

    /// Composes a transfer of what waits, if it fills one or `is_all`, and if there is room for what two transfers bring: this
    /// one, and one that is under way.
    fn compose(&mut self, is_all: bool) {
        let payload = self.master.payload();
        let is_due = is_all || self.to_send.len() >= payload;
        if is_due && self.received.room() >= 2 * payload {
            let to_send = &mut self.to_send;
            self.master.compose(|room| to_send.pop(room));
        }
    }

    fn poll(&mut self) {
        let received = &mut self.received;
        self.master.poll(|octets| {
            let kept = received.push(octets);
            add(Count::Unread, (octets.len() - kept) as u32);
        });
    }
}

impl Octets for MasterPort {
    fn read(&mut self, to: &mut [u8]) -> usize {
        self.poll();
        self.received.pop(to)
    }

    fn write(&mut self, octets: &[u8]) -> usize {
        // Not more than for one transfer: an urgent message would wait behind it.
        let room = self.master.payload() - self.to_send.len();
        let count = self.to_send.push(&octets[..octets.len().min(room)]);
        self.compose(false);
        self.poll();
        count
    }

    fn flush(&mut self) {
        self.compose(true);
        self.poll();
    }
}

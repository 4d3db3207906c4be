//! A master at the other end of the controller, which is a slave then: transfers of one length with a pause after each,
//! whether the slave is ready or not, as on a link without a line for "ready". When it has nothing to send it sends zeros.

use std::collections::VecDeque;

use super::{Burst, MAX_BURST};
use crate::time::{Instant, Span};

/// Settings of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpiHost {
    /// Duration of an octet: eight clocks.
    pub octet: Span,
    /// Octets of a transfer, at least one.
    pub transfer_octets: usize,
    /// Time from the end of a transfer, when chip select rises, to the beginning of the next one.
    pub pause: Span,
}

/// The master and its line.
#[derive(Clone, Debug)]
pub struct SpiLine {
    host: SpiHost,
    /// Start of the current transfer, and the octets of it that are done.
    begin: Instant,
    done: usize,
    /// The slave takes part in the current transfer; decided by its first clock.
    is_heard: bool,
    /// What the master sends, a transfer each, and true if the current transfer is the first of them.
    queue: VecDeque<Vec<u8>>,
    is_queued: bool,
    /// What the slave has sent in the current transfer, and in complete ones.
    arriving: Vec<u8>,
    arrived: Vec<(Instant, Vec<u8>)>,
    transfers: u64,
    unheard: u64,
}

impl SpiLine {
    pub(super) fn new(host: SpiHost, now: Instant) -> Self {
        Self {
            host: SpiHost {
                transfer_octets: host.transfer_octets.max(1),
                ..host
            },
            begin: now + host.pause,
            done: 0,
            is_heard: false,
            queue: VecDeque::new(),
            is_queued: false,
            arriving: Vec::new(),
            arrived: Vec::new(),
            transfers: 0,
            unheard: 0,
        }
    }

    /// Queues a transfer; its rest is filled with zeros.
    pub fn send(&mut self, octets: Vec<u8>) {
        self.queue.push_back(octets);
    }

    /// Transfers that are not complete yet.
    pub fn backlog(&self) -> usize {
        self.queue.len()
    }

    /// What the slave has sent in each transfer since the last call, with its end. Ones where it took no part.
    pub fn take_arrived(&mut self) -> Vec<(Instant, Vec<u8>)> {
        std::mem::take(&mut self.arrived)
    }

    /// Complete transfers, and those of them in which the slave took no part.
    pub const fn transfers(&self) -> (u64, u64) {
        (self.transfers, self.unheard)
    }

    /// The next part of the current transfer. `armed_at` is the time since when the slave is ready.
    pub(super) fn burst(&self, armed_at: Option<Instant>) -> Burst {
        let len = (self.host.transfer_octets - self.done).min(MAX_BURST);
        let mut from_host = [0; MAX_BURST];
        if let Some(octets) = self
            .queue
            .front()
            .filter(|_| self.done == 0 || self.is_queued)
        {
            let rest = octets.iter().skip(self.done);
            for (to, octet) in from_host[..len].iter_mut().zip(rest) {
                *to = *octet;
            }
        }
        let is_heard = if self.done == 0 {
            armed_at.is_some_and(|at| at <= self.begin)
        } else {
            self.is_heard
        };
        Burst {
            start: self.begin + Span::from_ticks(self.host.octet.ticks() * self.done as u64),
            octet: self.host.octet,
            len,
            sent: if is_heard {
                [0; MAX_BURST]
            } else {
                [0xff; MAX_BURST]
            },
            sends_by_dma: is_heard,
            receives_by_dma: is_heard,
            takes_part: is_heard,
            is_last: self.done + len == self.host.transfer_octets,
            from_host: Some(from_host),
        }
    }

    /// The burst is complete; `sent` are the octets of the slave. Returns true if it took part.
    pub(super) fn complete(&mut self, burst: &Burst, sent: [u8; MAX_BURST]) -> bool {
        self.is_heard = burst.takes_part;
        if self.done == 0 {
            self.is_queued = !self.queue.is_empty();
        }
        self.arriving.extend(&sent[..burst.len]);
        self.done += burst.len;
        if burst.is_last {
            let octets = std::mem::take(&mut self.arriving);
            self.arrived.push((burst.end(), octets));
            if std::mem::take(&mut self.is_queued) {
                self.queue.pop_front();
            }
            self.done = 0;
            self.begin = burst.end() + self.host.pause;
            self.transfers += 1;
            self.unheard += u64::from(!self.is_heard);
        }
        self.is_heard
    }

    /// The slave was reset: it takes no part in the rest of the current transfer.
    pub(super) const fn forget(&mut self) {
        self.is_heard = false;
    }
}

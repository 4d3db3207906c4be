use super::{Jitter, Sequence};
use crate::Instant;
use core::time::Duration;

/// The receiving end of a stream of numbered datagrams.
#[derive(Debug, Clone)]
pub struct Sink {
    /// Their numbers.
    pub sequence: Sequence,
    /// Their times.
    pub jitter: Jitter,
    /// Payload of all of them, duplicates included.
    pub octets: u64,
    first: Option<Instant>,
    last: Instant,
}

impl Sink {
    /// Nothing has come; the sender counts from `first_number`.
    #[must_use]
    pub const fn new(first_number: u64) -> Self {
        Self {
            sequence: Sequence::new(first_number),
            jitter: Jitter::new(),
            octets: 0,
            first: None,
            last: Instant::from_ns(0),
        }
    }

    /// A datagram came with this number, sent at this time on the sender's clock.
    pub fn arrived(&mut self, number: u64, sent_ns: u64, octets: usize, now: Instant) {
        self.sequence.arrived(number);
        self.jitter.arrived(sent_ns, now.ns());
        self.octets(octets, now);
    }

    /// Octets came that have no number.
    pub fn octets(&mut self, octets: usize, now: Instant) {
        self.octets += octets as u64;
        self.first.get_or_insert(now);
        self.last = now;
    }

    /// From the first datagram to the last.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.first
            .map_or(Duration::ZERO, |first| self.last.since(first))
    }

    /// When the last one came; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        self.first.map(|_| self.last)
    }
}

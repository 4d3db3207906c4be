//! A running hash over all events: equal runs have equal hashes.

use core::fmt;

use crate::random::mix;
use crate::time::Instant;

/// 64-bit FNV-1a (Fowler, Noll, Vo); each item ends with its length and a mixing step. Not
/// cryptographic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl TraceHash {
    /// The hash of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event: its kind, time and content.
    pub fn event(&mut self, kind: u8, at: Instant, content: &[u8]) {
        self.bytes(&[kind]);
        self.number(at.ticks());
        self.bytes(content);
        self.number(content.len() as u64);
        self.0 = mix(self.0);
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    /// The hash so far.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.0
    }
}

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(events: &[(u8, u64, &[u8])]) -> u64 {
        let mut hash = TraceHash::new();
        for &(kind, ns, content) in events {
            hash.event(kind, Instant::from_ns(ns), content);
        }
        hash.value()
    }

    #[test]
    fn kind_time_content_and_order_matter() {
        let whole = hash(&[(1, 5, b"ab"), (2, 6, b"c")]);
        assert_eq!(whole, hash(&[(1, 5, b"ab"), (2, 6, b"c")]));
        for other in [
            hash(&[(2, 6, b"c"), (1, 5, b"ab")]),
            hash(&[(1, 5, b"a"), (2, 6, b"bc")]),
            hash(&[(1, 6, b"ab"), (2, 6, b"c")]),
            hash(&[(3, 5, b"ab"), (2, 6, b"c")]),
            hash(&[(1, 5, b"ab")]),
        ] {
            assert_ne!(whole, other);
        }
    }
}

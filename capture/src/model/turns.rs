//! Whose turn it is: requests and answers of a connection, and who kept the other waiting.

use crate::tcp::{End, LoggedPacket};

/// Times in which one end waits for the other's program.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// Changes of direction: from the last payload of one end to the first of the other, by the end that answers
    /// (first, second).
    pub waits: [Vec<Wait>; 2],
    /// Payload of each end's turns.
    pub turn_bytes: [Vec<u64>; 2],
}

/// The time before an end begins its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Start: the last payload of the other end.
    pub start_ns: u64,
    /// Time to the first payload of this end.
    pub ns: u64,
    /// The packet that ends it.
    pub number: u32,
}

impl Turns {
    /// The turns in `packets`. Retransmissions do not begin a turn.
    pub fn of(packets: &[LoggedPacket]) -> Self {
        let mut turns = Self::default();
        let mut last: Option<(End, u64)> = None;
        let mut bytes = 0;
        let payload = packets
            .iter()
            .filter(|it| it.len > 0 && !it.is_retransmission());
        for packet in payload {
            let end = packet.from();
            match last {
                Some((before, time_ns)) if before != end => {
                    turns.turn_bytes[before as usize].push(bytes);
                    bytes = 0;
                    turns.waits[end as usize].push(Wait {
                        start_ns: time_ns,
                        ns: packet.time_ns - time_ns,
                        number: packet.number,
                    });
                }
                _ => {}
            }
            bytes += u64::from(packet.len);
            last = Some((end, packet.time_ns));
        }
        if let Some((end, _)) = last {
            turns.turn_bytes[end as usize].push(bytes);
        }
        turns
    }

    /// Number of changes of direction.
    pub fn changes(&self) -> usize {
        self.waits.iter().map(Vec::len).sum()
    }

    /// Total time before `end`'s turns, each shortened by `rtt_ns`.
    pub fn waited_ns(&self, end: End, rtt_ns: u64) -> u64 {
        let waits = self.waits[end as usize].iter();
        waits.map(|wait| wait.ns.saturating_sub(rtt_ns)).sum()
    }

    /// Octets of the longest turn of `end`.
    pub fn longest_turn(&self, end: End) -> u64 {
        self.turn_bytes[end as usize]
            .iter()
            .copied()
            .max()
            .unwrap_or(0)
    }
}

//! The identifications of IPv4 packets (RFC 791 section 3.1), as far as a host numbers its packets by them: their order, and which are
//! missing.

use crate::tcp::{End, LoggedPacket};

/// Fewer numbers may rise by chance.
const MIN_RISES: usize = 8;
/// Random numbers rise by less than this once in 32 times.
const MAX_RISE: u16 = 2_048;
/// Fewer packets that follow each other do not show how the others are numbered.
const MIN_FOLLOWING: usize = 16;
/// More numbers at once were used for something else.
const MAX_MISSING: u16 = 16;

fn of_end(packets: &[LoggedPacket], end: End) -> Vec<u16> {
    let own = packets.iter().filter(|it| it.from() == end);
    own.map(|it| it.identification).collect()
}

/// True if the identifications of the sender's IPv4 packets rise from one to the next, also where it sends to others meanwhile. Some
/// senders use 0, a random number or a constant for what must not be fragmented (RFC 6864 section 4.1).
pub(super) fn rise(packets: &[LoggedPacket], sender: End) -> bool {
    let numbers = of_end(packets, sender);
    let pairs = || numbers.windows(2).filter(|pair| pair[0] != pair[1]);
    let rises = |pair: &&[u16]| (1..MAX_RISE).contains(&pair[1].wrapping_sub(pair[0]));
    let rising = pairs().filter(rises).count();
    rising >= MIN_RISES && rising * 10 >= pairs().count() * 9 && rising * 4 >= numbers.len()
}

/// The identifications of an end's IPv4 packets, which show those that are missing if it numbers them without gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketNumbers {
    is_dense: bool,
    last: Option<u16>,
}

impl PacketNumbers {
    pub(super) fn of(packets: &[LoggedPacket], end: End) -> Self {
        let numbers = of_end(packets, end);
        let follows = |pair: &&[u16]| pair[1].wrapping_sub(pair[0]) == 1;
        let following = numbers.windows(2).filter(follows).count();
        Self {
            is_dense: following >= MIN_FOLLOWING && following * 10 >= numbers.len() * 8,
            last: None,
        }
    }

    /// Numbers between the end's last packet and this one that were not captured, if so few may have been lost.
    pub(super) fn missing_before(&mut self, packet: &LoggedPacket) -> u16 {
        let number = packet.identification;
        let ahead = self.last.map_or(1, |last| number.wrapping_sub(last));
        // What was overtaken, or is a copy, is behind the last one.
        if ahead as i16 > 0 {
            self.last = Some(number);
        }
        if self.is_dense && (2..MAX_MISSING).contains(&ahead) {
            ahead - 1
        } else {
            0
        }
    }
}

//! Sending: room in the transmit FIFO, the commands before each frame, and what became of it.

use super::chip::{AFTER_FIFO, Chip, OFFSET, TX_DATA, csr};
use super::driver::{LONGEST, SHORTEST};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use crate::pio;
use linerate_ether::fcs;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_regs::Bits;

/// Command A (section 3.12.2.1): where the frame begins in its first word, that it is one piece, its octets.
mod command_a {
    use super::Bits;
    pub const START: Bits = Bits { low: 16, count: 5 };
    pub const FIRST: Bits = Bits { low: 13, count: 1 };
    pub const LAST: Bits = Bits { low: 12, count: 1 };
    pub const SIZE: Bits = Bits::all(11);
}

/// Command B (section 3.12.2.2): a tag that its state comes back with, and its octets.
mod command_b {
    use super::Bits;
    pub const TAG: Bits = Bits { low: 16, count: 16 };
    pub const LENGTH: Bits = Bits::all(11);
}

/// What a tag says: octets with FCS, and to whom.
mod tag {
    use super::Bits;
    pub const OCTETS: Bits = Bits::all(11);
    pub const GROUP: Bits = Bits { low: 14, count: 1 };
    pub const ALL: Bits = Bits { low: 15, count: 1 };
}

/// Octets in the FIFO of a frame of this many words (section 3.12.5).
const fn room_of(words: usize) -> u32 {
    4 * (2 + words as u32)
}

/// Words of a frame of this many octets, with those before it.
pub(super) const fn words_of(octets: usize) -> usize {
    (OFFSET + octets).div_ceil(4)
}

/// What is known of the room in the FIFO.
#[derive(Debug)]
pub(super) struct Transmitter {
    octets: u32,
}

impl Transmitter {
    /// Nothing known yet.
    pub(super) const fn new() -> Self {
        Self { octets: 0 }
    }

    /// Whether the longest frame fits. Asks the chip only when what is known is used up.
    #[inline]
    pub(super) fn has_room(&mut self, chip: &Chip<impl Registers>, ledger: &Ledger) -> bool {
        const NEEDED: u32 = room_of(words_of(LONGEST));
        if self.octets < NEEDED {
            self.look(chip, ledger);
        }
        self.octets >= NEEDED
    }

    /// Asks the chip for room, and what became of the frames that went. There is room for the states of
    /// 128 frames, for no more than 64 of the shortest between two such questions, and as many may be on
    /// their way.
    pub(super) fn look(&mut self, chip: &Chip<impl Registers>, ledger: &Ledger) {
        chip.settle(AFTER_FIFO);
        let inside = chip.read(csr::TX_FIFO_INF);
        for _ in 0..csr::TX_FIFO_INF::TXSUSED.get(inside) {
            count(chip.read(csr::TX_STATUS_FIFO), ledger);
        }
        self.octets = csr::TX_FIFO_INF::TDFREE.get(inside);
    }

    /// Whether all has left the FIFO that was in it at the last look.
    pub(super) const fn is_empty(&self) -> bool {
        self.octets == TX_DATA
    }

    /// Sends the frame of this many octets that lies in these words behind the first [`OFFSET`] octets.
    #[inline]
    pub(super) fn send(&mut self, chip: &Chip<impl Registers>, words: &[u32], octets: usize) {
        let length = octets as u32;
        let whole = command_a::FIRST.mask() | command_a::LAST.mask();
        let start = command_a::START.of(OFFSET as u32);
        chip.write(
            csr::TX_DATA_FIFO,
            start | whole | command_a::SIZE.of(length),
        );
        let tag = command_b::TAG.of(tag_of(words, octets));
        chip.write(csr::TX_DATA_FIFO, tag | command_b::LENGTH.of(length));
        pio::put(&chip.0, csr::TX_DATA_FIFO, words);
        self.octets = self.octets.saturating_sub(room_of(words.len()));
    }
}

/// The chip pads and appends the FCS (section 3.12.2.2).
fn tag_of(words: &[u32], octets: usize) -> u32 {
    let sent = octets.max(SHORTEST) + fcs::LEN;
    let mut address = [0; 6];
    if let [first, second, ..] = words {
        address[..2].copy_from_slice(&first.to_ne_bytes()[OFFSET..]);
        address[2..].copy_from_slice(&second.to_ne_bytes());
    }
    let address = MacAddress(address);
    let whom = if address.is_broadcast() {
        tag::ALL.mask()
    } else {
        u32::from(address.is_multicast()) * tag::GROUP.mask()
    };
    tag::OCTETS.of(sent as u32) | whom
}

/// Counts what became of a frame (section 3.12.3).
fn count(status: u32, ledger: &Ledger) {
    use csr::TX_STATUS_FIFO as it;
    if it::DEFERRED.is_set(status) {
        ledger.count(Counter::TxDeferred);
    }
    if it::ES.is_set(status) {
        ledger.count(if it::LATE_COLLISION.is_set(status) {
            Counter::TxLateCollisions
        } else if it::EXCESS_COLLISIONS.is_set(status) {
            Counter::TxExcessiveCollisions
        } else if it::EXCESS_DEFERRAL.is_set(status) {
            Counter::TxExcessiveDeferrals
        } else {
            Counter::TxCarrierSenseErrors
        });
        return;
    }
    match it::COLLISIONS.get(status) {
        0 => {}
        1 => ledger.count(Counter::TxSingleCollisions),
        _ => ledger.count(Counter::TxMultipleCollisions),
    }
    let tag = it::TAG.get(status);
    ledger.count(Counter::TxFrames);
    ledger.add(Counter::TxOctets, tag::OCTETS.get(tag));
    if tag::ALL.is_set(tag) {
        ledger.count(Counter::TxBroadcast);
    } else if tag::GROUP.is_set(tag) {
        ledger.count(Counter::TxMulticast);
    }
}

//! Transmission: room in the transmit FIFO, the commands before each frame, and its fate.

use super::chip::{AFTER_FIFO, Chip, OFFSET, csr};
use super::driver::LONGEST;
use crate::accounts::{Collisions, OutgoingFrame};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use crate::pio;
use linerate_ether::ledger::Counter;
use linerate_regs::Bits;

/// Command A (section 3.12.2.1): offset of the frame in its first word, single segment, length in
/// octets.
mod command_a {
    use super::Bits;
    pub const START: Bits = Bits { low: 16, count: 5 };
    pub const FIRST: Bits = Bits { low: 13, count: 1 };
    pub const LAST: Bits = Bits { low: 12, count: 1 };
    pub const SIZE: Bits = Bits::all(11);
}

/// Command B (section 3.12.2.2): a tag that is returned with the status, and the length in octets.
mod command_b {
    use super::Bits;
    pub const TAG: Bits = Bits { low: 16, count: 16 };
    pub const LENGTH: Bits = Bits::all(11);
}

/// Octets that a frame of this many words takes in the FIFO (section 3.12.5).
const fn fifo_octets(words: usize) -> u32 {
    4 * (2 + words as u32)
}

/// Words of a frame of this many octets, with those before it.
pub(super) const fn words_of(octets: usize) -> usize {
    (OFFSET + octets).div_ceil(4)
}

/// Known room in the FIFO, and the frames whose status was not read.
#[derive(Debug)]
pub(super) struct Transmitter {
    octets: u32,
    unsent: u32,
}

impl Transmitter {
    /// The initial state: no known room.
    pub(super) const fn new() -> Self {
        Self {
            octets: 0,
            unsent: 0,
        }
    }

    /// Returns `true` if the longest frame fits. Reads the chip only if the known room is used up.
    #[inline]
    pub(super) fn poll_space(&mut self, chip: &Chip<impl Registers>, ledger: &Ledger) -> bool {
        const NEEDED: u32 = fifo_octets(words_of(LONGEST));
        if self.octets < NEEDED {
            self.poll(chip, ledger);
        }
        self.octets >= NEEDED
    }

    /// Reads the room from the chip, and the status of sent frames. The status FIFO holds 128
    /// frames: at most 64 of the shortest are sent between two such calls, and as many may be in
    /// transmission.
    pub(super) fn poll(&mut self, chip: &Chip<impl Registers>, ledger: &Ledger) {
        chip.settle(AFTER_FIFO);
        let inside = chip.read(csr::TX_FIFO_INF);
        for _ in 0..csr::TX_FIFO_INF::TXSUSED.get(inside) {
            count(chip.read(csr::TX_STATUS_FIFO), ledger);
            self.unsent = self.unsent.saturating_sub(1);
        }
        self.octets = csr::TX_FIFO_INF::TDFREE.get(inside);
    }

    /// Frames that were not sent at the last poll.
    pub(super) const fn unsent(&self) -> u32 {
        self.unsent
    }

    /// Sends the frame of this many octets in `words`, after the first [`OFFSET`] octets.
    #[inline]
    pub(super) fn send(&mut self, chip: &Chip<impl Registers>, words: &[u32], octets: usize) {
        let length = octets as u32;
        let whole = command_a::FIRST.mask() | command_a::LAST.mask();
        let start = command_a::START.of(OFFSET as u32);
        chip.write(
            csr::TX_DATA_FIFO,
            start | whole | command_a::SIZE.of(length),
        );
        let tag = command_b::TAG.of(frame_of(words, octets).bits().into());
        chip.write(csr::TX_DATA_FIFO, tag | command_b::LENGTH.of(length));
        pio::write_words(&chip.0, csr::TX_DATA_FIFO, words);
        self.octets = self.octets.saturating_sub(fifo_octets(words.len()));
        self.unsent += 1;
    }
}

/// The chip pads and appends the FCS (section 3.12.2.2).
fn frame_of(words: &[u32], octets: usize) -> OutgoingFrame {
    let mut address = [0; 6];
    if let [first, second, ..] = words {
        address[..2].copy_from_slice(&first.to_ne_bytes()[OFFSET..]);
        address[2..].copy_from_slice(&second.to_ne_bytes());
    }
    OutgoingFrame::new(&address, octets)
}

/// Counts the fate of a frame (section 3.12.3).
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
    let collisions = match it::COLLISIONS.get(status) {
        0 => Collisions::None,
        1 => Collisions::One,
        _ => Collisions::Several,
    };
    let frame = OutgoingFrame::from_bits(it::TAG.get(status) as u16);
    frame.count_sent(ledger, collisions);
}

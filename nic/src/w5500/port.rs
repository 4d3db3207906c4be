//! Frames between transport and buffers: pointers, and what is under way.

use super::transport::{Address, Block, Buffer, FRAME_BUFFER, Transport};
use crate::accounts::{Collisions, OutgoingFrame};
use crate::ledger::Ledger;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN};
use linerate_ether::ledger::Counter;

/// Registers of socket 0.
pub(super) const SN_CR: Address = Address(Block::Socket, 0x01);
const SN_IR: Address = Address(Block::Socket, 0x02);
const SN_TX_FSR: Address = Address(Block::Socket, 0x20);
const SN_TX_WR: Address = Address(Block::Socket, 0x24);
/// Followed by `SN_RX_RD` and `SN_RX_WR`.
const SN_RX_RSR: Address = Address(Block::Socket, 0x26);
const SN_RX_RD: Address = Address(Block::Socket, 0x28);

/// Commands.
const SEND: u8 = 0x20;
const RECV: u8 = 0x40;
/// Interrupt: a frame arrived.
pub(super) const RECEIVED: u8 = 1 << 2;

/// Octets of the chip's memory in each direction.
pub(super) const MEMORY: u16 = 16 << 10;
/// Octets of the length in front of a frame, which includes them.
const LENGTH: u16 = 2;
/// Number of octets read from which on their memory is returned to the chip, so that it has room for more.
const COMMIT_FROM: u16 = MEMORY / 4;
/// Attempts to read a pointer that the chip does not change meanwhile.
const MAX_READS: usize = 16;

/// Up to two buffers that nobody uses.
pub(super) struct Idle<B>([Option<B>; 2]);

impl<B> Idle<B> {
    pub fn push(&mut self, buffer: B) {
        if let Some(place) = self.0.iter_mut().find(|place| place.is_none()) {
            *place = Some(buffer);
        }
    }

    pub fn pop(&mut self) -> Option<B> {
        self.0.iter_mut().find_map(Option::take)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

/// A frame that is being read: its length, and true if the length of the next one follows.
#[derive(Clone, Copy)]
struct Reading {
    len: u16,
    has_next: bool,
}

/// Transport and pointers. At most one of a read and a write is under way.
pub(super) struct Port<T: Transport> {
    transport: T,
    pub ledger: &'static Ledger,
    /// Next octet to read, and the octets from there on that the chip has.
    read: u16,
    available: u16,
    /// Octets that were read and not yet given back to the chip.
    uncommitted: u16,
    /// Length in front of the next frame, if it is known.
    next_len: Option<u16>,
    reading: Option<Reading>,
    /// A frame that was read before the stack asked for it.
    held: Option<(usize, T::RxBuffer)>,
    pub idle_rx: Idle<T::RxBuffer>,
    /// Next octet to write, and the room that is known to be from there on.
    write: u16,
    room: u16,
    /// Length of the frame that is being written, and its account.
    pub sending: Option<(u16, OutgoingFrame)>,
    pub idle_tx: Idle<T::TxBuffer>,
    /// A transaction failed: nothing moves any more.
    pub failed: bool,
}

impl<T: Transport> Port<T> {
    /// The pointers of a socket that was just opened.
    pub fn new(
        transport: T,
        (rx, tx): ([T::RxBuffer; 2], [T::TxBuffer; 2]),
        ledger: &'static Ledger,
    ) -> Self {
        Self {
            transport,
            ledger,
            read: 0,
            available: 0,
            uncommitted: 0,
            next_len: None,
            reading: None,
            held: None,
            idle_rx: Idle(rx.map(Some)),
            write: 0,
            room: MEMORY,
            sending: None,
            idle_tx: Idle(tx.map(Some)),
            failed: false,
        }
    }

    /// Ends what is under way.
    fn settle(&mut self) {
        if let Some(frame) = self.finish_frame() {
            self.held = Some(frame);
        }
        self.finish_sending();
    }

    /// Reads registers; they are zero if that fails.
    pub fn read(&mut self, at: Address, to: &mut [u8]) {
        self.settle();
        self.failed |= self.transport.read(at, to).is_err();
    }

    fn write(&mut self, at: Address, from: &[u8]) {
        self.settle();
        self.failed |= self.transport.write(at, from).is_err();
    }

    /// Returns the frame that was read ahead or is being read, and its length.
    pub fn finish_frame(&mut self) -> Option<(usize, T::RxBuffer)> {
        if let Some(frame) = self.held.take() {
            return Some(frame);
        }
        let Reading { len, has_next } = self.reading.take()?;
        let (mut buffer, result) = self.transport.finish_read()?;
        if result.is_err() {
            self.failed = true;
            self.idle_rx.push(buffer);
            return None;
        }
        if has_next {
            let at = usize::from(len);
            let octets = buffer.octets();
            self.next_len = Some(u16::from_be_bytes([octets[at], octets[at + 1]]));
        }
        Some((usize::from(len), buffer))
    }

    /// Starts to read the next frame if the chip is known to have one. What is under way is over.
    pub fn start_frame(&mut self) -> bool {
        if self.available == 0 || self.uncommitted >= COMMIT_FROM {
            self.commit();
        }
        if self.available == 0 || self.failed {
            return false;
        }
        let Some(len) = self.frame_len() else {
            return false;
        };
        let Some(buffer) = self.idle_rx.pop() else {
            return false;
        };
        let from = Address(Block::Receive, self.read.wrapping_add(LENGTH));
        self.read = self.read.wrapping_add(LENGTH + len);
        self.available -= LENGTH + len;
        self.uncommitted += LENGTH + len;
        let has_next = self.available > 0;
        let octets = len + if has_next { LENGTH } else { 0 };
        self.reading = Some(Reading { len, has_next });
        self.transport.start_read(from, usize::from(octets), buffer);
        true
    }

    /// Length of the next frame. If it is impossible, everything that the chip has is dropped: where the next frame
    /// begins is unknown.
    fn frame_len(&mut self) -> Option<u16> {
        let total = if let Some(len) = self.next_len.take() {
            len
        } else {
            let mut octets = [0; 2];
            self.read(Address(Block::Receive, self.read), &mut octets);
            u16::from_be_bytes(octets)
        };
        let len = total.wrapping_sub(LENGTH);
        let possible = HEADER_LEN..=MAX_LEN - fcs::LEN;
        if possible.contains(&usize::from(len)) && total <= self.available {
            return Some(len);
        }
        self.ledger.count(Counter::RxFrames);
        self.ledger.count(Counter::RxOversize);
        self.read = self.read.wrapping_add(self.available);
        self.uncommitted += self.available;
        self.available = 0;
        self.commit();
        None
    }

    /// Gives the octets that were read back to the chip.
    fn commit(&mut self) {
        if core::mem::take(&mut self.uncommitted) > 0 {
            self.write(SN_RX_RD, &self.read.to_be_bytes());
            self.write(SN_CR, &[RECV]);
        }
    }

    /// Looks for arrived frames; returns true if there are any.
    pub fn look(&mut self) -> bool {
        // Frames that arrive from here on interrupt again.
        self.write(SN_IR, &[RECEIVED]);
        for _ in 0..MAX_READS {
            let mut octets = [0; 6];
            self.read(SN_RX_RSR, &mut octets);
            let [size_high, size_low, _, _, write_high, write_low] = octets;
            let size = u16::from_be_bytes([size_high, size_low]);
            let write = u16::from_be_bytes([write_high, write_low]);
            // Otherwise a frame arrived between their octets.
            if write.wrapping_sub(self.read) == size && size <= MEMORY {
                self.available = size;
                return size > 0 && !self.failed;
            }
        }
        false
    }

    /// True if a frame of any length can be sent.
    pub fn has_room(&mut self) -> bool {
        if self.failed {
            return false;
        }
        if usize::from(self.room) < FRAME_BUFFER {
            // As above, the chip may change it between its octets; it only grows.
            let (mut first, mut second) = ([0; 2], [0; 2]);
            self.read(SN_TX_FSR, &mut first);
            self.read(SN_TX_FSR, &mut second);
            if first == second {
                self.room = u16::from_be_bytes(first).min(MEMORY);
            }
        }
        if self.idle_tx.is_empty() {
            self.finish_sending();
        }
        usize::from(self.room) >= FRAME_BUFFER && !self.idle_tx.is_empty()
    }

    /// Starts to write a frame, which [`Self::finish_sending`] sends.
    pub fn send(&mut self, mut buffer: T::TxBuffer, len: usize) {
        let account = OutgoingFrame::new(&buffer.octets()[..len], len);
        self.settle();
        let to = Address(Block::Transmit, self.write);
        self.transport.start_write(to, len, buffer);
        self.sending = Some((len as u16, account));
    }

    /// Waits for the end of the write that is under way, and sends its frame.
    pub fn finish_sending(&mut self) {
        let Some((len, account)) = self.sending.take() else {
            return;
        };
        let Some((buffer, result)) = self.transport.finish_write() else {
            return;
        };
        self.idle_tx.push(buffer);
        self.failed |= result.is_err();
        self.write = self.write.wrapping_add(len);
        self.room = self.room.saturating_sub(len);
        let pointer = self.write.to_be_bytes();
        self.failed |= self.transport.write(SN_TX_WR, &pointer).is_err()
            || self.transport.write(SN_CR, &[SEND]).is_err();
        if !self.failed {
            account.count_sent(self.ledger, Collisions::None);
        }
    }
}

//! A PHY on a shared medium, with scripted collisions.

use super::frame;
use linerate_ether::ledger::Counter;
use linerate_nic::device::LinkState;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{BitTimes, Phy, TransmitError, Transmitter, TxStart};
use std::cell::Cell;

pub const SLOT: u32 = 512;
/// Preamble with SFD, and the jam: the fragment of a collision at the start.
pub const FRAGMENT_BITS: u32 = 64 + 32;

/// A PHY with scripted collisions that appends the FCS. Each read of the clock takes one bit time.
pub struct Shared {
    pub now: Cell<u32>,
    pub carrier: Option<(u32, u32)>,
    /// Outcomes of the next attempts, the last one first: a collision after this many bits, or
    /// none.
    pub collisions: Vec<Option<u32>>,
    pub link: LinkState,
    /// Start and end of each attempt.
    pub attempts: Vec<(u32, u32)>,
    /// The transmitter is cut off.
    pub jabbers: bool,
    pub sent: Vec<Vec<u8>>,
}

impl Shared {
    pub fn new(collisions: &[Option<u32>]) -> Self {
        Self {
            now: Cell::new(0),
            carrier: None,
            collisions: collisions.iter().rev().copied().collect(),
            link: LinkState::Up,
            attempts: Vec::new(),
            jabbers: false,
            sent: Vec::new(),
        }
    }

    pub fn pass(&self, bits: u32) {
        self.now.set(self.now.get().wrapping_add(bits));
    }
}

impl Phy for Shared {
    const APPENDS_FCS: bool = true;
    const GAP_PART_2: BitTimes = BitTimes(32);

    fn now(&self) -> BitTimes {
        self.pass(1);
        BitTimes(self.now.get())
    }

    fn transmit(&mut self, packet: &[u8], start: TxStart) -> Result<BitTimes, TransmitError> {
        // Negative if it is in the past.
        let ahead = start.at.since(BitTimes(self.now.get())).0 as i32;
        assert!(ahead <= Self::GAP_PART_2.0 as i32);
        for _ in 0..ahead {
            self.pass(1);
            if start.defers && self.carrier() {
                return Err(TransmitError::Busy);
            }
        }
        if self.jabbers {
            return Err(TransmitError::Jabber);
        }
        let begin = self.now.get();
        let result = if let Some(bits_sent) = self.collisions.pop().flatten() {
            self.pass(bits_sent.max(64) + 32);
            Err(TransmitError::Collision { bits_sent })
        } else {
            self.pass((packet.len() as u32 + 4) * 8);
            self.sent.push(packet.to_vec());
            Ok(BitTimes(self.now.get()))
        };
        self.attempts.push((begin, self.now.get()));
        result
    }

    fn carrier(&self) -> bool {
        self.carrier
            .is_some_and(|(start, end)| (start..end).contains(&self.now.get()))
    }

    fn reception_ended(&self) -> Option<BitTimes> {
        let over = self.carrier.filter(|&(_, end)| self.now.get() >= end);
        over.map(|(_, end)| BitTimes(end))
    }

    fn link_state(&self) -> LinkState {
        self.link
    }
}

pub fn send(transmitter: &mut Transmitter<'_, Shared>, seed: u8) {
    let frame = frame(60, seed);
    transmitter
        .send(frame.len(), |buffer| buffer.copy_from_slice(&frame))
        .unwrap();
}

pub fn counted(ledger: &Ledger) -> Vec<(Counter, u32)> {
    ledger.non_zero().collect()
}

/// Sends a frame and polls until its fate is known.
pub fn send_out(transmitter: &mut Transmitter<'_, Shared>, seed: u8) {
    send(transmitter, seed);
    while !transmitter.poll_ready() {}
}

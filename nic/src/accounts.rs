//! Accounting of frames, shared by the drivers of network controllers: what is counted, and when.
//!
//! - Every frame that the controller reports is [`RxFrames`](Counter::RxFrames). It ends as an error, or is offered to
//!   the stack: `RxValid`, with its octets and group. Every offered frame ends as `RxDelivered` or `RxStackRejected`,
//!   also if the driver itself drops it.
//! - A frame to send is counted once its end is known: as `TxFrames`, with its octets and group, or as the reason why
//!   it was not sent.

use crate::ledger::Ledger;
use linerate_ether::fcs;
use linerate_ether::frame::{MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Counts a received frame, with its error if it has one.
#[inline]
pub(crate) fn received(ledger: &Ledger, error: Option<Counter>) {
    ledger.count(Counter::RxFrames);
    if let Some(error) = error {
        ledger.count(error);
    }
}

/// A valid frame until the stack has consumed or rejected it. Dropping this counts which.
pub(crate) struct Offered {
    ledger: &'static Ledger,
    is_consumed: bool,
}

impl Offered {
    /// Offers `frame`, which has no FCS.
    #[inline]
    pub(crate) fn new(frame: &[u8], ledger: &'static Ledger) -> Self {
        ledger.count(Counter::RxValid);
        ledger.add(Counter::RxOctets, (frame.len() + fcs::LEN) as u32);
        ledger.count_group(frame, Counter::RxMulticast, Counter::RxBroadcast);
        Self {
            ledger,
            is_consumed: false,
        }
    }

    /// The stack has consumed it.
    #[inline]
    pub(crate) const fn consume(&mut self) {
        self.is_consumed = true;
    }
}

impl Drop for Offered {
    #[inline]
    fn drop(&mut self) {
        self.ledger.count(if self.is_consumed {
            Counter::RxDelivered
        } else {
            Counter::RxStackRejected
        });
    }
}

/// A frame handed to the controller: its octets with padding and FCS, and the kind of its destination. It fits into the
/// 16 bits that some controllers return with the status of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OutgoingFrame(u16);

/// Collisions of a frame before it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collisions {
    /// Never, or the controller does not report it.
    None,
    /// Once.
    One,
    /// More than once.
    Several,
}

impl OutgoingFrame {
    const OCTETS: u16 = 0x7FF;
    const GROUP: u16 = 1 << 14;
    const ALL: u16 = 1 << 15;

    /// A frame of `octets` without padding and FCS that begins with `start`, its destination address.
    #[inline]
    pub(crate) fn new(start: &[u8], octets: usize) -> Self {
        let sent = octets.max(MIN_LEN - fcs::LEN) + fcs::LEN;
        let address = start.first_chunk().map(|it| MacAddress(*it));
        let group = match address {
            Some(address) if address.is_broadcast() => Self::ALL,
            Some(address) if address.is_multicast() => Self::GROUP,
            _ => 0,
        };
        Self(sent as u16 & Self::OCTETS | group)
    }

    /// The frame with these bits.
    #[inline]
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[inline]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// Counts it as sent.
    #[inline]
    pub(crate) fn count_sent(self, ledger: &Ledger, collisions: Collisions) {
        match collisions {
            Collisions::None => {}
            Collisions::One => ledger.count(Counter::TxSingleCollisions),
            Collisions::Several => ledger.count(Counter::TxMultipleCollisions),
        }
        ledger.count(Counter::TxFrames);
        ledger.add(Counter::TxOctets, u32::from(self.0 & Self::OCTETS));
        if self.0 & Self::ALL != 0 {
            ledger.count(Counter::TxBroadcast);
        } else if self.0 & Self::GROUP != 0 {
            ledger.count(Counter::TxMulticast);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

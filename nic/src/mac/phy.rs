//! What the MAC needs from a PHY.

use crate::device::LinkState;

/// A time or a span in bit times: 100 ns each at 10 Mbit/s. Times wrap at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BitTimes(pub u32);

impl BitTimes {
    /// The span from `earlier` to `self`, right for spans below 2^32 bit times.
    #[inline(always)]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0))
    }
}

/// The medium was taken when a transmission was about to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// The sending side of a PHY, its clock, and its view of the medium.
///
/// The receiving side is not here: the PHY's interrupt calls
/// [`Interrupt::receive`](super::Interrupt::receive).
pub trait Phy {
    /// The time now.
    fn now(&self) -> BitTimes;

    /// Sends a whole packet, from preamble to FCS, octets least significant bit first, and the
    /// end-of-packet signal. Returns when the line is idle again.
    ///
    /// # Errors
    /// [`Busy`] when a half-duplex PHY finds the medium taken at the last moment, nothing having
    /// been sent. The MAC waits and tries again.
    fn transmit(&mut self, packet: &[u8]) -> Result<(), Busy>;

    /// Whether the medium is taken by someone else (carrier sense, IEEE 802.3 clause 4.2.3.2.1).
    /// Always `false` on a full-duplex link or where the PHY cannot tell.
    #[inline(always)]
    fn carrier(&self) -> bool {
        false
    }

    /// When the last reception ended, where the PHY knows: the inter-packet gap counts from there
    /// too. `None` on a full-duplex link.
    #[inline(always)]
    fn reception_ended(&self) -> Option<BitTimes> {
        None
    }

    /// Whether the link partner is there. A PHY that cannot tell says [`Up`](LinkState::Up).
    #[inline(always)]
    fn link_state(&self) -> LinkState {
        LinkState::Up
    }
}
